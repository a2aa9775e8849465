//! A directory a test: a home, a repository copied from the standard one, and scripted agents.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use assert_fs::TempDir;
use git_ralph::tables::PRESETS;

use super::boxes;
use super::copy::Copy;
use super::unprivileged::{self, OtherUser};
use super::{
    CHANGE, COMPLETE, Cmd, Output, Print, TASKS, alive_with, print, search_path, temporary, write_program,
};

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_git-ralph");

/// The story list of the standard repository.
const TASKS_TEXT: &str = "\
# Tasks

## 1. Database
- [ ] 1.1 Add the table
- [ ] 1.2 Add the index

## 2. Server
- [ ] 2.1 Check the password

## 3. Page
- [ ] 3.1 Draw the form
";

/// What every scripted agent begins with.
const AGENT_HEAD: &str = r#"
complete() { echo '<promise>COMPLETE</promise>'; }
failed() { echo "<promise>FAILED: $1</promise>"; }
# What a reviewer says, in the form that its prompt asks for: from standard input, or "$notes/review".
verdict() { { cat; cat "$notes/review" 2>/dev/null; } | grep -o "<verdict>$1 [a-z0-9]*</verdict>" | head -n 1; }
accept() { verdict ACCEPT; }
reject() { verdict REJECT; }
# One more each time it is called: tells attempts apart.
count() {
    n=$(cat "$notes/count" 2>/dev/null || echo 0)
    n=$((n + 1))
    echo "$n" >"$notes/count"
}
"#;

/// A directory of a test, with a repository and a home.
#[derive(Debug)]
pub struct Sandbox {
    temp: TempDir,
    /// The top directory of the repository.
    pub top: PathBuf,
    /// Outside the repository: what agents write down for the test.
    pub notes: PathBuf,
    /// The program that is started.
    pub program: String,
    scripts: AtomicUsize,
    /// What runs every command as somebody without rights, when that is wanted and we are root.
    other_user: Option<OtherUser>,
}

impl Sandbox {
    /// A submodule in `lib`, with a file `a`, committed.
    pub fn add_submodule(&self) {
        self.add_submodule_named("lib");
    }

    /// The same, with a name of its own in `.gitmodules`.
    pub fn add_submodule_named(&self, name: &str) {
        let library = self.outside("library");
        fs::create_dir(&library).unwrap();
        self.git_cmd(&["init", "-q"]).dir(&library).run().exits(0);
        fs::write(library.join("a"), "a\n").unwrap();
        let commit = [
            "-c",
            "user.name=U",
            "-c",
            "user.email=u@e",
            "commit",
            "-q",
            "-m",
            "a",
        ];
        self.git_cmd(&["add", "a"]).dir(&library).run().exits(0);
        self.git_cmd(&commit).dir(&library).run().exits(0);
        let url = library.to_str().unwrap();
        let allow = "protocol.file.allow=always";
        self.git(&[
            "-c",
            allow,
            "submodule",
            "--quiet",
            "add",
            "--name",
            name,
            url,
            "lib",
        ]);
        self.git(&["commit", "-q", "-m", "lib"]);
    }

    /// A submodule in that one, at `lib/inner`, committed in both; it is of the same library.
    pub fn add_submodule_in_lib(&self) {
        let library = self.outside("library");
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        self.git(&[&["-C", "lib"][..], &add, &[library.to_str().unwrap(), "inner"]].concat());
        let author = ["-c", "user.name=U", "-c", "user.email=u@e"];
        self.git(&[&["-C", "lib"][..], &author, &["commit", "-qm", "inner"]].concat());
        self.git(&["commit", "-qam", "inner"]);
    }

    /// A copy of the standard repository: one commit on `main`, a clean work tree, an ignored `.env`,
    /// three stories of the change `add-login`.
    pub fn new() -> Self {
        static STANDARD: OnceLock<Copy> = OnceLock::new();
        let standard = STANDARD.get_or_init(|| Copy::of(&Self::standard().top));
        let sandbox = Self::empty();
        standard.write(&sandbox.top);
        sandbox
    }

    /// The standard repository with uncommitted work of every kind: staged, unstaged, partly staged,
    /// deleted, untracked.
    pub fn dirty() -> Self {
        static DIRTY: OnceLock<Copy> = OnceLock::new();
        let dirty = DIRTY.get_or_init(|| Copy::of(&Self::with_edits().top));
        let sandbox = Self::empty();
        dirty.write(&sandbox.top);
        sandbox
    }

