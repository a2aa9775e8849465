//! The guard around the agent's git: what it refuses and says, what it lets pass, and that nobody else
//! notices it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::support::{Sandbox, wait_for};

/// What an agent's script says with: `t` runs a command, writes down what it says, and then `ok` or `no`.
pub const TRY: &str = "git() { command git -c user.name=Agent -c user.email=agent@example.org \"$@\"; }
t() { echo \"+ $*\" >>\"$notes/tried\"; if \"$@\" >>\"$notes/tried\" 2>&1; then echo ok; else echo no; fi >>\"$notes/tried\"; }
";

/// Runs an agent that tries this and completes.
pub fn tries(sandbox: &Sandbox, script: &str) -> String {
    let agent = sandbox.completing(&format!("{TRY}{script}"));
    sandbox.step("next", &agent).exits(0);
    sandbox.noted("tried")
}

/// What was tried, with `ok` or `no`.
pub fn outcomes(tried: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut what = "";
    for line in tried.lines() {
        match line {
            "ok" | "no" => found.push((what, line == "ok")),
            _ => what = line.strip_prefix("+ ").unwrap_or(what),
        }
    }
    found
}

#[track_caller]
pub fn all(tried: &str, wanted: bool) {
    let others: Vec<_> = outcomes(tried)
        .into_iter()
        .filter(|(_, ok)| *ok != wanted)
        .collect();
    assert!(others.is_empty(), "{others:?} in\n{tried}");
}

/// A user's hook that writes down how it was run.
const TELLS: &str = "#!/bin/sh
{ echo \"$0 ${0##*/} $*\"; pwd; echo \"$GIT_INDEX_FILE\"; } >>\"$NOTES/${0##*/}\"
case ${0##*/} in reference-transaction | pre-push | post-rewrite) cat >>\"$NOTES/${0##*/}\" ;; esac
[ ! -e \"$NOTES/fail-${0##*/}\" ]
";

pub fn put_hook(dir: &Path, name: &str, mode: u32) {
    fs::create_dir_all(dir).unwrap();
    let path = dir.join(name);
    fs::write(&path, TELLS).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The events of the attempts about refs: ref, whether it was refused, whether it has an old and a new value.
fn moves(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(sandbox.top.join(".git/ralph/add-login/events.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|event| event["event"] == "ref_moved")
        .collect()
}

#[test]
fn the_loops_branch_keeps_its_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let checkpoint = sandbox.git(&["rev-parse", "HEAD"]);
    let tried = tries(
        &sandbox,
        "t git commit --amend --allow-empty -qm mine
         t git reset -q --soft HEAD^
         t git update-ref refs/heads/ralph/add-login HEAD^
         t git rebase -q --force-rebase --root
         git rebase --abort 2>/dev/null; git checkout -q ralph/add-login
         t git branch -m ralph/add-login mine
         t git checkout -q --detach
         t git branch -D ralph/add-login
         t git branch -f ralph/add-login HEAD^
         t git checkout -q ralph/add-login",
    );
    let no: Vec<_> = outcomes(&tried)
        .into_iter()
        .filter_map(|(what, ok)| ok.then_some(what))
        .collect();
    assert_eq!(
        no,
        ["git checkout -q --detach", "git checkout -q ralph/add-login"]
    );
    let short = &checkpoint[..10];
    for words in [
        format!(
            "git-ralph: refused: the branch ralph/add-login must keep its checkpoint {short}: commit or merge on top"
        ),
        "the branch ralph/add-login holds the finished stories and may not be deleted or renamed".to_owned(),
    ] {
        assert!(tried.contains(&words), "{words} in {tried}");
    }
    assert_eq!(sandbox.git(&["rev-parse", "ralph/add-login^"]), checkpoint);
}

#[test]
fn guard_refuses_to_move_earlier_branches() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    sandbox.git(&["branch", "packed"]);
    sandbox.git(&["pack-refs", "--all"]);
    sandbox.git(&["branch", "-f", "other", "HEAD"]);
    sandbox.start();
    let before = sandbox.git(&[
        "for-each-ref",
        "refs/heads/main",
        "refs/heads/other",
        "refs/heads/packed",
    ]);
    let tried = tries(
        &sandbox,
        "t git branch -D other
         t git branch -D packed
         t git branch -m packed else
         t git branch -f main HEAD
         t git update-ref -d refs/heads/other
         t git update-ref refs/heads/packed HEAD
         t git fetch -q . +HEAD:main
         t git push -q . HEAD:main
         git checkout -q main; t git commit -q --allow-empty -m 'on main'; git checkout -q ralph/add-login",
    );
    all(&tried, false);
    assert!(
        tried.contains("the branch other was there before this attempt and may not be deleted or renamed")
    );
    assert!(tried.contains(
        "the branch main was there before this attempt and may not be moved: commit on ralph/add-login"
    ));
    let after = sandbox.git(&[
        "for-each-ref",
        "refs/heads/main",
        "refs/heads/other",
        "refs/heads/packed",
    ]);
    assert_eq!(after, before);
}

#[test]
fn guard_refuses_to_change_refs_of_git_ralph() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let start = sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]);
    let tried = tries(
        &sandbox,
        "t git update-ref -d refs/ralph/add-login/start
         t git update-ref refs/ralph/add-login/start HEAD
         t git update-ref refs/ralph/add-login/mine HEAD
         git pack-refs --all
         t git update-ref -d refs/ralph/add-login/start",
    );
    all(&tried, false);
    assert!(tried.contains("refs/ralph/ is where git-ralph keeps work"));
    assert_eq!(sandbox.git(&["rev-parse", "refs/ralph/add-login/start"]), start);
}

#[test]
fn guard_refuses_to_drop_stashes_of_the_user() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Mine\n");
    sandbox.git(&["stash", "-q"]);
    let list = sandbox.git(&["stash", "list"]);
    let stash = sandbox.git(&["rev-parse", "refs/stash"]);
    sandbox.start();
    let tried = tries(
        &sandbox,
        "echo x >>old.txt; git stash -q; git stash pop -q || exit; git checkout -q old.txt
         t git stash clear
         t git stash drop
         t git stash clear
         t git update-ref -d refs/stash",
    );
    all(&tried, false);
    assert!(tried.contains("use git stash apply, and drop only what you put there yourself"));
    assert_eq!(sandbox.git(&["rev-parse", "refs/stash"]), stash);
    assert_eq!(sandbox.git(&["stash", "list"]), list);
}

#[test]
fn guard_refuses_every_push() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.start();
    let tried = tries(
        &sandbox,
        "t git push origin HEAD
         t git push --all \"$(git remote get-url origin)\"
         t git push --mirror origin
         git worktree add -q ../other -b mine; cd ../other; t git push origin HEAD; cd ../repo
         git worktree remove ../other",
    );
    all(&tried, false);
    assert!(
        tried.contains("nothing is pushed during an attempt: leave the work in the work tree or commit it")
    );
    let refs = sandbox.git_cmd(&["for-each-ref"]).dir(&remote).run().exits(0);
    assert_eq!(refs.stdout, "");
    sandbox.git(&["push", "-q", "origin", "main"]);
}

