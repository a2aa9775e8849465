// Opens the pages of reports in a real browser: no request, no error, no violation of axe-core's rules, nothing wider
// than the window, in light and dark, on a telephone and on a desk.
//
// usage: node check.mjs <browser> <directory for pictures> <page>...
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const [executablePath, pictures, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const wrong = [];

const browser = await puppeteer.launch({
  executablePath,
  args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND'],
});
for (const path of pages) {
  for (const scheme of ['light', 'dark']) {
    for (const width of [320, 1280]) {
      const where = `${basename(path)} ${scheme} ${width}`;
      const tell = (what) => wrong.push(`${where}: ${what}`);
      const page = await browser.newPage();
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const address = pathToFileURL(resolve(path)).href;
      page.on('request', (request) => request.url() === address || tell(`request of ${request.url()}`));
      page.on('console', (message) => tell(`console: ${message.text()}`));
      page.on('pageerror', (error) => tell(`error: ${error.message}`));
      page.on('dialog', (dialog) => { tell(`dialog: ${dialog.message()}`); dialog.dismiss(); });
      await page.goto(address, { waitUntil: 'load' });
      const found = await page.evaluate(() => ({
        active: document.querySelectorAll('script, img, iframe, object, embed, form, [onerror], [onload], a[href^=javascript]').length,
        wide: document.documentElement.scrollWidth - window.innerWidth,
        lost: [...document.querySelectorAll('a[href^="#"]')].filter((link) => !document.getElementById(link.getAttribute('href').slice(1))).length,
      }));
      if (found.active > 0) tell(`${found.active} elements that act`);
      if (found.wide > 0) tell(`${found.wide} pixels wider than the window`);
      if (found.lost > 0) tell(`${found.lost} links that lead nowhere`);
      await page.screenshot({ path: join(pictures, `${where.replaceAll(' ', '-')}.png`), fullPage: true });
      const opened = await page.evaluate(() => {
        document.querySelectorAll('details').forEach((one) => { one.open = true; });
        const tables = [...document.querySelectorAll('table')];
        return {
          wide: document.documentElement.scrollWidth - window.innerWidth,
          tables: tables.filter((table) => table.getBoundingClientRect().right > window.innerWidth).length,
        };
      });
      if (opened.wide > 0) tell(`${opened.wide} pixels wider than the window with all details open`);
      if (opened.tables > 0) tell(`${opened.tables} tables wider than the window`);
      // The page allows no script; axe-core comes in by the debugger.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run(document));
      for (const { id, help, nodes } of violations) {
        tell(`${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' and ')}`);
      }
      if (scheme === 'light' && width === 1280) {
        const paper = await page.pdf({ format: 'A4' });
        if (paper.length < 1000) tell('it prints nothing');
      }
      await page.close();
    }
  }
}
await browser.close();
for (const what of wrong) console.error(what);
console.log(`${pages.length} pages, ${wrong.length} things wrong`);
process.exit(wrong.length > 0 ? 1 : 0);
