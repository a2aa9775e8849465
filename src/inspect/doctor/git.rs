//! Git: its version, and the features that are used.

use std::path::Path;

use serde::Serialize;

use super::agents::version_of;
use super::notes::Notes;

/// The oldest git with all required features (`merge-tree --write-tree`).
const OLDEST: (u32, u32) = (2, 38);

/// Optional features of git: first version, name, purpose, and the difference without it.
const FEATURES: &[((u32, u32), &str, &str, &str)] = &[
    (
        (2, 36),
        "git hook run",
        "lifecycle hooks, wherever hooks are configured",
        "lifecycle hooks do not run",
    ),
    (
        OLDEST,
        "git merge-tree --write-tree",
        "finish, where the original branch has moved on",
        "finish cannot merge once the original branch has moved",
    ),
    (
        (2, 46),
        "symbolic refs in ref transactions",
        "HEAD and the branch move in one step",
        "HEAD and the branch move in two steps; a crash between them is repaired (nothing to do)",
    ),
    (
        (2, 54),
        "configured hooks",
        "the guard stands beside your own hooks",
        "the guard calls your hooks itself (nothing to do)",
    ),
];

/// An optional feature of git.
#[derive(Clone, Debug, Serialize)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// The first version of git that has it.
    pub since: String,
    /// True if this git has it; absent if its version cannot be read.
    pub available: Option<bool>,
    /// Its purpose.
    pub used_for: &'static str,
    /// The difference without it.
    pub without: &'static str,
}

/// The version of git-ralph and of its platform: `git ralph version --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Versions {
    /// The version of git-ralph.
    pub version: &'static str,
    /// The operating system that this program was built for, such as linux or macos.
    pub os: &'static str,
    /// The processor that it was built for, such as `x86_64` or aarch64.
    pub arch: &'static str,
    /// The version of git, in its own words; absent if it is missing.
    pub git: Option<String>,
    /// The oldest version of git that a loop works with.
    pub oldest_git: String,
}

/// Returns the versions; needs no repository.
pub async fn versions(dir: &Path) -> Versions {
    Versions {
        version: env!("CARGO_PKG_VERSION"),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        git: version_of("git".to_owned(), dir.to_owned()).await,
        oldest_git: format!("{}.{}", OLDEST.0, OLDEST.1),
    }
}

/// Returns the version of git, in its own words, and notes a problem if it is missing or too old.
pub(super) async fn examine(dir: &Path, notes: &mut Notes) -> Option<String> {
    let git = version_of("git".to_owned(), dir.to_owned()).await;
    if git
        .as_deref()
        .and_then(numbers)
        .is_none_or(|found| found < OLDEST)
    {
        let (major, minor) = OLDEST;
        notes.problem(
            format!("git is {}", git.as_deref().unwrap_or("missing")),
            format!("install git {major}.{minor} or newer"),
        );
    }
    git
}

/// Returns the features of this version of git.
pub(super) fn features(version: Option<&str>) -> Vec<Feature> {
    let found = version.and_then(numbers);
    FEATURES
        .iter()
        .map(|(since, name, used_for, without)| Feature {
            name,
            since: format!("{}.{}", since.0, since.1),
            available: found.map(|found| found >= *since),
            used_for,
            without,
        })
        .collect()
}

/// Returns the first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let from = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[from..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_git_is_read() {
        assert_eq!(numbers("git version 2.47.3"), Some((2, 47)));
        assert_eq!(numbers("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(numbers("git version 3.0.rc0"), Some((3, 0)));
        assert_eq!(numbers("git"), None);
    }

    #[test]
    fn features_depend_on_the_version() {
        let has = |version| {
            features(Some(version))
                .iter()
                .filter(|feature| feature.available == Some(true))
                .count()
        };
        assert_eq!(
            ["git version 2.35.1", "git version 2.39.5", "git version 2.54.0"].map(has),
            [0, 2, 4]
        );
        assert!(features(None).iter().all(|feature| feature.available.is_none()));
    }
}