#[test]
fn an_agents_own_work_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let tried = tries(
        &sandbox,
        "echo x >x; git add x
         t git commit -qm one
         t git commit -q --amend -m first
         echo y >>x
         t git commit -qam second
         t git reset -q --soft HEAD^
         t git commit -qm second
         export GIT_SEQUENCE_EDITOR=:
         t git rebase -q -i --force-rebase HEAD~2
         t git checkout -q -b mine
         t git commit -q --allow-empty -m three
         t git branch -f mine2 HEAD
         t git branch -f mine2 HEAD^
         t git branch -m mine2 mine3
         t git branch -D mine3
         t git checkout -q ralph/add-login
         t git merge -q --no-edit mine
         t git tag v2
         t git tag -f v2 HEAD^
         t git tag -d v2
         echo z >>x
         t git stash -q
         t git stash pop -q
         t git stash -q
         t git stash drop -q
         t git gc -q --prune=now
         t git commit -q --allow-empty -m again
         t git pack-refs --all
         t git branch -D mine
         t git update-ref refs/notes/mine HEAD
         t git worktree add -q ../other -b side
         t git -C ../other commit -q --allow-empty -m side
         t git worktree remove ../other
         t git switch -q --detach
         t git switch -q main
         t git switch -q ralph/add-login",
    );
    all(&tried, true);
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
    assert_eq!(
        refs,
        "refs/heads/main\nrefs/heads/ralph/add-login\nrefs/heads/side"
    );
}

