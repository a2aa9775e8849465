//! Decides which variables of the environment a process in the box sees: those that programs usually need, but for those among them
//! that hold keys, and those that lead to what is outside.

/// Names that are seen.
const SEEN: &[&str] = &[
    "API_TIMEOUT_MS",
    "APP_ENV",
    "AR",
    "AS",
    "CC",
    "CFLAGS",
    "CI",
    "COLUMNS",
    "CPATH",
    "CPP",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "DEBIAN_FRONTEND",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "IFS",
    "IS_SANDBOX",
    "LANG",
    "LANGUAGE",
    "LD",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "MANPATH",
    "NO_COLOR",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PWD",
    "RACK_ENV",
    "RAILS_ENV",
    "SHELL",
    "SHLVL",
    "SOURCE_DATE_EPOCH",
    "TZ",
    "TZDIR",
    "USER",
    "VISUAL",
    "_",
];

/// The beginnings of names that are seen: of locales, terminals, certificates, CI, git and toolchains.
const SEEN_BEGINNINGS: &[&str] = &[
    "ANDROID_",
    "ASDF_",
    "BASH_",
    "BAZEL",
    "BUN_",
    "BUNDLE_",
    "CARGO",
    "CCACHE_",
    "CGO_",
    "CI_",
    "CLICOLOR",
    "CMAKE_",
    "COLOR",
    "COMPOSER_",
    "CONDA_",
    "COREPACK_",
    "COVERAGE_",
    "CTEST_",
    "CURL_CA_",
    "DENO_",
    "DISABLE_",
    "DOTNET_",
    "ELIXIR_",
    "ERL_",
    "FNM_",
    "FORCE_COLOR",
    "GEM_",
    "GHC",
    "GITHUB_",
    "GITLAB_",
    "GIT_",
    "GO",
    "GRADLE_",
    "HEX_",
    "HOMEBREW_",
    "JAVA",
    "JDK_",
    "JEST_",
    "KOTLIN_",
    "LC_",
    "LESS",
    "LLVM_",
    "M2_",
    "MAKE",
    "MAVEN_",
    "MCP_",
    "MFLAGS",
    "MISE_",
    "MIX_",
    "MSBUILD",
    "NIX_",
    "NODE_",
    "NPM_",
    "NUGET_",
    "NVM_",
    "OPAM",
    "PERL",
    "PHP",
    "PIP_",
    "PIPX_",
    "PKG_CONFIG",
    "PLAYWRIGHT_",
    "PNPM_",
    "POETRY_",
    "PYENV_",
    "PYTEST_",
    "PYTHON",
    "RALPH_",
    "RBENV_",
    "REQUESTS_CA_",
    "RUBY",
    "RUST",
    "SCCACHE_",
    "SDKMAN_",
    "SSL_CERT_",
    "STACK_",
    "SWIFT",
    "TERM",
    "TOX_",
    "UV_",
    "VIRTUAL_ENV",
    "VITEST",
    "VOLTA_",
    "XDG_",
    "YARN_",
];

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
    if name.starts_with("GIT_RALPH_") {
        return false;
    }
    // Settings can be keys; those of an attempt are set for it.
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
    let is_usual = SEEN.contains(&upper.as_str())
        || upper.ends_with("_PROXY")
        || SEEN_BEGINNINGS
            .iter()
            .any(|beginning| upper.starts_with(beginning));
    !is_usual
        || KEYS.iter().any(|part| upper.contains(part))
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