    fn with_edits() -> Self {
        let sandbox = Self::new();
        sandbox.write("src/lib.txt", "staged\n");
        sandbox.git(&["add", "src/lib.txt"]);
        sandbox.write("src/lib.txt", "staged\nand edited\n");
        sandbox.write("README.md", "# Edited\n");
        sandbox.git(&["rm", "-q", "--cached", "old.txt"]);
        fs::remove_file(sandbox.top.join("old.txt")).unwrap();
        sandbox.write("staged new.txt", "staged\n");
        sandbox.git(&["add", "staged new.txt"]);
        sandbox.write("notes/untracked.txt", "mine\n");
        sandbox
    }

    /// The repository of [`Sandbox::dirty`], with a loop that has begun.
    pub fn started() -> Self {
        let sandbox = Self::dirty();
        sandbox.start();
        sandbox
    }

    /// A sandbox without a repository; `top` does not exist.
    pub fn empty() -> Self {
        let temp = temporary::directory();
        for dir in ["home", "config", "data", "cache", "state", "notes", "agents"] {
            fs::create_dir(temp.path().join(dir)).unwrap();
        }
        boxes::configure(temp.path());
        Self {
            top: temp.path().join("repo"),
            notes: temp.path().join("notes"),
            program: PROGRAM.to_owned(),
            temp,
            scripts: AtomicUsize::new(0),
            other_user: None,
        }
    }

    /// The standard repository where every command runs as somebody whom permissions bind: whoever runs
    /// the tests, or for root somebody else. `None`, and says why, where root cannot become anybody.
    pub fn unprivileged() -> Option<Self> {
        let mut sandbox = Self::new();
        // What we make is ours.
        if sandbox.temp.path().metadata().unwrap().uid() == 0 {
            sandbox.other_user = Some(OtherUser::new(sandbox.temp.path())?);
        }
        Some(sandbox)
    }