#[test]
fn other_repositories_are_not_guarded() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let remote = sandbox.outside("remote");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.start();
    let tried = tries(
        &sandbox,
        "in_it() { t git -C \"$1\" commit -q --allow-empty -m x; t git -C \"$1\" commit -q --amend --allow-empty -m y
                    t git -C \"$1\" reset -q --hard HEAD^; t git -C \"$1\" checkout -q -b b; t git -C \"$1\" branch -D main
                    t git -C \"$1\" push -q ../remote b:\"$(basename \"$1\")\"; }
         t git clone -q -b main . ../clone
         in_it ../clone
         t git init -q -b main ../fresh
         t git -C ../fresh commit -q --allow-empty -m first
         in_it ../fresh
         t git init -q -b main nested
         t git -C nested commit -q --allow-empty -m first
         t git -C nested branch -m ralph/add-login
         t git -C nested branch -m main
         t git -C nested commit -q --amend --allow-empty -m y
         t git -C nested checkout -q --detach
         t git -C nested branch -D main
         rm -rf nested
         git -C lib checkout -q -b side; t git -C lib commit -q --allow-empty -m x; t git -C lib reset -q --hard HEAD^
         git -C lib checkout -q -; t git -C lib branch -D side",
    );
    all(&tried, true);
}

#[test]
fn moves_of_refs_are_events() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    sandbox.start();
    let checkpoint = sandbox.git(&["rev-parse", "HEAD"]);
    let agent = sandbox.completing(&format!(
        "{TRY}git commit -q --allow-empty -m mine; command git rev-parse HEAD >\"$notes/mine\"
         git tag t; git pack-refs --all; git gc -q; git tag -d t >/dev/null
         t git branch -D other; t git push . HEAD:refs/heads/new; git checkout -q --detach main
         git checkout -q ralph/add-login"
    ));
    let output = sandbox.step("next", &agent).exits(0);
    let output = output.says("refused: the agent tried to delete refs/heads/other");
    output.says("refused: the agent tried to push");
    let mine = sandbox.noted("mine").trim().to_owned();
    let told: Vec<_> = moves(&sandbox)
        .into_iter()
        // Only newer ones tell a hook of every move of HEAD.
        .filter(|event| event["ref"] != "HEAD")
        .map(|event| {
            assert_eq!((&event["story"], &event["attempt"]), (&"1".into(), &1.into()));
            let text = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
            let refused = event["refused"].as_bool().unwrap();
            (text("ref"), text("old"), text("new"), refused)
        })
        .collect();
    let event = |name: &str, old: &str, new: &str, refused| {
        (name.to_owned(), old.to_owned(), new.to_owned(), refused)
    };
    assert_eq!(
        told,
        [
            event("refs/heads/ralph/add-login", &checkpoint, &mine, false),
            event("refs/tags/t", "-", &mine, false),
            event("refs/tags/t", &mine, "-", false),
            event("refs/heads/other", &main, "-", true),
        ]
    );
    let version = sandbox.git(&["version"]);
    if !version.contains("2.39") {
        let heads: Vec<_> = moves(&sandbox)
            .into_iter()
            .filter(|event| event["ref"] == "HEAD")
            .map(|event| (event["old"].clone(), event["new"].clone()))
            .collect();
        let (own, main): (serde_json::Value, serde_json::Value) =
            ("refs/heads/ralph/add-login".into(), main.into());
        assert_eq!(heads, [(own.clone(), main.clone()), (main, own)]);
    }
}

