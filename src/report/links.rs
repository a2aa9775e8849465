//! Web pages of commits on the host of the remote: GitHub, GitLab, Gitea, Forgejo, Bitbucket, or a configured one.
//!
//! Only commits that were pushed, as far as the remote-tracking branches show, have a page.

use std::collections::BTreeSet;

use crate::git::Git;
use crate::names::Oid;

/// The web addresses of commits and comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// The address of a commit, with `{oid}` in it.
    commit: String,
    /// The address of a comparison, with `{from}` and `{to}` in it.
    compare: Option<String>,
    /// The commits of the loop that the remote does not have.
    unpushed: BTreeSet<Oid>,
    is_begin_pushed: bool,
}

impl Links {
    /// Finds the web addresses for a loop from `begin` to `tip`; `set` is a configured address of a commit. Returns
    /// `None` if there is no remote, its host is not known, or git fails.
    pub(super) async fn of(
        git: &Git,
        branch: &str,
        set: Option<&str>,
        begin: Option<&Oid>,
        tip: &Oid,
    ) -> Option<Self> {
        let remote = remote_of(git, branch).await?;
        let url = git.cmd("remote", ["get-url", &remote]).bytes().await.ok();
        let found = url.and_then(|url| pages_of(String::from_utf8_lossy(&url).trim()));
        let (commit, compare) = match set {
            Some(set) => (set.to_owned(), None),
            None => found?,
        };
        let not = format!("--remotes={remote}");
        let mut args = vec![tip.to_string()];
        args.extend(begin.map(|oid| format!("^{oid}")));
        args.extend(["--not".to_owned(), not.clone()]);
        // If git fails, no commit is known to be pushed.
        let unpushed = oids(&git.cmd("rev-list", args).bytes().await.ok()?);
        let is_begin_pushed = match begin {
            Some(begin) => {
                let args = ["--max-count=1", begin.as_str(), "--not", &not];
                oids(&git.cmd("rev-list", args).bytes().await.ok()?).is_empty()
            }
            None => false,
        };
        Some(Self {
            commit,
            compare,
            unpushed,
            is_begin_pushed,
        })
    }

    /// Returns the web address of a commit of the loop; `None` if it was not pushed.
    pub(super) fn commit(&self, oid: &Oid) -> Option<String> {
        (!self.unpushed.contains(oid)).then(|| self.commit.replace("{oid}", oid.as_str()))
    }

    /// Returns the web address that compares two commits of the loop; `None` if it is not known or one was not pushed.
    pub(super) fn compare(&self, from: &Oid, to: &Oid) -> Option<String> {
        let page = self.compare.as_ref()?;
        let is_there = self.is_begin_pushed && !self.unpushed.contains(to);
        is_there.then(|| page.replace("{from}", from.as_str()).replace("{to}", to.as_str()))
    }
}

fn oids(bytes: &[u8]) -> BTreeSet<Oid> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(Oid::parse).collect()
}

/// Returns the remote of a branch, else `origin`, else the only remote.
async fn remote_of(git: &Git, branch: &str) -> Option<String> {
    let all = git.cmd("remote", [""; 0]).bytes().await.ok()?;
    let all = String::from_utf8_lossy(&all).into_owned();
    let all: Vec<&str> = all.lines().collect();
    if all.is_empty() {
        return None;
    }
    let key = format!("branch.{branch}.remote");
    let output = git.cmd("config", ["--get", &key]).any_exit().await.ok()?;
    let own = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let is_there = |name: &&&str| all.contains(*name);
    let named = [own.as_str(), "origin"].iter().find(is_there).copied();
    let found = named.or(if let [only] = all[..] { Some(only) } else { None });
    found.map(str::to_owned)
}

/// Returns the addresses of commits and comparisons on the host of a remote's URL, without the URL's user name and
/// password.
fn pages_of(url: &str) -> Option<(String, Option<String>)> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let is_web = matches!(scheme, "https" | "http");
    let (host, path) = match scheme {
        "https" | "http" | "ssh" | "git" | "git+ssh" | "ssh+git" => rest.split_once('/')?,
        // user@host:path
        "" => rest.split_once(':').filter(|(host, _)| !host.contains('/'))?,
        _ => return None,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    if name.is_empty() || !name.chars().all(is_name) || !port.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let host = if is_web { host } else { name };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let path: Vec<String> = path.split('/').map(in_address).collect();
    if path.len() < 2 || path.iter().any(String::is_empty) {
        return None;
    }
    let scheme = if scheme == "http" { "http" } else { "https" };
    let base = format!("{scheme}://{host}/{}", path.join("/"));
    let name = name.to_ascii_lowercase();
    let of = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let (commit, compare) = if of(&["gitlab"]) {
        ("/-/commit/{oid}", "/-/compare/{from}...{to}")
    } else if of(&["bitbucket"]) {
        ("/commits/{oid}", "/branches/compare/{to}%0D{from}")
    } else if of(&["github", "gitea", "codeberg", "forgejo"]) {
        ("/commit/{oid}", "/compare/{from}...{to}")
    } else {
        return None;
    };
    Some((format!("{base}{commit}"), Some(format!("{base}{compare}"))))
}

/// Encodes a part of a path for a URL.
fn in_address(part: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    part.bytes()
        .map(|byte| match byte {
            byte if is_plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_take_the_host_from_the_remote() {
        for (url, commit) in [
            (
                "https://github.com/a/b.git",
                "https://github.com/a/b/commit/{oid}",
            ),
            (
                "https://me:secret@github.com/a/b",
                "https://github.com/a/b/commit/{oid}",
            ),
            ("git@github.com:a/b.git", "https://github.com/a/b/commit/{oid}"),
            (
                "ssh://git@gitlab.example.org:2222/g/sub/b.git",
                "https://gitlab.example.org/g/sub/b/-/commit/{oid}",
            ),
            (
                "https://gitea.example.org:3000/a/b/",
                "https://gitea.example.org:3000/a/b/commit/{oid}",
            ),
            (
                "git@bitbucket.org:a/b c.git",
                "https://bitbucket.org/a/b%20c/commits/{oid}",
            ),
            (
                "https://codeberg.org/a/b",
                "https://codeberg.org/a/b/commit/{oid}",
            ),
        ] {
            assert_eq!(pages_of(url).unwrap().0, commit, "{url}");
        }
        for url in [
            "",
            "/srv/github.com/a.git",
            "../github.com:a/b",
            "file:///srv/github.com/a/b",
            "https://example.org/a/b",
            "https://github.com/a",
            "https://github.com/a//b",
            "javascript://github.com/a/b",
            "https://github.com\"><script>/a/b",
            "git@github.com:",
        ] {
            assert_eq!(pages_of(url), None, "{url}");
        }
        let (_, compare) = pages_of("git@bitbucket.org:a/b").unwrap();
        let wanted = "https://bitbucket.org/a/b/branches/compare/{to}%0D{from}";
        assert_eq!(compare.as_deref(), Some(wanted));
    }
}
