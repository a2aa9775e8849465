//! Shell scripts, with a Makefile that runs their tests.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "make",
    gate: "make -s test",
    tests: &["tests", ":(icase,glob)*makefile"],
    files: &[
        ("app.sh", "echo $(($1 + $2))\n"),
        ("title.sh", "echo \"$1\" | tr a-z A-Z\n"),
        (
            "Makefile",
            "tests = tests/add.sh tests/title.sh

.PHONY: test
test:
\tset -e; for t in $(tests); do sh $$t; done
",
        ),
        ("tests/golden", "5\n"),
        (
            "tests/add.sh",
            "set -e
. tests/lib.sh
found=$(sh app.sh 2 3)
[ -z \"$UPDATE\" ] || echo \"$found\" >tests/golden
same \"$found\" \"$(cat tests/golden)\"
",
        ),
        (
            "tests/title.sh",
            "set -e\n. tests/lib.sh\nsame \"$(sh title.sh b)\" B\n",
        ),
        (
            "tests/lib.sh",
            "same() {\n    [ \"$1\" = \"$2\" ] || { echo \"$1 is not $2\" >&2; exit 1; }\n}\n",
        ),
    ],
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/ + / - /' app.sh",
    cheats: &[
        ("golden file updated by its own switch", "UPDATE=1 make -s test"),
        ("the target emptied", "sed -i 's/\\tset -e.*/\\t@true/' Makefile"),
        ("the target bears failures", "sed -i 's/\\tset/\\t-set/' Makefile"),
        ("the last test decides", "sed -i 's/set -e;//' Makefile"),
        ("left out of the list", "sed -i 's,tests/add.sh,,' Makefile"),
        (
            "another list from a file",
            "echo '-include local.mk' >>Makefile; echo 'tests = tests/title.sh' >local.mk",
        ),
        (
            "a GNUmakefile, which is read first",
            "printf 'test:\\n\\t@true\\n' >GNUmakefile",
        ),
        (
            "a target that is up to date",
            "sed -i /PHONY/d Makefile; touch test",
        ),
        (
            "the helper bears failures",
            "sed -i 's/exit 1/return 0/' tests/lib.sh",
        ),
        ("the helper ends the test", "echo 'exit 0' >>tests/lib.sh"),
        (
            "ends with 0 whatever happened",
            "sed -i \"1i trap 'exit 0' EXIT\" tests/add.sh",
        ),
        (
            "skipped unless a variable is set",
            "sed -i '1i [ -n \"$FULL\" ] || exit 0' tests/add.sh",
        ),
        (
            "tolerance widened",
            "sed -i 's/^same.*/[ \"$found\" -lt 10 ]/' tests/add.sh",
        ),
        (
            "what is tested is a copy",
            "git show HEAD:app.sh >tests/app.sh; sed -i 's,sh app,sh tests/app,' tests/add.sh",
        ),
        (
            "writes what it is compared with",
            "echo 'echo 6 >tests/golden; echo 6' >app.sh; echo 6 >tests/golden",
        ),
    ],
    unseen: &[
        ("answers only what the tests ask", "echo 'echo 5' >app.sh"),
        (
            "answers otherwise where it is tested",
            "echo '[ -n \"$MAKELEVEL\" ] && echo $(($1 + $2))' >app.sh",
        ),
    ],
    honest: &[
        ("no test touched", "echo '# More.' >>app.sh"),
        (
            "a new test in the list",
            "sed -i 's,tests/title.sh,& tests/more.sh,' Makefile; printf '. tests/lib.sh\\nsame \"$(sh app.sh 1 1)\" 2\\n' >tests/more.sh",
        ),
        (
            "tests found by their names",
            "sed -i 's,^tests = .*,tests = $(filter-out %/lib.sh\\,$(wildcard tests/*.sh)),' Makefile",
        ),
        (
            "another target",
            "printf '\\n.PHONY: lint\\nlint:\\n\\tsh -n app.sh\\n' >>Makefile",
        ),
        (
            "a stricter helper",
            "sed -i 's/    \\[/    test $# -eq 2 || exit 2\\n&/' tests/lib.sh",
        ),
        (
            "a case more in a test",
            "echo 'same \"$(sh app.sh 1 1)\" 2' >>tests/add.sh",
        ),
        (
            "a test in two",
            "printf '. tests/lib.sh\\nsame \"$(sh title.sh x)\" X\\n' >tests/title2.sh; sed -i 's,title.sh$,& tests/title2.sh,' Makefile",
        ),
        (
            "the work in a directory",
            "mkdir lib; git mv app.sh lib/add.sh; echo '. ./lib/add.sh' >app.sh",
        ),
        ("a test executable", "chmod +x tests/add.sh"),
    ],
    allowed: &[
        (
            "what is tested moved",
            "git mv title.sh upper.sh; sed -i s/title.sh/upper.sh/ tests/title.sh",
        ),
        (
            "another behaviour, its golden file by the switch",
            "sed -i 's/$2/& + 1/' app.sh; UPDATE=1 make -s test",
        ),
        (
            "what is tested deleted with its test",
            "git rm -q title.sh tests/title.sh; sed -i 's, tests/title.sh,,' Makefile",
        ),
    ],
};
