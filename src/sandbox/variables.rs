//! Which variables of the environment a process in the box does not see: those that hold keys, and those that lead to
//! what is outside.

/// Parts of the names of variables that hold keys.
const KEYS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "PASSFILE",
    "SSHPASS",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "JWT",
    "WEBHOOK",
];

/// The ends of such names.
const ENDS: &[&str] = &["_KEY", "_PAT", "_AUTH", "_PWD", "_PASS", "_PW", "_SK", "_DSN"];

/// The beginnings of names that hold keys of a service, or lead to one.
const BEGINNINGS: &[&str] = &[
    "AWS_",
    "AZURE_",
    "ARM_",
    "GOOGLE_",
    "GCLOUD_",
    "CLOUDSDK_",
    "GCP_",
    "KUBE",
    "DOCKER_",
    "GPG_",
    "SSH_",
    "VAULT_",
    "TF_VAR_",
    "ACTIONS_",
    "RUNNER_",
    "DBUS_",
    "SYSTEMD_",
];

/// Names that hold keys, or lead to some, to a screen, to the user, or to the next steps of a CI job.
const NAMES: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
    "TMUX",
    "STY",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "NPM_CONFIG_USERCONFIG",
    "DSN",
    "PASS",
    "PIN",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_OUTPUT",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "NETRC",
];

/// Returns whether a process does not see a variable; `own` are the beginnings of the names of its own.
pub(super) fn is_hidden(name: &str, value: &str, own: &[&str]) -> bool {
    // Those of the loop itself lead to files that it may read.
    if name.starts_with("GIT_RALPH_") || name.starts_with("GIT_CONFIG_") {
        return false;
    }
    if own.iter().any(|beginning| name.starts_with(beginning)) {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    KEYS.iter().any(|part| upper.contains(part))
        || ENDS.iter().any(|end| upper.ends_with(end))
        || BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning))
        || NAMES.contains(&upper.as_str())
        // Without its proxy an agent reaches no service.
        || !upper.ends_with("_PROXY") && names_a_user(value)
}

/// Returns whether a text has an address with the name of a user in it, and so perhaps a password.
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
            ("KEYBOARD", &[], false),
            ("PWD", &[], false),
            ("CI", &[], false),
            ("RALPH_CHANGE", &[], false),
            ("RALPH_SECRET", &[], true),
            ("DB_PASS", &[], true),
            ("SENTRY_DSN", &[], true),
            ("PGPASSFILE", &[], true),
            ("CI_JOB_JWT", &[], true),
            ("TF_VAR_db", &[], true),
            ("COMPASS", &[], false),
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
            ("DATABASE_URL", "postgres://host/db?mail=a@b", false),
            ("MAIL", "me@example.org", false),
            ("https_proxy", "http://me:secret@proxy:3128", false),
        ] {
            assert_eq!(is_hidden(name, value, &[]), wanted, "{name}={value}");
        }
    }
}