    fn standard() -> Self {
        let sandbox = Self::empty();
        fs::create_dir(&sandbox.top).unwrap();
        sandbox.git(&["init", "-q", "--template=", "--initial-branch=main"]);
        sandbox.configure("user.name", "A User");
        sandbox.configure("user.email", "user@example.org");
        sandbox.write(".gitignore", "*.log\n.env\ntarget/\n");
        sandbox.write("README.md", "# Standard\n");
        sandbox.write("old.txt", "old\n");
        sandbox.write("src/lib.txt", "one\ntwo\nthree\n");
        sandbox.write("src/deep/er/file.txt", "deep\n");
        sandbox.write("tool", "#!/bin/sh\n");
        fs::set_permissions(sandbox.top.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("README.md", sandbox.top.join("link")).unwrap();
        sandbox.write(TASKS, TASKS_TEXT);
        sandbox.write("openspec/changes/add-login/proposal.md", "# Log in\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "first"]);
        sandbox.write(".env", "SECRET=1\n");
        sandbox
    }

    /// A directory outside the repository.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// A command in the repository with the sandbox's environment.
    pub fn cmd(&self, program: &str) -> Cmd {
        let dir = |name: &str| self.temp.path().join(name);
        let cmd = match &self.other_user {
            Some(other) => other.cmd(program, &self.top),
            None => Cmd::new(program, &self.top).env("PATH", self.search_path()),
        };
        cmd.env("HOME", dir("home"))
            .env("XDG_CONFIG_HOME", dir("config"))
            .env("XDG_DATA_HOME", dir("data"))
            .env("XDG_CACHE_HOME", dir("cache"))
            .env("XDG_STATE_HOME", dir("state"))
            .env("GIT_CONFIG_GLOBAL", dir(boxes::CONFIG))
            .env("GIT_CONFIG_SYSTEM", dir("no-system-config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // With a name alone, the database of time zones would be listed in each process.
            .env("TZ", "UTC0")
            .env("TMPDIR", dir("cache"))
    }

    /// Where programs are searched: first what this test has installed.
    pub fn search_path(&self) -> std::ffi::OsString {
        let own = self.outside("programs");
        if !own.is_dir() {
            return path();
        }
        let system = path();
        let all = std::iter::once(own).chain(std::env::split_paths(&system));
        std::env::join_paths(all).unwrap()
    }

    /// The git that is found first on `PATH`, for a scripted one in front of it.
    pub fn git_program(&self) -> PathBuf {
        let path = self.search_path();
        let mut gits = std::env::split_paths(&path).map(|dir| dir.join("git"));
        gits.find(|git| git.is_file()).unwrap()
    }

    /// Installs a scripted program (sh) under a name on `PATH`.
    pub fn install(&self, name: &str, script: &str) {
        let dir = self.outside("programs");
        let _ = fs::create_dir(&dir);
        symlink(self.agent(script), dir.join(name)).unwrap();
    }

    /// `git <args>`.
    pub fn git_cmd(&self, args: &[&str]) -> Cmd {
        self.cmd("git").args(args)
    }

    /// Runs git, which must succeed, and gives what it printed without the last line end.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.git_cmd(args).run().exits(0);
        output.stdout.trim_end_matches('\n').to_owned()
    }

    /// `git ralph <args>`, found by git as users have it.
    pub fn ralph_cmd(&self, args: &[&str]) -> Cmd {
        self.git_cmd(&["ralph"]).args(args)
    }

    /// Runs `git ralph <args>`.
    #[track_caller]
    pub fn ralph(&self, args: &[&str]) -> Output {
        self.ralph_cmd(args).run()
    }

    /// The program itself, without git in front: for signals, for a `git` of our own on `PATH`, and where many are started.
    pub fn direct(&self, args: &[&str]) -> Cmd {
        self.cmd(&self.program).args(args)
    }

    /// Runs a command that is killed when it has moved refs.
    pub fn cut_off(&self, args: &[&str]) {
        self.cut_off_in(&self.top, args);
    }

    /// Runs a command in a directory; it is killed when it has moved refs.
    pub fn cut_off_in(&self, dir: &Path, args: &[&str]) {
        let git = super::git();
        let script = format!(
            "case \" $* \" in *' update-ref '*) '{0}' \"$@\"; kill -KILL $PPID; exit 1 ;; esac\nexec '{0}' \"$@\"",
            git.display()
        );
        self.install("git", &script);
        self.direct(args).dir(dir).run().exits(137);
        fs::remove_file(self.outside("programs/git")).unwrap();
    }

    /// `git-ralph start add-login`, which must succeed.
    #[track_caller]
    pub fn start(&self) -> Output {
        self.direct(&["start", CHANGE]).run().exits(0)
    }

    /// Runs a step (`next`, `retry`) with an agent.
    #[track_caller]
    pub fn step(&self, step: &str, agent: &str) -> Output {
        self.direct(&[step, "--", agent]).run()
    }

    /// One with a list of so many stories that do not need each other, and a file `common`.
    pub fn with_free_stories(stories: usize) -> Self {
        let sandbox = Self::new();
        let list: String = (1..=stories)
            .map(|id| format!("- [ ] {id}. Story {id}\n"))
            .collect();
        sandbox.write("TODO.md", &list);
        sandbox.write("common", "start\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "list"]);
        sandbox.configure("ralph.order", "free");
        sandbox
    }

    /// Writes a scripted agent (sh) and gives its path. `$notes` is the sandbox's notes directory.
    pub fn agent(&self, script: &str) -> String {
        let number = self.scripts.fetch_add(1, Ordering::Relaxed);
        let path = self.temp.path().join(format!("agents/agent-{number}"));
        let text = format!(
            "#!/bin/sh\nnotes='{}'\n{AGENT_HEAD}{script}\n",
            self.notes.display()
        );
        write_program(&path, &text);
        path.to_str().unwrap().to_owned()
    }

    /// An agent that does one thing and completes.
    pub fn completing(&self, script: &str) -> String {
        self.agent(&format!("{script}\necho '{COMPLETE}'"))
    }

    /// An agent that does one thing and fails.
    pub fn failing(&self, script: &str) -> String {
        self.agent(&format!("{script}\nfailed 'it is red'"))
    }

    /// Writes a file of the repository, directories included.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        if self.other_user.is_some() {
            unprivileged::give(&self.top);
        }
    }

    /// Reads a file of the repository.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        read(&self.top.join(path))
    }

    /// Reads what an agent wrote down.
    #[track_caller]
    pub fn noted(&self, name: &str) -> String {
        read(&self.notes.join(name))
    }

    /// Sets a value in the repository's configuration.
    pub fn configure(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    /// Puts an executable hook into `.git/hooks`.
    pub fn hook(&self, name: &str, script: &str) {
        let path = self.top.join(".git/hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(&path, &format!("#!/bin/sh\n{script}\n"));
    }

    /// The loop's state file.
    pub fn state_file(&self) -> PathBuf {
        self.top.join(format!(".git/ralph/{CHANGE}.toml"))
    }

    /// The loop's state.
    #[track_caller]
    pub fn state(&self) -> toml::Table {
        read(&self.state_file()).parse().unwrap()
    }

    /// `git-ralph status add-login --json`.
    #[track_caller]
    pub fn status(&self) -> serde_json::Value {
        self.direct(&["status", CHANGE, "--json"]).run().exits(0).json()
    }

    /// `git-ralph log add-login --json`: its attempts.
    #[track_caller]
    pub fn attempts(&self) -> Vec<serde_json::Value> {
        let log = self.direct(&["log", CHANGE, "--json"]).run().exits(0).json();
        log["attempts"].as_array().unwrap().clone()
    }

    /// The verdict of the latest attempt.
    #[track_caller]
    pub fn verdict(&self) -> String {
        self.attempts().last().unwrap()["verdict"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// What the repository looks like.
    pub fn print(&self) -> Print {
        Print::of(self, &self.top)
    }

    /// Files of the work tree: path to mode and content.
    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        print::files(&self.top)
    }

    /// Modification times of the work tree's files.
    pub fn mtimes(&self) -> BTreeMap<PathBuf, (i64, i64)> {
        print::mtimes(&self.top)
    }

    /// The subjects of the commits of a branch, newest first.
    pub fn subjects(&self, branch: &str) -> Vec<String> {
        let log = self.git(&["log", "--format=%s", branch]);
        log.lines().map(ToOwned::to_owned).collect()
    }

    /// The processes of this sandbox: each has its paths in the environment.
    pub fn alive(&self) -> Vec<String> {
        alive_with(self.temp.path().to_str().unwrap())
    }

    /// Asserts that no process of this sandbox is left.
    #[track_caller]
    pub fn nothing_is_alive(&self) {
        let left = self.alive();
        assert!(left.is_empty(), "still alive: {left:?}");
    }

    /// Asserts that HEAD, branch, index and files are those of the loop's checkpoint.
    #[track_caller]
    pub fn is_at_checkpoint(&self) {
        let checkpoint = self.state()["loop"]["checkpoint"].as_str().unwrap().to_owned();
        let head = self.git(&["symbolic-ref", "HEAD"]);
        assert_eq!(head, format!("refs/heads/ralph/{CHANGE}"));
        assert_eq!(self.git(&["rev-parse", "HEAD"]), checkpoint);
        let status = self.git(&["status", "--porcelain", "--untracked-files=all"]);
        assert_eq!(status, "", "the work tree is not the checkpoint's");
    }
}

#[track_caller]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The directory of the program first, then what the system has, real agents left out.
fn path() -> std::ffi::OsString {
    static PATH: OnceLock<std::ffi::OsString> = OnceLock::new();
    let join = || {
        let own = Path::new(PROGRAM).parent().unwrap().to_owned();
        let system = search_path().into_iter().map(without_agents);
        std::env::join_paths(std::iter::once(own).chain(system)).unwrap()
    };
    PATH.get_or_init(join).clone()
}

/// The directory, or one with links to all that is in it but real agents: no test may start one of those.
fn without_agents(dir: PathBuf) -> PathBuf {
    let is_agent = |name: &str| PRESETS.iter().any(|preset| preset.program == name);
    if !PRESETS.iter().any(|preset| dir.join(preset.program).exists()) {
        return dir;
    }
    let name = dir.to_string_lossy().replace('/', "+");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::create_dir(&place);
    for entry in fs::read_dir(&dir).unwrap().filter_map(Result::ok) {
        if entry.file_name().to_str().is_none_or(|name| !is_agent(name)) {
            // It is there already when another run has made it.
            let _ = symlink(entry.path(), place.join(entry.file_name()));
        }
    }
    place
}
