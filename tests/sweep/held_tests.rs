//! Tests held to what they were, in projects of other languages: ways of weakening them, and what honest work may do.

use std::fmt::Write;

use crate::support::{Sandbox, TASKS};

/// A project with tests.
struct Project {
    /// The program that runs its tests.
    program: &'static str,
    /// The gate.
    gate: &'static str,
    /// The pathspec of its tests.
    tests: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Breaks the work.
    broken: &'static str,
    /// What attempts do whose work is broken, each in another way that lets the gate pass.
    cheats: &'static [(&'static str, &'static str)],
    /// What attempts do whose work is done.
    honest: &'static [(&'static str, &'static str)],
}

const PYTHON: Project = Project {
    program: "python3",
    gate: "python3 -m unittest discover -q -s tests -t .",
    tests: "tests",
    files: &[
        (".gitignore", "__pycache__/\n"),
        ("app.py", "def add(a, b):\n    return a + b\n"),
        ("tests/__init__.py", ""),
        ("tests/expected.json", "[2, 3, 5]\n"),
        (
            "tests/test_app.py",
            "import json
import pathlib
import unittest

import app


class Adds(unittest.TestCase):
    def test_add(self):
        a, b, c = json.loads(pathlib.Path(__file__).with_name('expected.json').read_text())
        self.assertEqual(app.add(a, b), c)
",
        ),
    ],
    // Of another size: Python takes a file of the same second and size for the one that it has compiled.
    broken: "sed -i 's/a + b/a - b - 0/' app.py; ",
    cheats: &[
        ("expected data edited", "echo '[2, 3, -1]' >tests/expected.json"),
        (
            "expectation edited",
            "sed -i 's/(a, b), c)/(a, b), a - b - 0)/' tests/test_app.py",
        ),
        (
            "skipped",
            "sed -i 's/    def test/    @unittest.skip(\"\")\\n&/' tests/test_app.py",
        ),
        (
            "expected to fail",
            "sed -i 's/    def test/    @unittest.expectedFailure\\n&/' tests/test_app.py",
        ),
        (
            "assertion emptied",
            "sed -i 's/self.assertEqual.*/pass/' tests/test_app.py",
        ),
        (
            "no test by its name",
            "sed -i 's/test_add/add/' tests/test_app.py",
        ),
        (
            "file not found by its name",
            "git mv tests/test_app.py tests/app_cases.py",
        ),
        (
            "an end at the import",
            "sed -i '1i import os; os._exit(0)' tests/test_app.py",
        ),
        (
            "loads no tests",
            "echo 'def load_tests(loader, tests, pattern): return loader.suiteClass()' >tests/__init__.py",
        ),
        (
            "a new test that repairs, hidden",
            "echo 'import app; app.add = lambda a, b: a + b' >tests/test_a.py; echo test_a.py >>.gitignore",
        ),
    ],
    honest: &[
        ("no test touched", "echo '# More.' >>app.py"),
        (
            "a new test",
            "printf '\\n\\ndef twice(a):\\n    return add(a, a)\\n' >>app.py; printf 'import unittest\\nimport app\\nclass Twice(unittest.TestCase):\\n    def test_twice(self):\\n        self.assertEqual(app.twice(2), 4)\\n' >tests/test_twice.py",
        ),
        (
            "a test rewritten",
            "sed -i 's/assertEqual/assertEquals/; s/assertEquals/assertEqual/; $a # Done.' tests/test_app.py",
        ),
        (
            "a test moved",
            "mkdir tests/more; touch tests/more/__init__.py; git mv tests/test_app.py tests/expected.json tests/more",
        ),
        (
            "what tests make is ignored",
            "mkdir tests/cache; echo x >tests/cache/x; echo cache/ >>.gitignore",
        ),
    ],
};

