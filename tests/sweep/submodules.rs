//! What an agent plants in a submodule or in a repository inside, for a git to run later.

use crate::support::Sandbox;

/// Makes the repository at `dir` run a program, which leaves a mark in the notes, when git reads the file `file` of it.
fn plant(config: &str, attributes: &str, file: &str) -> String {
    format!(
        "git config -f {config} filter.f.clean \"sh -c 'touch $notes/ran; cat'\"
         git config -f {config} filter.f.smudge \"sh -c 'touch $notes/ran; cat'\"
         mkdir -p {attributes}; echo '* filter=f' >{attributes}/attributes; touch {file}"
    )
}

#[test]
fn commands_run_nothing_that_a_submodules_configuration_names() {
    let modules = plant(".git/modules/lib/config", ".git/modules/lib/info", "lib/a");
    let replaced = format!(
        "cp -r .git/modules/lib x; rm lib/.git; mv x lib/.git; git config -f lib/.git/config --unset core.worktree\n{}",
        plant("lib/.git/config", "lib/.git/info", "lib/a")
    );
    let make =
        "git init -q n; echo f >n/f; git -C n add f; git -C n -c user.name=a -c user.email=b commit -qm n";
    let link = format!(
        "{make}; git update-index --add --cacheinfo 160000,$(git -C n rev-parse HEAD),n\n{}",
        plant("n/.git/config", "n/.git/info", "n/f")
    );
    let registered = format!(
        "{make}; git config -f .gitmodules submodule.n.path n; git config -f .gitmodules submodule.n.url ./n\n{}",
        plant("n/.git/config", "n/.git/info", "n/f")
    );
    for script in [&modules, &replaced, &link, &registered]
        .into_iter()
        .step_by(crate::stride(4, 1))
    {
        for completes in [false, true] {
            let sandbox = Sandbox::new();
            sandbox.add_submodule();
            sandbox.start();
            if completes {
                sandbox.step("next", &sandbox.completing(script)).exits(0);
            } else {
                sandbox.step("next", &sandbox.failing(script)).exits(3);
            }
            let step = if completes { "next" } else { "retry" };
            sandbox
                .step(step, &sandbox.failing("echo y >lib/a; echo x >x"))
                .exits(3);
            sandbox.ralph(&["abort"]).exits(0);
            assert!(!sandbox.notes.join("ran").exists(), "{completes}: {script}");
        }
    }
}

/// Ways to have the user's next git run something, in the submodule `lib` or the nested repository `own`. `$evil` is a
/// program that leaves a trace.
const PLANTED: &[&str] = &[
    "git -C $d config core.fsmonitor $evil",
    "git -C $d config core.hooksPath $(dirname $evil)",
    "printf '[include]\npath = %s\n' $notes/more >>$g/config; printf '[core]\nfsmonitor = %s\n' $evil >$notes/more",
    "mkdir -p $g/hooks; cp $evil $g/hooks/pre-commit",
    "git -C $d config filter.f.clean $evil; mkdir -p $g/info; echo '* filter=f' >$g/info/attributes; touch -d '2001-01-01' $d/a",
    "cp -R $g $notes/evil; git -C $d config --unset core.worktree; git config --file $notes/evil/config --unset core.worktree
     git config --file $notes/evil/config core.fsmonitor $evil; rm -rf $d/.git; mv $notes/evil $d/.git",
    "cp -R $g $notes/evil; git config --file $notes/evil/config core.fsmonitor $evil
     git config --file $notes/evil/config core.worktree $PWD/$d; mv $d/.git $notes/was; echo gitdir: $notes/evil >$d/.git",
    "cp -R $g $notes/evil; git config --file $notes/evil/config core.fsmonitor $evil
     git config --file $notes/evil/config core.worktree $PWD/$d; echo $notes/evil >$g/commondir",
];

#[test]
fn step_undoes_plants_in_inner_repositories_for_any_verdict() {
    std::thread::scope(|scope| {
        for planted in PLANTED.iter().step_by(crate::stride(6, 1)) {
            for (dir, git_dir) in [("lib", ".git/modules/lib"), ("own", "own/.git")] {
                scope.spawn(move || {
                    for (promise, code) in [("complete", 0), ("failed it", 3)] {
                        planted_in(dir, git_dir, planted, promise, code);
                    }
                });
            }
        }
    });
}

fn planted_in(dir: &str, git_dir: &str, planted: &str, promise: &str, code: i32) {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let own = sandbox.top.join("own");
    sandbox.git(&["clone", "-q", sandbox.outside("library").to_str().unwrap(), "own"]);
    sandbox.start();
    let config = sandbox.read(&format!("{git_dir}/config"));
    let agent = sandbox.agent(&format!(
        "d={dir}; g={git_dir}; evil=$notes/bin/pre-commit; mkdir $notes/bin
        printf '#!/bin/sh\\necho >%s/ran; cat\\n' $notes >$evil; chmod +x $evil
        {planted}
        echo x >x; rm -f $notes/ran; {promise}"
    ));
    let output = sandbox.step("next", &agent).exits(code);
    let shown = format!("{planted} in {dir}, {promise}: {}", output.stderr);
    assert!(!sandbox.notes.join("ran").exists(), "git-ralph ran it: {shown}");
    let dir_path = sandbox.top.join(dir);
    for args in [
        &["status"][..],
        &["add", "-A"],
        &[
            "-c",
            "user.name=U",
            "-c",
            "user.email=u@e",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
    ] {
        if dir_path.is_dir() {
            sandbox.git_cmd(args).dir(&dir_path).run();
        }
        sandbox.git_cmd(&["status"]).run();
        assert!(!sandbox.notes.join("ran").exists(), "git ran it: {shown}");
    }
    assert!(
        own.join(".git").symlink_metadata().is_ok() || dir == "own",
        "{shown}"
    );
    if !(dir == "own" && planted.contains("$d/.git")) {
        assert_eq!(sandbox.read(&format!("{git_dir}/config")), config, "{shown}");
    }
}
