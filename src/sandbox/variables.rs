//! Decides which environment variables a process in the sandbox sees: those that programs usually need, except for
//! variables that contain keys or lead outside.

use super::patterns::{hidden, matches, shown};

/// The names of the visible variables.
const VARIABLES: &str = include_str!("variables.txt");

/// Returns whether a variable is hidden from a process; `own` are the prefixes of the process's own variables.
pub(super) fn is_hidden(name: &str, value: &str, own: &[&str]) -> bool {
    // The loop's own variables name files that the process may read.
    if name.starts_with("GIT_RALPH_") {
        return false;
    }
    // Settings can be keys; an attempt gets its own ones.
    let settings = [
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_",
        "GIT_CONFIG_VALUE_",
        "GIT_CONFIG_PARAMETERS",
    ];
    if settings.iter().any(|beginning| name.starts_with(beginning)) {
        return true;
    }
    if own.iter().any(|beginning| name.starts_with(beginning)) {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    let is_one = |pattern: &str| matches(pattern, &upper);
    !shown(VARIABLES).any(is_one)
        || hidden(VARIABLES).any(is_one)
        // Without its proxy an agent cannot reach its service.
        || !upper.ends_with("_PROXY") && names_a_user(value)
}

/// Returns whether a text contains a URL with a user name, and thus perhaps a password.
fn names_a_user(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        host.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hidden_but_for_an_agents_own() {
        for (name, own, wanted) in [
            ("GITHUB_TOKEN", &[][..], true),
            ("npm_config__authToken", &[], true),
            ("AWS_PROFILE", &[], true),
            ("SSH_AUTH_SOCK", &[], true),
            ("MY_DEPLOY_KEY", &[], true),
            ("PGPASSWORD", &[], true),
            ("GITHUB_ENV", &[], true),
            ("PATH", &[], false),
            ("HOME", &[], false),
            ("LANG", &[], false),
            ("KEYBOARD", &[], true),
            ("npm_config_cache", &[], false),
            ("GIT_AUTHOR_NAME", &[], false),
            ("GIT_CONFIG_GLOBAL", &[], false),
            ("GIT_CONFIG_VALUE_0", &[], true),
            ("CARGO_TARGET_DIR", &[], false),
            ("GOOGLE_APPLICATION", &[], true),
            ("MY_SERVICE", &[], true),
            ("PWD", &[], false),
            ("CI", &[], false),
            ("RALPH_CHANGE", &[], false),
            ("RALPH_SECRET", &[], true),
            ("DB_PASS", &[], true),
            ("SENTRY_DSN", &[], true),
            ("PGPASSFILE", &[], true),
            ("CI_JOB_JWT", &[], true),
            ("TF_VAR_db", &[], true),
            ("GIT_RALPH_RUN", &[], false),
            ("ANTHROPIC_API_KEY", &[], true),
            ("ANTHROPIC_API_KEY", &["ANTHROPIC_"], false),
            ("OPENAI_API_KEY", &["ANTHROPIC_"], true),
        ] {
            assert_eq!(is_hidden(name, "x", own), wanted, "{name} {own:?}");
        }
        for (name, value, wanted) in [
            ("DATABASE_URL", "postgres://me:secret@host/db", true),
            ("REDIS_URL", "redis://:secret@host", true),
            ("GOPROXY", "https://me:secret@host", true),
            ("GOPROXY", "https://host/db?mail=a@b", false),
            ("GIT_AUTHOR_EMAIL", "me@example.org", false),
            ("https_proxy", "http://me:secret@proxy:3128", false),
        ] {
            assert_eq!(is_hidden(name, value, &[]), wanted, "{name}={value}");
        }
    }
}
