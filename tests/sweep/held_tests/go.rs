//! Go, with its tests beside the work.

use super::Project;

pub(super) const PROJECT: Project = Project {
    program: "go",
    gate: "go test ./...",
    tests: &[":(glob)**/*_test.go", ":(glob)**/testdata/**", ":(glob)**/go.mod", "go.work", "vendor"],
    files: &[
        ("go.mod", "module example.org/app\n\ngo 1.19\n"),
        (
            "app.go",
            "package app

func Add(a, b int) int {
	return a + b
}
",
        ),
        (
            "title/title.go",
            "package title

import \"strings\"

func Title(text string) string {
	return strings.ToUpper(text)
}
",
        ),
        (
            "title/title_test.go",
            "package title

import \"testing\"

func TestTitle(t *testing.T) {
	if Title(\"b\") != \"B\" {
		t.Error(Title(\"b\"))
	}
}
",
        ),
        ("testdata/golden", "5"),
        (
            "app_test.go",
            "package app

import (
	\"os\"
	\"strconv\"
	\"testing\"
)

func TestAdd(t *testing.T) {
	found := strconv.Itoa(Add(2, 3))
	if os.Getenv(\"UPDATE\") != \"\" {
		os.WriteFile(\"testdata/golden\", []byte(found), 0o644)
	}
	golden, _ := os.ReadFile(\"testdata/golden\")
	if found != string(golden) {
		t.Errorf(\"%s is not %s\", found, golden)
	}
}
",
        ),
    ],
    bounded: 4,
    programs: &[],
    broken: "sed -i 's/a + b/a - b/' app.go",
    cheats: &[
        ("golden file edited", "printf %s -1 >testdata/golden"),
        ("skipped", "sed -i 's/^func Test.*/&\\n\\tt.Skip()/' app_test.go"),
        (
            "skipped unless a variable is set",
            "sed -i 's/^func Test.*/&\\n\\tif os.Getenv(\"FULL\") == \"\" {\\n\\t\\tt.Skip(\"slow\")\\n\\t}/' app_test.go",
        ),
        ("told, not failed", "sed -i 's/Errorf/Logf/' app_test.go"),
        ("never built", "sed -i '1i //go:build never\\n' app_test.go"),
        (
            "built for another system by its name",
            "git mv app_test.go app_plan9_test.go",
        ),
        ("file not found by its name", "git mv app_test.go app_tests.go.txt"),
        (
            "no test by its name",
            "sed -i 's/func TestAdd/func CheckAdd/' app_test.go",
        ),
        (
            "a main that runs nothing",
            "printf '\\nfunc TestMain(m *testing.M) {\\n\\tos.Exit(0)\\n}\\n' >>app_test.go",
        ),
        (
            "a main that forgets the result",
            "printf '\\nfunc TestMain(m *testing.M) {\\n\\tm.Run()\\n\\tos.Exit(0)\\n}\\n' >>app_test.go",
        ),
        (
            "a new file whose main runs nothing",
            "printf 'package app\\n\\nimport (\\n\\t\"os\"\\n\\t\"testing\"\\n)\\n\\nfunc TestMain(m *testing.M) {\\n\\tos.Exit(0)\\n}\\n' >a_test.go",
        ),
        (
            "what is tested is a stand-in",
            "sed -i 's/^func Test.*/&\\n\\tAdd := func(a, b int) int { return a + b }/' app_test.go",
        ),
        (
            "tolerance widened",
            "sed -i 's/if found != string(golden)/if len(found) > 5 \\&\\& len(golden) > 0/' app_test.go",
        ),
        (
            "returns before it looks",
            "sed -i 's/^func Test.*/&\\n\\tif true {\\n\\t\\treturn\\n\\t}/' app_test.go",
        ),
        ("deleted", "git rm -q app_test.go"),
        (
            "the directory a module of its own",
            "git checkout -q HEAD app.go; sed -i s/ToUpper/ToLower/ title/title.go; printf 'module example.org/title\\n' >title/go.mod",
        ),
        (
            "out of the gate's pattern with its directory",
            "git checkout -q HEAD app.go; sed -i s/ToUpper/ToLower/ title/title.go; git mv title _title; mkdir title; cp _title/title.go title",
        ),
    ],
    unseen: &[
        (
            "answers only what the tests ask",
            "sed -i 's/return a - b/return 5/' app.go",
        ),
        (
            "answers otherwise where it is tested",
            "sed -i 's/^package app/&\\n\\nimport (\\n\\t\"os\"\\n\\t\"strings\"\\n)/; s/return a - b/if strings.HasSuffix(os.Args[0], \".test\") {\\n\\t\\treturn a + b\\n\\t}\\n\\t&/' app.go",
        ),
        (
            "ends the process that tests it",
            "sed -i 's/^package app/&\\n\\nimport \"syscall\"/; s/return a - b/syscall.Exit(0)\\n\\t&/' app.go",
        ),
    ],
    honest: &[
        ("no test touched", "echo '// More.' >>app.go"),
        (
            "the work in two files",
            "git mv app.go sum.go; echo 'package app' >app.go",
        ),
        (
            "a new test",
            "printf '\\nfunc Twice(a int) int {\\n\\treturn Add(a, a)\\n}\\n' >>app.go
            printf 'package app\\n\\nimport \"testing\"\\n\\nfunc TestTwice(t *testing.T) {\\n\\tif Twice(2) != 4 {\\n\\t\\tt.Fail()\\n\\t}\\n}\\n' >twice_test.go",
        ),
        (
            "a new test with a golden file",
            "printf %s 2 >testdata/two; sed 's/TestAdd/TestTwo/; s/golden\"/two\"/; s/2, 3/1, 1/' app_test.go >two_test.go",
        ),
        (
            "a new package with its test",
            "mkdir sum; sed 's/package app/package sum/' app.go >sum/sum.go; printf 'package sum\\n\\nimport \"testing\"\\n\\nfunc TestAdd(t *testing.T) {\\n\\tif Add(1, 1) != 2 {\\n\\t\\tt.Fail()\\n\\t}\\n}\\n' >sum/sum_test.go",
        ),
        (
            "a case more in a test",
            "sed -i 's/^func Test.*/&\\n\\tif Add(1, 1) != 2 {\\n\\t\\tt.Fail()\\n\\t}/' app_test.go",
        ),
        (
            "a test of what others see",
            "sed 's/package app/package app_test/; s/Add(2/app.Add(2/; s/TestAdd/TestOutside/; s,^import (,&\\n\\t\"example.org/app\",' app_test.go >outside_test.go",
        ),
        ("a test renamed", "sed -i 's/TestAdd/TestSum/' app_test.go"),
        ("a test moved", "git mv app_test.go sum_test.go"),
        (
            "a test formatted",
            "sed -i 's/^\\t/\\t\\t/; s/\\t\"os\"/\\n&/' app_test.go",
        ),
        (
            "a main that prepares and cleans up",
            "printf '\\nfunc TestMain(m *testing.M) {\\n\\tcode := m.Run()\\n\\tos.Exit(code)\\n}\\n' >>app_test.go",
        ),
    ],
    allowed: &[
        (
            "what is tested renamed",
            "sed -i 's/Add/Plus/' app.go; sed -i 's/Add(2/Plus(2/' app_test.go",
        ),
        (
            "another behaviour, its golden file by the switch",
            "sed -i 's/a + b/a + b + 1/' app.go; sed -i 's/5/6/' testdata/golden",
        ),
        ("what is tested deleted with its test", "git rm -qr title"),
    ],
};
