//! Accesses a git remote: lists, fetches and pushes refs by their full names. Runs no hooks, follows no tags, and never
//! asks on a terminal.

use std::time::Duration;

use super::command::{Git, GitCommand, failure};
use super::error::GitError;
use crate::async_cmd::{Bounds, Output};
use crate::names::Oid;

/// The bounds of a git that lists or moves refs: it keeps the remote's list in memory, which may be endless.
const MOST: Bounds = Bounds {
    output: 32 << 20,
    memory: 512 << 20,
};

/// The bounds of a git that fetches.
const MOST_OF_FETCH: Bounds = Bounds {
    output: 32 << 20,
    memory: 2 << 30,
};

/// The result of a push of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The ref had another value than expected.
    Elsewhere(String),
    /// The host refused it, in its own status line about this ref; with the host's words.
    Refused(String),
    /// There was no status of this ref, or a transient error: a lock, a full disk, a broken connection. The remote may
    /// have moved the ref anyway. With git's words.
    Unknown(String),
}

/// The result of a push of several refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// The remote has all of them.
    Done,
    /// The remote does not move them together: it cannot, or it refuses one of them, or one had another value.
    Never,
    /// The connection broke, or the error is transient. The remote may have moved all of them.
    Unknown,
}

/// A ref of a remote that is to be moved.
#[derive(Clone, Copy, Debug)]
pub struct Move<'m> {
    /// Its name.
    pub name: &'m str,
    /// The present object; `None` if the ref must not exist.
    pub old: Option<&'m Oid>,
    /// The new object; `None` to delete the ref.
    pub new: Option<&'m Oid>,
}

/// A remote by its name or address, accessed with a time limit.
#[derive(Clone, Debug)]
pub struct RemoteGit {
    git: Git,
    name: String,
    /// The setting that ends a git that outlives this process once a host has been silent for twice the limit.
    silence: String,
}

impl Git {
    /// Returns a handle for this remote; a call that takes longer than `limit` fails.
    pub fn remote(&self, name: &str, limit: Duration) -> RemoteGit {
        RemoteGit {
            git: self.clone().with_limit(limit),
            name: name.to_owned(),
            silence: format!("http.lowSpeedTime={}", limit.as_secs().max(1).saturating_mul(2)),
        }
    }
}

impl RemoteGit {
    /// Returns its name or address, as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists the refs that match these patterns of git-ls-remote(1). One round trip.
    pub async fn refs(&self, patterns: &[String]) -> Result<Vec<(String, Oid)>, GitError> {
        let mut args = vec!["--refs", "--", &self.name];
        args.extend(patterns.iter().map(String::as_str));
        let listed = self.cmd("ls-remote", &args).text().await?;
        let refs = listed.lines().filter_map(|line| {
            let (oid, name) = line.split_once('\t')?;
            Some((name.to_owned(), Oid::parse(oid)?))
        });
        Ok(refs.collect())
    }

    /// Fetches refs with everything reachable from them, and creates no refs. No depth can be given: `--depth` cuts off
    /// the history at every commit of that depth, even at complete ones that the repository has, and a reachable commit
    /// of the user's would become unreachable.
    pub async fn fetch(&self, names: &[String]) -> Result<(), GitError> {
        self.fetch_with(&[], names).await
    }

    /// Fetches the commits that refs name, without their files and their history, and creates no refs: only for a
    /// repository made for this purpose, as its history ends at each of them. A remote without filter support also
    /// sends the files of these commits.
    pub async fn fetch_commits(&self, names: &[String]) -> Result<(), GitError> {
        self.fetch_with(&["--depth=1", "--filter=tree:0"], names).await
    }

    async fn fetch_with(&self, more: &[&str], names: &[String]) -> Result<(), GitError> {
        let mut args = vec![
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--refmap=",
        ];
        args.extend(more);
        args.extend(["--", &self.name]);
        args.extend(names.iter().map(String::as_str));
        // An object of this size is not read into memory.
        let settings = ["core.bigFileThreshold=32m"];
        self.cmd_with(&settings, "fetch", &args, MOST_OF_FETCH)
            .done()
            .await
    }

    /// Moves one ref of the remote from `old` (`None`: it must not exist) to `new` (`None`: it is deleted), or does
    /// nothing.
    pub async fn push(&self, name: &str, old: Option<&Oid>, new: Option<&Oid>) -> Result<Pushed, GitError> {
        let output = self.push_with(&[], &[Move { name, old, new }]).await?;
        match output.code {
            Some(0) => return Ok(Pushed::Done),
            Some(_) => {}
            None => return Err(failure("push", &output)),
        }
        let status = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = [output.stderr, output.stdout].concat();
        Ok(answer(name, &status, words_of(&String::from_utf8_lossy(&said))))
    }

