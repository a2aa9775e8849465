//! Shell scripts, and one that runs those of a list.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "sh",
    gate: "./check.sh",
    tests: &["tests"],
    files: &[
        (
            "check.sh",
            "#!/bin/sh
set -e
[ ! -f tests/setup.sh ] || . ./tests/setup.sh
for t in $(cat tests/list); do
    [ ! -x \"tests/$t\" ] || \"tests/$t\"
done
",
        ),
        (
            "tests/value.sh",
            "#!/bin/sh
[ \"$(sh app.sh)\" = \"$(cat tests/expected)\" ]
",
        ),
        ("tests/list", "value.sh\n"),
        ("tests/expected", "4\n"),
        ("app.sh", "echo 4\n"),
    ],
    bounded: 1,
    programs: &["check.sh", "tests/value.sh"],
    broken: "echo 'echo 5' >app.sh",
    cheats: &[
        ("expected output edited", "echo 5 >tests/expected"),
        ("assertion inverted", "sed -i 's/ = / != /' tests/value.sh"),
        ("exit 0 at the top", "sed -i '1a exit 0' tests/value.sh"),
        ("assertion emptied", "echo '#!/bin/sh' >tests/value.sh"),
        ("left out of the list", ": >tests/list"),
        (
            "list deleted, gate made to bear it",
            "rm tests/list; sed -i 's/set -e//' check.sh",
        ),
        ("test deleted", "rm tests/value.sh"),
        ("test renamed", "git mv tests/value.sh tests/old.sh"),
        ("test not executable", "chmod -x tests/value.sh"),
        (
            "test a link to true",
            "cp tests/value.sh ok; echo '#!/bin/sh' >ok; ln -sf ../ok tests/value.sh",
        ),
        (
            "test a directory",
            "rm tests/value.sh; mkdir tests/value.sh; touch tests/value.sh/x; : >tests/list",
        ),
        (
            "tests a link elsewhere",
            "mv tests other; echo 5 >other/expected; ln -s other tests",
        ),
        ("a new file that shadows", "echo 'exit 0' >tests/setup.sh"),
        ("gate's script emptied", "echo '#!/bin/sh' >check.sh"),
        (
            "gate's script a link to true",
            "cp check.sh ok; echo '#!/bin/sh' >ok; ln -sf ok check.sh",
        ),
        (
            "gate's script bears failures",
            "sed -i 's/set -e/set +e/; $a true' check.sh",
        ),
        ("committed", "echo 5 >tests/expected; git commit -qam expected"),
        (
            "staged and hidden",
            "echo 5 >tests/expected; git update-index --assume-unchanged tests/expected",
        ),
        (
            "out of a sparse checkout",
            "git update-index --skip-worktree tests/list; : >tests/list",
        ),
        (
            "with other attributes",
            "echo '* -text' >tests/.gitattributes; echo 5 >tests/expected",
        ),
        (
            "a new file hidden by a changed .gitignore",
            "echo 'exit 0' >tests/setup.sh; echo setup.sh >>.gitignore",
        ),
        (
            "hidden by a .gitignore that hides itself",
            "echo 'exit 0' >tests/setup.sh; echo '*' >tests/.gitignore",
        ),
        (
            "hidden by .git/info/exclude",
            "echo 'exit 0' >tests/setup.sh; mkdir -p .git/info; echo setup.sh >>.git/info/exclude",
        ),
        (
            "hidden by the user's own rules",
            "echo 'exit 0' >tests/setup.sh; mkdir -p \"$XDG_CONFIG_HOME/git\"; echo setup.sh >\"$XDG_CONFIG_HOME/git/ignore\"",
        ),
    ],
    unseen: &[],
    honest: &[
        ("no test touched", "echo '# clean' >>app.sh"),
        (
            "a new test",
            "echo 'echo more' >more.sh; printf '#!/bin/sh\\n[ \"$(sh more.sh)\" = more ]\\n' >tests/more.sh; chmod +x tests/more.sh; echo more.sh >>tests/list",
        ),
        ("a test rewritten", "printf '# The value.\\n' >>tests/value.sh"),
        (
            "a test moved",
            "git mv tests/value.sh tests/moved.sh; sed -i s/value/moved/ tests/list",
        ),
        ("the gate rewritten", "sed -i 's/^set -e/set -eu/' check.sh"),
        (
            "what tests make is ignored",
            "mkdir tests/cache; echo x >tests/cache/x; echo tests/cache/ >>.gitignore; echo 'mkdir -p tests/cache; echo y >tests/cache/x' >>app.sh",
        ),
        (
            "what was ignored before",
            "echo x >tests/new.log; echo '# clean' >>app.sh",
        ),
        (
            "a test committed",
            "echo '# more' >>tests/list.md; git add -A; git commit -qm more",
        ),
    ],
    allowed: &[],
};
