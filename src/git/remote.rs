//! Talks to a git remote: lists, fetches and pushes refs by their full names. No hook runs, no tag follows, and nothing
//! asks on a terminal.

use std::time::Duration;

use super::command::{Git, GitCommand, GitError, failure};
use crate::names::Oid;

/// The answer of a remote to a push of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// It was refused, or its answer is unknown; git's words.
    Refused(String),
}

/// A remote by its name or address, asked with a limit of time.
#[derive(Clone, Debug)]
pub struct RemoteGit {
    git: Git,
    name: String,
}

impl Git {
    /// Returns a git that talks to this remote; a call that takes longer than `limit` fails.
    #[must_use]
    pub fn remote(&self, name: &str, limit: Duration) -> RemoteGit {
        RemoteGit {
            git: self.clone().with_limit(limit),
            name: name.to_owned(),
        }
    }
}

impl RemoteGit {
    /// Returns its name or address, as the user gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists the refs that match these patterns of git-ls-remote(1). One round trip.
    ///
    /// # Errors
    /// If the remote cannot be read.
    pub async fn refs(&self, patterns: &[String]) -> Result<Vec<(String, Oid)>, GitError> {
        let mut args = vec!["--refs", "--", &self.name];
        args.extend(patterns.iter().map(String::as_str));
        let listed = self.cmd("ls-remote", &args).bytes().await?;
        let listed = String::from_utf8_lossy(&listed);
        let refs = listed.lines().filter_map(|line| {
            let (oid, name) = line.split_once('\t')?;
            Some((name.to_owned(), Oid::parse(oid)?))
        });
        Ok(refs.collect())
    }

    /// Fetches refs with everything that they reach, and names them nowhere. No depth can be given: `--depth` ends the
    /// history at every commit of that depth, also at those that the repository has with all of theirs, and a commit of
    /// the user's that was reachable would not be any more.
    ///
    /// # Errors
    /// If the remote cannot be read, or has no such ref.
    pub async fn fetch(&self, names: &[String]) -> Result<(), GitError> {
        let mut args = vec![
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--refmap=",
        ];
        args.extend(["--", &self.name]);
        args.extend(names.iter().map(String::as_str));
        self.cmd("fetch", &args).done().await
    }

    /// Moves one ref of the remote from `old` (`None`: it must not exist there) to `new` (`None`: it is deleted), or does
    /// nothing.
    ///
    /// # Errors
    /// If git cannot be run, takes too long or is killed: the remote may have moved the ref all the same.
    pub async fn push(&self, name: &str, old: Option<&Oid>, new: Option<&Oid>) -> Result<Pushed, GitError> {
        let lease = format!("--force-with-lease={name}:{}", old.map_or("", Oid::as_str));
        let refspec = format!("{}:{name}", new.map_or("", Oid::as_str));
        let args = [
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            &lease,
            "--",
            &self.name,
            &refspec,
        ];
        let output = self.cmd("push", &args).any_exit().await?;
        match output.code {
            Some(0) => return Ok(Pushed::Done),
            Some(_) => {}
            None => return Err(failure("push", &output)),
        }
        let said = [output.stderr, output.stdout].concat();
        Ok(Pushed::Refused(words_of(&String::from_utf8_lossy(&said))))
    }

    fn cmd(&self, verb: &'static str, args: &[&str]) -> GitCommand {
        // ssh must not ask either.
        self.git.cmd(verb, args).env("SSH_ASKPASS_REQUIRE", "never")
    }
}

/// Returns what the host says about a push that it refused, or else what git says.
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
    use super::words_of;

    #[test]
    fn a_host_speaks_for_itself() {
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