    /// Moves several refs of the remote, all or none of them.
    pub async fn push_together(&self, moves: &[Move<'_>]) -> Result<Together, GitError> {
        let output = self.push_with(&["--atomic"], moves).await?;
        if output.code == Some(0) {
            return Ok(Together::Done);
        }
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        let status = String::from_utf8_lossy(&output.stdout).to_lowercase();
        let is_never = said.contains("atomic") || status.contains("atomic");
        Ok(if is_never {
            Together::Never
        } else {
            Together::Unknown
        })
    }

    async fn push_with(&self, more: &[&str], moves: &[Move<'_>]) -> Result<Output, GitError> {
        let oid = |oid: Option<&Oid>| oid.map_or(String::new(), ToString::to_string);
        let of = |at: &Move<'_>| format!("--force-with-lease={}:{}", at.name, oid(at.old));
        let leases: Vec<String> = moves.iter().map(of).collect();
        let of = |at: &Move<'_>| format!("{}:{}", oid(at.new), at.name);
        let refs: Vec<String> = moves.iter().map(of).collect();
        let mut args = vec![
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
        ];
        args.extend(more);
        args.extend(leases.iter().map(String::as_str));
        args.extend(["--", &self.name]);
        args.extend(refs.iter().map(String::as_str));
        // Git cannot push single refs to a mirror.
        let mirror = format!("remote.{}.mirror=false", self.name);
        let is_key = !self.name.contains(['=', '\n']);
        let mut settings: Vec<&str> = is_key.then_some(mirror.as_str()).into_iter().collect();
        let output = self.cmd_with(&settings, "push", &args, MOST).any_exit().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.code == Some(0) || !said.contains("does not support push options") {
            return Ok(output);
        }
        // Push options are for hosts that know them.
        settings.push("push.pushOption=");
        self.cmd_with(&settings, "push", &args, MOST).any_exit().await
    }

    fn cmd(&self, verb: &'static str, args: &[&str]) -> GitCommand {
        self.cmd_with(&[], verb, args, MOST)
    }

    fn cmd_with(&self, settings: &[&str], verb: &'static str, args: &[&str], most: Bounds) -> GitCommand {
        let settings = [settings, &["http.lowSpeedLimit=1", &self.silence]].concat();
        // A silent host must not keep the loop of a killed git-ralph locked. A git that waits for it moves no local
        // ref, and a remote ref only from its expected value.
        let command = self.git.cmd_with(&settings, verb, args).without_locks();
        // ssh must not ask either.
        command.env("SSH_ASKPASS_REQUIRE", "never").within(most)
    }
}

/// Messages of git and its hosts about a ref that they might move at another time.
const PASSING: [&str; 15] = [
    "lock",
    "failed to update ref",
    "unpacker error",
    "transaction failed",
    "atomic push fail",
    "internal",
    "server error",
    "timeout",
    "timed out",
    "temporar",
    "unavailable",
    "try again",
    "missing necessary objects",
    "failed to write",
    "no space",
];

/// Messages of a host about a ref that has moved meanwhile.
const MOVED: [&str; 4] = [
    "stale info",
    "incorrect old value",
    "reference already exists",
    "fetch first",
];

/// Git's messages about the HTTP code of a host that is too busy, whatever the host's text.
const BUSY: [&str; 3] = ["returned error: 408", "returned error: 429", "returned error: 5"];

/// Messages of git, curl and ssh about a broken connection.
const BROKEN_OFF: [&str; 16] = [
    "empty reply",
    "connection reset",
    "connection closed",
    "broken pipe",
    "recv failure",
    "send failure",
    "transfer closed",
    "partial file",
    "early eof",
    "unexpected eof",
    "disconnect",
    "hung up unexpectedly",
    "rpc failed",
    "expected flush",
    "bad line length",
    "timed out",
];

/// Returns whether a git that only read from a remote failed for a transient reason. A host's message is no such
/// reason, except with the code of a busy host; neither is an unreachable host, an unknown repository or denied access:
/// the user can correct those.
pub fn broke_off(words: &str) -> bool {
    let words = words.to_lowercase();
    let is_of_host = words
        .lines()
        .any(|line| line.starts_with("remote: ") || line.contains("remote error: "));
    let has = |known: &[&str]| known.iter().any(|known| words.contains(known));
    has(&BUSY) || !is_of_host && has(&BROKEN_OFF)
}

/// Reads the tab-separated status line of a ref (`git push --porcelain`): `!`, the refs, and a summary with a reason.
fn answer(name: &str, status: &str, words: String) -> Pushed {
    let line = status.lines().find_map(|line| {
        let mut fields = line.split('\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
        refs.ends_with(&format!(":{name}")).then_some((flag, summary))
    });
    let Some((flag, summary)) = line else {
        return Pushed::Unknown(words);
    };
    let reason = summary
        .split_once('(')
        .map_or("", |(_, reason)| reason)
        .to_lowercase();
    let is_one_of = |known: &[&str]| known.iter().any(|known| reason.contains(known));
    if flag != "!" {
        Pushed::Done
    } else if is_one_of(&MOVED) {
        Pushed::Elsewhere(words)
    } else if summary.starts_with("[remote rejected]") && !is_one_of(&PASSING) {
        Pushed::Refused(words)
    } else {
        Pushed::Unknown(words)
    }
}

/// Returns the host's message about a refused push, or else git's.
fn words_of(said: &str) -> String {
    let of_host = said.lines().filter_map(|line| line.strip_prefix("remote: "));
    let of_host: Vec<&str> = of_host
        .map(str::trim)
        .filter(|line| !line.starts_with("error: hook declined"))
        .collect();
    if !of_host.is_empty() {
        return of_host.join("\n");
    }
    let is_frame = |line: &str| line.is_empty() || line.starts_with("To ") || line == "Done";
    let of_git: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !is_frame(line))
        .collect();
    of_git.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Pushed, answer, broke_off, words_of};

    #[test]
    fn broken_connection_is_no_answer_of_the_host() {
        for passes in [
            "fatal: unable to access 'http://host/x/': Empty reply from server",
            "fatal: unable to access 'http://host/x/': The requested URL returned error: 503",
            "remote: slow down\nfatal: unable to access 'http://host/x/': The requested URL returned error: 429",
            "remote: busy\nfatal: unable to access 'http://host/x/': The requested URL returned error: 408",
            "error: RPC failed; curl 18 transfer closed with 59 bytes remaining to read\nfatal: expected flush after ref listing",
            "fatal: the remote end hung up unexpectedly",
            "Connection closed by 192.0.2.1 port 22\nfatal: Could not read from remote repository.",
        ] {
            assert!(broke_off(passes), "{passes}");
        }
        for stays in [
            "fatal: unable to access 'http://host/x/': The requested URL returned error: 403",
            "fatal: repository 'http://host/x/' not found",
            "fatal: unable to access 'http://host/x/': Could not resolve host: host",
            "fatal: could not read Username for 'https://host': terminal prompts disabled",
            "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            "fatal: 'x' does not appear to be a git repository",
            "fatal: remote error: upload-pack: not our ref 1234",
            "remote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF",
        ] {
            assert!(!broke_off(stays), "{stays}");
        }
    }

    #[test]
    fn only_a_status_line_of_the_host_refuses() {
        let of = |status: &str| answer("refs/x", status, "words".to_owned());
        let words = || "words".to_owned();
        for (status, wanted) in [
            (
                "!\ta:refs/x\t[remote rejected] (hook declined)",
                Pushed::Refused(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (pre-receive hook declined)",
                Pushed::Refused(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (protected branch)",
                Pushed::Refused(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (deny updating a hidden ref)",
                Pushed::Refused(words()),
            ),
            ("!\ta:refs/x\t[rejected] (stale info)", Pushed::Elsewhere(words())),
            (
                "!\ta:refs/x\t[remote rejected] (incorrect old value provided)",
                Pushed::Elsewhere(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (failed to update ref)",
                Pushed::Unknown(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (cannot lock ref 'refs/x': is at 1 but expected 2)",
                Pushed::Unknown(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (unpacker error)",
                Pushed::Unknown(words()),
            ),
            (
                "!\ta:refs/x\t[remote rejected] (Internal Server Error)",
                Pushed::Unknown(words()),
            ),
            (
                "!\ta:refs/x\t[remote failure] (remote failed to report status)",
                Pushed::Unknown(words()),
            ),
            (
                "!\ta:refs/y\t[remote rejected] (hook declined)",
                Pushed::Unknown(words()),
            ),
            ("", Pushed::Unknown(words())),
            (
                "fatal: the remote end hung up unexpectedly",
                Pushed::Unknown(words()),
            ),
            (
                "To u\n \ta:refs/x\t1..2\n!\ta:refs/y\t[remote rejected] (hook declined)\nDone",
                Pushed::Done,
            ),
        ] {
            assert_eq!(of(status), wanted, "{status}");
        }
    }

    #[test]
    fn words_of_returns_the_hosts_own_message() {
        let said = "remote: no workflows        \nremote: error: hook declined to update refs/x\nTo u\n!\tx:y\t[remote rejected]\nDone\n";
        assert_eq!(words_of(said), "no workflows");
        let said = "To u\n!\tx:y\t[rejected] (stale info)\nDone\nerror: failed to push some refs to 'u'\n";
        assert_eq!(
            words_of(said),
            "!\tx:y\t[rejected] (stale info)\nerror: failed to push some refs to 'u'"
        );
        assert_eq!(
            words_of("remote: error: hook declined\n"),
            "remote: error: hook declined"
        );
    }
}
