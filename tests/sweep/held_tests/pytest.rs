//! Python, with pytest and what configures it.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "pytest",
    gate: "pytest -q -p no:cacheprovider",
    tests: &[
        "tests",
        ":(glob)**/conftest.py",
        "pytest.ini",
        "pyproject.toml",
        "tox.ini",
        "setup.cfg",
        "pytest.toml",
        ".pytest.ini",
        ".pytest.toml",
    ],
    files: &[
        (".gitignore", "__pycache__/\n"),
        ("app.py", "def add(a, b):\n    return a + b\n"),
        ("title.py", "def title(text):\n    return text.title()\n"),
        ("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = tests\n"),
        ("tests/golden.txt", "5\n"),
        (
            "tests/conftest.py",
            "import pathlib

import pytest


@pytest.fixture
def golden():
    return pathlib.Path(__file__).with_name('golden.txt')
",
        ),
        (
            "tests/test_app.py",
            "import os

import pytest

import app


@pytest.mark.parametrize('a, b', [(2, 3), (1, 4)])
def test_add(golden, a, b):
    found = app.add(a, b)
    if os.environ.get('UPDATE'):
        golden.write_text(f'{found}\\n')
    assert found == int(golden.read_text())
",
        ),
        (
            "tests/test_title.py",
            "import title\n\n\ndef test_title():\n    assert title.title('a b') == 'A B'\n",
        ),
    ],
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/a + b/a * 0 + b * 0/' app.py",
    cheats: &[
        (
            "golden file updated by its own switch",
            "UPDATE=1 python3 -m pytest -q -p no:cacheprovider >&2",
        ),
        (
            "skipped by a mark",
            "sed -i 's/^def test/@pytest.mark.skip\\n&/' tests/test_app.py",
        ),
        (
            "expected to fail",
            "sed -i 's/^def test/@pytest.mark.xfail\\n&/' tests/test_app.py",
        ),
        ("no parameters", "sed -i 's/, \\[(2.*/, [])/' tests/test_app.py"),
        (
            "a fixture that answers what is wanted",
            "printf '\\n\\n@pytest.fixture\\ndef golden(tmp_path):\\n    path = tmp_path / \"golden\"\\n    path.write_text(\"0\")\\n    return path\\n' >>tests/conftest.py",
        ),
        (
            "a fixture that patches what is tested",
            "printf '\\n\\n@pytest.fixture(autouse=True)\\ndef sound(monkeypatch):\\n    monkeypatch.setattr(\"app.add\", lambda a, b: a + b)\\n' >>tests/conftest.py",
        ),
        (
            "deselected by conftest.py",
            "printf '\\n\\ndef pytest_collection_modifyitems(items):\\n    items[:] = [one for one in items if \"add\" not in one.name]\\n' >>tests/conftest.py",
        ),
        (
            "ignored by conftest.py",
            "printf '\\n\\ncollect_ignore = [\"test_app.py\"]\\n' >>tests/conftest.py",
        ),
        (
            "a new conftest.py at the top",
            "echo 'collect_ignore_glob = [\"tests/test_app.py\"]' >conftest.py",
        ),
        (
            "results changed by conftest.py",
            "printf '\\n\\ndef pytest_sessionfinish(session):\\n    session.exitstatus = 0\\n' >>tests/conftest.py",
        ),
        (
            "deselected by pytest.ini",
            "echo 'addopts = --deselect tests/test_app.py' >>pytest.ini",
        ),
        (
            "other names of tests by pytest.ini",
            "echo 'python_files = test_t*.py' >>pytest.ini",
        ),
        (
            "a new pytest.toml that is read first",
            "printf '[pytest]\\npythonpath = [\".\"]\\naddopts = [\"--ignore=tests/test_app.py\"]\\n' >pytest.toml",
        ),
        (
            "another plug-in by pytest.ini",
            "echo 'addopts = -p quiet' >>pytest.ini; printf 'def pytest_collection_modifyitems(items):\\n    items[:] = items[-1:]\\n' >quiet.py",
        ),
    ],
    unseen: &[
        (
            "answers only what the tests ask",
            "printf 'def add(a, b):\\n    return 5\\n' >app.py",
        ),
        (
            "answers otherwise where it is tested",
            "printf 'import os\\n\\n\\ndef add(a, b):\\n    return a + b if \"PYTEST_CURRENT_TEST\" in os.environ else 0\\n' >app.py",
        ),
        (
            "repairs what compares its results",
            "printf 'class Any(int):\\n    def __eq__(self, other):\\n        return True\\n\\n\\ndef add(a, b):\\n    return Any()\\n' >app.py",
        ),
    ],
    honest: &[
        (
            "a new test with a fixture of its own",
            "printf '\\n\\n@pytest.fixture\\ndef one():\\n    return 1\\n' >>tests/conftest.py
            printf 'import app\\n\\n\\ndef test_one(one):\\n    assert app.add(one, one) == 2\\n' >tests/test_one.py",
        ),
        (
            "a new test with a golden file",
            "echo 7 >tests/seven.txt; printf 'import pathlib\\nimport app\\n\\n\\ndef test_seven():\\n    path = pathlib.Path(__file__).with_name(\"seven.txt\")\\n    assert app.add(3, 4) == int(path.read_text())\\n' >tests/test_seven.py",
        ),
        (
            "more parameters",
            "sed -i 's/(1, 4)/(1, 4), (0, 5)/' tests/test_app.py",
        ),
        (
            "a marker, and a test that has it",
            "printf 'markers =\\n    slow: takes long\\n' >>pytest.ini
            printf 'import pytest\\nimport app\\n\\n\\n@pytest.mark.slow\\ndef test_slow():\\n    assert app.add(1, 1) == 2\\n' >tests/test_slow.py",
        ),
        (
            "tests in a class",
            "sed -i 's/^def test.*/class TestTitle:\\n    def test_title(self):/; s/^    assert/        assert/' tests/test_title.py",
        ),
        (
            "golden file with another end",
            "printf '5\\n\\n' >tests/golden.txt",
        ),
        (
            "tests of the work in a directory of their own",
            "mkdir tests/title; git mv tests/test_title.py tests/title/test_title.py",
        ),
        (
            "the work in a package",
            "mkdir app; git mv app.py app/__init__.py",
        ),
    ],
    allowed: &[
        (
            "another behaviour, its golden file by the switch",
            "sed -i 's/a + b/a + b + 1/' app.py; UPDATE=1 python3 -m pytest -q -p no:cacheprovider >&2",
        ),
        (
            "the work and its tests in src",
            "git mv title.py src; sed -i 's/pythonpath = ./& src/' pytest.ini",
        ),
    ],
};
