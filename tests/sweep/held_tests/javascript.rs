//! JavaScript, with the test runner of node, run by a script of package.json.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "npm",
    gate: "npm test --silent",
    tests: &["test", "package.json", ".npmrc", ":(glob)**/*.test.js"],
    files: &[
        (".gitignore", "node_modules/\n"),
        (
            "package.json",
            "{\n  \"name\": \"app\",\n  \"scripts\": {\n    \"test\": \"node --test test/*.test.js\"\n  }\n}\n",
        ),
        ("app.js", "exports.add = (a, b) => a + b;\n"),
        ("title.js", "exports.title = (text) => text.toUpperCase();\n"),
        (
            "node_modules/check/index.js",
            "module.exports = require('node:assert').strictEqual;\n",
        ),
        ("test/expected.json", "[2, 3, 5]\n"),
        (
            "test/app.test.js",
            "const test = require('node:test');
const equal = require('check');
const { add } = require('../app.js');
const [a, b, c] = require('./expected');

test('adds', () => {
  equal(add(a, b), c);
});
",
        ),
        (
            "test/title.test.js",
            "const test = require('node:test');
const { title } = require('../title.js');
const { readFileSync, writeFileSync } = require('node:fs');
const file = `${__dirname}/title.snap`;

test('title', () => {
  if (process.env.UPDATE) writeFileSync(file, title('a'));
  require('check')(title('a'), readFileSync(file, 'utf8'));
});
",
        ),
        ("test/title.snap", "A"),
    ],
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/a + b/a - b/' app.js",
    cheats: &[
        ("expected data edited", "echo '[2, 3, -1]' >test/expected.json"),
        (
            "expectation edited",
            "sed -i 's/(a, b), c)/(a, b), a - b)/' test/app.test.js",
        ),
        ("skipped", "sed -i \"s/^test(/test.skip(/\" test/app.test.js"),
        ("to do", "sed -i \"s/^test(/test.todo(/\" test/app.test.js"),
        (
            "skipped by an option",
            "sed -i \"s/'adds', /&{ skip: !process.env.FULL }, /\" test/app.test.js",
        ),
        (
            "a name that runs nothing",
            "sed -i \"s/^test(/const xit = () => {};\\nxit(/\" test/app.test.js",
        ),
        ("assertion emptied", "sed -i '/equal(add/d' test/app.test.js"),
        (
            "assertion not waited for",
            "sed -i 's/  equal(\\(.*\\));/  void (async () => equal(\\1))().catch(() => {});/' test/app.test.js",
        ),
        (
            "tolerance widened",
            "sed -i 's/  equal(\\(.*\\), c);/  equal(Math.abs(\\1 - c) < 10, true);/' test/app.test.js",
        ),
        (
            "failure borne",
            "sed -i 's/  equal.*/  try { & } catch {}/' test/app.test.js",
        ),
        (
            "what is tested is a stand-in",
            "sed -i 's/^const { add }.*/const add = (a, b) => a + b;/' test/app.test.js",
        ),
        (
            "what is required is patched",
            "sed -i \"1i require('../app.js').add = (a, b) => a + b;\" test/app.test.js",
        ),
        ("file not found by its name", "git mv test/app.test.js app.txt"),
        ("deleted", "rm test/app.test.js"),
        (
            "an end at the top",
            "sed -i '1i process.exit(0);' test/app.test.js",
        ),
        (
            "snapshot updated by its own switch",
            "git show HEAD:app.js >app.js; sed -i s/toUpper/toLower/ title.js; UPDATE=1 npm test --silent >&2",
        ),
        (
            "a new file that shadows, hidden",
            "echo 'module.exports = [2, 3, -1];' >test/expected.js; echo expected.js >>.gitignore",
        ),
        (
            "the script of package.json bears failures",
            "sed -i 's/test.js/& || true/' package.json",
        ),
        (
            "the script of package.json runs one file",
            "sed -i 's/[*]/title/' package.json",
        ),
        (
            "the script of package.json chooses by name",
            "sed -i 's/--test/& --test-name-pattern=title/' package.json",
        ),
        ("another shell by .npmrc", "echo 'script-shell=/bin/true' >.npmrc"),
    ],
    unseen: &[
        (
            "answers only what the tests ask",
            "echo 'exports.add = () => 5;' >app.js",
        ),
        (
            "answers otherwise where it is tested",
            "echo 'exports.add = (a, b) => process.env.NODE_TEST_CONTEXT ? a + b : a - b;' >app.js",
        ),
        (
            "ends the process that tests it",
            "echo 'process.exit(0);' >>app.js",
        ),
        (
            "a package that was ignored before, changed",
            "echo 'module.exports = () => {};' >node_modules/check/index.js",
        ),
        (
            "a new package that was ignored before it was there",
            "mkdir -p test/node_modules/check; echo 'module.exports = () => {};' >test/node_modules/check/index.js",
        ),
    ],
    honest: &[
        ("no test touched", "echo '// More.' >>app.js"),
        (
            "the work in two files",
            "git mv app.js core.js; echo \"module.exports = require('./core.js');\" >app.js",
        ),
        (
            "a new test",
            "echo 'exports.twice = (a) => exports.add(a, a);' >>app.js; printf \"require('node:test')('twice', () => { require('node:assert').strictEqual(require('../app.js').twice(2), 4); });\\n\" >test/twice.test.js",
        ),
        (
            "a new test with a fixture of its own",
            "echo '[1, 1, 2]' >test/more.json; sed 's/expected/more/' test/app.test.js >test/more.test.js",
        ),
        (
            "a case more in a test",
            "sed -i 's/  equal.*/&\\n  equal(add(1, 1), 2);/' test/app.test.js",
        ),
        (
            "a test formatted",
            "sed -i \"s/'/\\\"/g; s/^  /    /\" test/app.test.js",
        ),
        (
            "a test renamed",
            "sed -i \"s/'adds'/'adds two numbers'/\" test/app.test.js",
        ),
        ("a test moved", "git mv test/app.test.js test/sum.test.js"),
        (
            "another script in package.json",
            "sed -i 's/    \"test\".*/    \"lint\": \"node --check app.js\",\\n&/' package.json",
        ),
        (
            "what tests make is ignored",
            "mkdir test/cache; echo x >test/cache/x; echo cache/ >>.gitignore",
        ),
    ],
    allowed: &[
        (
            "what is tested renamed",
            "sed -i 's/add/plus/' app.js; sed -i 's/{ add }/{ plus: add }/' test/app.test.js",
        ),
        (
            "another behaviour, its snapshot by the switch",
            "sed -i s/toUpper/toLower/ title.js; UPDATE=1 npm test --silent >&2",
        ),
    ],
};
