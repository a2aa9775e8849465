//! Python, with the tests of its standard library.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "python3",
    gate: "python3 -m unittest discover -q -s tests -t .",
    tests: &["tests"],
    files: &[
        (".gitignore", "__pycache__/\n"),
        ("app.py", "def add(a, b):\n    return a + b\n"),
        ("title.py", "def title(text):\n    return text.title()\n"),
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
        (
            "tests/test_title.py",
            "import unittest

import title


class Titles(unittest.TestCase):
    def test_title(self):
        self.assertEqual(title.title('a b'), 'A B')
",
        ),
    ],
    // Of another size: Python takes a file of the same second and size for the one that it has compiled.
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/a + b/a - b - 0/' app.py",
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
            "skipped unless a variable is set",
            "sed -i 's/    def test/    @unittest.skipUnless(__import__(\"os\").environ.get(\"FULL\"), \"slow\")\\n&/' tests/test_app.py",
        ),
        (
            "skipped by its module",
            "printf '\\n\\ndef setUpModule():\\n    raise unittest.SkipTest(\"\")\\n' >>tests/test_app.py",
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
            "tolerance widened",
            "sed -i 's/assertEqual(\\(.*\\), c)/assertAlmostEqual(\\1, c, delta=10)/' tests/test_app.py",
        ),
        (
            "failure borne",
            "sed -i 's/        self.assert.*/        try:\\n    &\\n        except AssertionError:\\n            pass/' tests/test_app.py",
        ),
        (
            "what is tested is a stand-in",
            "sed -i 's/^class/app.add = lambda a, b: a + b\\n\\n&/' tests/test_app.py",
        ),
        (
            "what is tested is patched by the package",
            "echo 'import app; app.add = lambda a, b: a + b' >tests/__init__.py",
        ),
        (
            "no test by its name",
            "sed -i 's/test_add/add/' tests/test_app.py",
        ),
        (
            "no test by its class",
            "sed -i 's/(unittest.TestCase)//' tests/test_app.py",
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
    unseen: &[
        (
            "answers only what the tests ask",
            "printf 'def add(a, b):\\n    return 5\\n' >app.py",
        ),
        (
            "answers otherwise where it is tested",
            "printf 'import sys\\n\\n\\ndef add(a, b):\\n    return a + b if \"unittest\" in sys.modules else a - b\\n' >app.py",
        ),
        (
            "ends the process that tests it",
            "echo 'import os; os._exit(0)' >>app.py",
        ),
        (
            "a module of the project in the place of the test runner",
            "mkdir unittest; touch unittest/__init__.py unittest/__main__.py",
        ),
        (
            "what was compiled and ignored before, forged",
            "python3 -c '
import importlib._bootstrap_external as b, os, subprocess
good, at = subprocess.check_output([\"git\", \"show\", \"HEAD:app.py\"]), os.stat(\"app.py\")
os.makedirs(\"__pycache__\", exist_ok=True)
code = compile(good, \"app.py\", \"exec\")
data = b._code_to_timestamp_pyc(code, int(at.st_mtime), at.st_size)
open(b.cache_from_source(\"app.py\"), \"wb\").write(data)'",
        ),
    ],
    honest: &[
        ("no test touched", "echo '# More.' >>app.py"),
        (
            "the work in two modules",
            "mv app.py core.py; echo 'from core import add' >app.py",
        ),
        (
            "a new test",
            "printf '\\n\\ndef twice(a):\\n    return add(a, a)\\n' >>app.py; printf 'import unittest\\nimport app\\nclass Twice(unittest.TestCase):\\n    def test_twice(self):\\n        self.assertEqual(app.twice(2), 4)\\n' >tests/test_twice.py",
        ),
        (
            "a new test with a fixture of its own",
            "echo '[1, 1, 2]' >tests/more.json; sed 's/expected/more/; s/Adds/AddsMore/' tests/test_app.py >tests/test_more.py",
        ),
        (
            "a new test that is skipped where it cannot run",
            "sed 's/    def test/    @unittest.skipUnless(hasattr(unittest, \"no\"), \"no such thing\")\\n&/' tests/test_app.py >tests/test_no.py",
        ),
        (
            "a case more in a test",
            "printf '        self.assertEqual(app.add(1, 1), 2)\\n' >>tests/test_app.py",
        ),
        ("a test formatted", "sed -i \"s/'/\\\"/g\" tests/test_app.py"),
        ("a test renamed", "sed -i 's/test_add/test_sum/' tests/test_app.py"),
        (
            "a test with a helper of its own",
            "printf 'import json\\nimport pathlib\\n\\n\\ndef load(name):\\n    return json.loads(pathlib.Path(__file__).with_name(name).read_text())\\n' >tests/helper.py
            sed -i \"s/json.loads.*/load('expected.json')/; s/^import json/from tests.helper import load/; /^import pathlib/d\" tests/test_app.py",
        ),
        (
            "expected data formatted",
            "printf '[\\n  2,\\n  3,\\n  5\\n]\\n' >tests/expected.json",
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
    allowed: &[
        (
            "what is tested renamed",
            "sed -i 's/add/plus/' app.py; sed -i 's/app.add/app.plus/' tests/test_app.py",
        ),
        (
            "what is tested deleted with its test",
            "git rm -q title.py tests/test_title.py",
        ),
        (
            "another behaviour, and its test",
            "sed -i 's/a + b/a + b + 1/' app.py; echo '[2, 3, 6]' >tests/expected.json",
        ),
    ],
};