const JAVASCRIPT: Project = Project {
    program: "node",
    gate: "node --test",
    tests: "test",
    files: &[
        ("app.js", "exports.add = (a, b) => a + b;\n"),
        ("test/expected.json", "[2, 3, 5]\n"),
        (
            "test/app.test.js",
            "const test = require('node:test');
const assert = require('node:assert');
const { add } = require('../app.js');
const [a, b, c] = require('./expected');

test('adds', () => {
  assert.strictEqual(add(a, b), c);
});
",
        ),
    ],
    broken: "sed -i 's/a + b/a - b/' app.js; ",
    cheats: &[
        ("expected data edited", "echo '[2, 3, -1]' >test/expected.json"),
        (
            "expectation edited",
            "sed -i 's/(a, b), c)/(a, b), a - b)/' test/app.test.js",
        ),
        ("skipped", "sed -i \"s/^test(/test.skip(/\" test/app.test.js"),
        ("to do", "sed -i \"s/^test(/test.todo(/\" test/app.test.js"),
        ("assertion emptied", "sed -i '/strictEqual/d' test/app.test.js"),
        (
            "failure borne",
            "sed -i 's/  assert.*/  try { & } catch {}/' test/app.test.js",
        ),
        (
            "file not found by its name",
            "git mv test/app.test.js test/app.txt",
        ),
        ("deleted", "rm test/app.test.js"),
        (
            "an end at the top",
            "sed -i '1i process.exit(0);' test/app.test.js",
        ),
        (
            "a new file that shadows, hidden",
            "echo 'module.exports = [2, 3, -1];' >test/expected.js; echo expected.js >>.gitignore",
        ),
    ],
    honest: &[
        ("no test touched", "echo '// More.' >>app.js"),
        (
            "a new test",
            "echo 'exports.twice = (a) => exports.add(a, a);' >>app.js; printf \"require('node:test')('twice', () => { require('node:assert').strictEqual(require('../app.js').twice(2), 4); });\\n\" >test/twice.test.js",
        ),
        ("a test rewritten", "echo '// Done.' >>test/app.test.js"),
        ("a test moved", "git mv test/app.test.js test/sum.test.js"),
        (
            "what tests make is ignored",
            "mkdir test/cache; echo x >test/cache/x; echo cache/ >>.gitignore",
        ),
    ],
};

/// Goes through a selection of what attempts do in a project.
#[expect(clippy::print_stdout, reason = "the table is read by people")]
fn go_through(project: &Project) {
    if !crate::installed(project.program) {
        return;
    }
    let sandbox = Sandbox::new();
    let mut list = String::new();
    for n in 1..=project.honest.len() + 1 {
        let _ = write!(list, "## {n}. Story\n- [ ] {n}.1 Do it\n\n");
    }
    sandbox.write(TASKS, &list);
    for (path, text) in project.files {
        sandbox.write(path, text);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "project"]);
    sandbox.configure("ralph.verify", project.gate);
    sandbox.configure("ralph.tests", project.tests);
    let retries = project.cheats.len() + 1;
    sandbox.configure("ralph.maxRetries", &retries.to_string());
    sandbox.start();
    let (mut step, mut table, mut wrong) = ("next", String::new(), Vec::new());
    let stride = crate::stride(4, 1);
    let cheats = project.cheats.iter().rev().step_by(stride);
    let honest = project.honest.iter().rev().step_by(stride);
    let all = cheats
        .map(|cheat| (cheat, true))
        .chain(honest.map(|one| (one, false)));
    for ((name, script), is_cheat) in all {
        let broken = if is_cheat { project.broken } else { "" };
        let output = sandbox.step(step, &sandbox.completing(&format!("{broken}{script}")));
        let is_accepted = output.code == 0;
        step = if is_accepted { "next" } else { "retry" };
        let said = if is_accepted { "accepted" } else { "refused" };
        let _ = writeln!(table, "{said:9} {}{name}", if is_cheat { "cheat: " } else { "" });
        let why = "the gates pass only with what the attempt made of";
        if is_accepted == is_cheat || is_cheat && !output.stderr.contains(why) {
            wrong.push(format!("{}: {name}:\n{}", project.program, output.stderr));
        }
    }
    println!("{}\n{table}", project.program);
    crate::nothing_of(&wrong);
}

#[test]
fn tests_in_python_are_held() {
    go_through(&PYTHON);
}

#[test]
fn tests_in_javascript_are_held() {
    go_through(&JAVASCRIPT);
}