#[test]
fn forged_log_of_the_guard_excuses_no_moved_ref() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "t1"]);
    let was = sandbox.git(&["rev-parse", "t1"]);
    sandbox.start();
    let agent = sandbox.failing(&format!(
        "{TRY}new=$(git commit-tree 'HEAD^{{tree}}' -m elsewhere); echo $new >\"$notes/t1\"
        echo \"c {was} $new refs/tags/t1\" >>.git/ralph/add-login/slots/1/guard.log; env -u GIT_CONFIG_COUNT git tag -f t1 $new >/dev/null"
    ));
    let output = sandbox.step("next", &agent).exits(3);
    let moved = sandbox.noted("t1").trim().to_owned();
    output.says(&format!(
        "the tag t1 was moved from {} to {} during the attempt",
        &was[..10],
        &moved[..10]
    ));
    // Any process can write to the log, and move the tag.
    assert_eq!(sandbox.git(&["rev-parse", "t1"]), moved);
}

#[test]
fn the_guard_can_be_left_off() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    sandbox.configure("ralph.guard", "false");
    sandbox.start();
    let tried = tries(
        &sandbox,
        "t git branch -D other; env | grep -c guard.config >\"$notes/settings\"; true",
    );
    all(&tried, true);
    assert_eq!(sandbox.noted("settings"), "0\n");
    assert!(moves(&sandbox).is_empty());
    let agent = sandbox.completing(&format!("{TRY}t git branch -D main"));
    let once = ["-c", "ralph.guard=true", "ralph", "next", "--", &agent];
    sandbox.git_cmd(&once).run().exits(0);
    assert!(sandbox.noted("tried").ends_with("no\n"));
}

#[test]
fn guard_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-commit", "exit 0");
    sandbox.start();
    let own = |dir: &str| crate::support::print::files(&sandbox.top.join(".git").join(dir));
    let before = (own("hooks"), sandbox.read(".git/config"), own("ralph/add-login"));
    let wait = sandbox.agent("git tag t; touch \"$notes/there\"; sleep 600");
    let next = sandbox.direct(&["next", "--", &wait]).start();
    wait_for(&sandbox.notes.join("there"));
    assert_eq!(
        (own("hooks"), sandbox.read(".git/config")),
        (before.0.clone(), before.1.clone())
    );
    assert!(
        sandbox
            .top
            .join(".git/ralph/add-login/slots/1/hooks/pre-commit")
            .exists()
    );
    next.signal(Signal::SIGKILL);
    next.wait_for_its_end();
    assert_eq!(
        (own("hooks"), sandbox.read(".git/config")),
        (before.0.clone(), before.1.clone())
    );
    sandbox.ralph(&["status"]).exits(0);
    let left = own("ralph/add-login");
    let new: Vec<_> = left.keys().filter(|path| !before.2.contains_key(*path)).collect();
    let guards: Vec<_> = new
        .into_iter()
        .filter(|path| path.starts_with("slots/1/hooks") || path.to_string_lossy().contains("guard"))
        .collect();
    assert!(guards.is_empty(), "{guards:?}");
    assert_eq!(moves(&sandbox).len(), 1);
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
    assert!(!sandbox.top.join(".git/ralph/add-login/slots/1/hooks").exists());
    sandbox.nothing_is_alive();
}

#[test]
fn broken_guard_blocks_no_git_command() {
    let sandbox = Sandbox::new();
    put_hook(&sandbox.top.join(".git/hooks"), "reference-transaction", 0o755);
    sandbox.start();
    let tried = tries(
        &sandbox,
        "export NOTES=$notes; slot=$(command git rev-parse --absolute-git-dir)/ralph/add-login/slots/1
         rm \"$slot/guard.rules\"; t git tag rules-gone
         chmod 000 \"$slot\"; t git tag closed; chmod 700 \"$slot\"
         sed -i \"s:'[^']*git-ralph':'/no/such/program':\" \"$slot/hooks/reference-transaction\"; t git tag program-gone
         printf '#!/bin/sh\\nexit 3\\n' >\"$notes/broken\"; chmod +x \"$notes/broken\"
         sed -i \"s:/no/such/program:$notes/broken:\" \"$slot/hooks/reference-transaction\"; t git tag program-broken
         rm -rf \"$slot/hooks\"; t git tag hooks-gone",
    );
    all(&tried, true);
    // The user's hook is run even when git-ralph is gone.
    assert!(
        sandbox
            .noted("reference-transaction")
            .contains("refs/tags/program-gone")
    );
}
