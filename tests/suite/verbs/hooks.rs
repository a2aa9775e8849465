//! `git ralph hooks`: into settings of agents and repositories and out again, what git's hooks note, and what they refuse.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::print::files;
use crate::support::{Cmd, Sandbox};

pub fn home(sandbox: &Sandbox, path: &str) -> PathBuf {
    sandbox.outside("home").join(path)
}

pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn hooks(sandbox: &Sandbox, words: &str) -> Cmd {
    let words: Vec<&str> = ["hooks"].into_iter().chain(words.split_whitespace()).collect();
    sandbox.direct(&words).dir(&sandbox.outside("home"))
}

const FILES: [(&str, &str, &str); 4] = [
    ("claude", ".claude/settings.json", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
];

#[test]
fn settings_are_printed() {
    let sandbox = Sandbox::empty();
    for (agent, events, timeout) in [
        ("claude", &["Stop", "StopFailure", "SessionEnd"][..], 3600),
        ("codex", &["Stop"], 3600),
        ("gemini", &["AfterAgent"], 3_600_000),
        ("qwen", &["Stop"], 3_600_000),
    ] {
        let output = hooks(&sandbox, &format!("print {agent}")).run().exits(0);
        let settings = output.json();
        let found: Vec<&String> = settings["hooks"].as_object().unwrap().keys().collect();
        assert_eq!(found.len(), events.len(), "{agent}");
        for event in events {
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!(
                (&hook["type"], &hook["timeout"]),
                (&"command".into(), &timeout.into())
            );
            assert!(hook["command"].as_str().unwrap().starts_with("git ralph hook "));
        }
        assert_eq!(output.stderr.contains("trust"), agent == "codex");
    }
    hooks(&sandbox, "print aider").run().exits(2);
    assert_eq!(fs::read_dir(sandbox.outside("home")).unwrap().count(), 0);
}

#[test]
fn settings_of_a_user_come_back_byte_for_byte() {
    for (agent, file, _) in FILES {
        let sandbox = Sandbox::empty();
        let path = home(&sandbox, file);
        for text in [
            None,
            Some("{}"),
            Some(
                "{\n  // mine\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": [] } ]\n  }\n}\n",
            ),
            Some("\u{feff}{\r\n\t\"z\": [1,2],\r\n\t\"a\": {}\r\n}"),
            Some("{\"a\":1,\"hooks\":{}}"),
        ] {
            match text {
                Some(text) => put(&path, text),
                None => drop(fs::remove_file(&path)),
            }
            let mode = || path.metadata().map(|metadata| metadata.mode()).ok();
            if text.is_some() {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            }
            let before = mode();
            let output = hooks(&sandbox, &format!("install --agent {agent}"))
                .run()
                .exits(0);
            assert!(
                output.stdout.contains("added") && output.stdout.contains(file),
                "{}",
                output.stdout
            );
            let installed = fs::read_to_string(&path).unwrap();
            assert!(installed.contains("git ralph hook stop"));
            assert!(before.is_none() || mode() == before);
            hooks(&sandbox, &format!("install --agent {agent}"))
                .run()
                .exits(0)
                .says("unchanged")
                .answers_nothing();
            assert_eq!(fs::read_to_string(&path).unwrap(), installed);
            let status = hooks(&sandbox, "status").run().exits(0).stdout;
            assert!(status.contains(&format!("{agent}: installed")), "{status}");
            hooks(&sandbox, &format!("uninstall --agent {agent}"))
                .run()
                .exits(0);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), text, "{agent}");
            assert!(before.is_none() || mode() == before);
            hooks(&sandbox, &format!("uninstall --agent {agent}"))
                .run()
                .exits(0)
                .answers_nothing();
        }
        assert!(!sandbox.outside("state").join("git-ralph").exists());
        hooks(&sandbox, "status").run().exits(0).answers_nothing();
    }
}

#[test]
fn install_changes_settings_behind_links_and_in_named_directories() {
    let sandbox = Sandbox::empty();
    let real = sandbox.outside("dotfiles/claude.json");
    put(&real, "{\n    \"a\": 1\n}\n");
    fs::create_dir(home(&sandbox, ".claude")).unwrap();
    symlink(&real, home(&sandbox, ".claude/settings.json")).unwrap();
    hooks(&sandbox, "install --agent claude").run().exits(0);
    assert!(home(&sandbox, ".claude/settings.json").is_symlink());
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .contains("\n        \"Stop\": [")
    );
    hooks(&sandbox, "uninstall --agent claude").run().exits(0);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n    \"a\": 1\n}\n");
    for (agent, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
    ] {
        let dir = sandbox.outside("elsewhere").join(agent);
        hooks(&sandbox, &format!("install --agent {agent}"))
            .env(variable, &dir)
            .run()
            .exits(0);
        assert!(dir.join(file).exists());
        hooks(&sandbox, &format!("uninstall --agent {agent}"))
            .env(variable, &dir)
            .run()
            .exits(0);
        assert!(!dir.exists());
    }
}

#[test]
fn install_warns_of_project_settings_that_git_does_not_ignore() {
    let sandbox = Sandbox::new();
    for (agent, _, file) in FILES {
        let install = |ignored: bool| {
            let output = sandbox
                .ralph(&["hooks", "install", "--agent", agent, "--project"])
                .exits(0);
            assert_eq!(
                output.stderr.contains("not ignored"),
                !ignored,
                "{}",
                output.stderr
            );
            assert!(sandbox.read(file).contains("git ralph hook stop"));
            sandbox
                .ralph(&["hooks", "uninstall", "--agent", agent, "--project"])
                .exits(0);
            assert!(!sandbox.top.join(file).exists());
        };
        install(false);
        sandbox.write(".git/info/exclude", &format!("{file}\n"));
        install(true);
    }
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    sandbox.ralph(&["hooks", "install", "--project"]).exits(2);
    let pipe = sandbox.top.join(".claude/settings.local.json");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    sandbox.cmd("mkfifo").args([&pipe]).run().exits(0);
    sandbox
        .ralph(&["hooks", "install", "--agent", "claude", "--project"])
        .exits(1)
        .says("settings.local.json: it is no regular file\n");
}

#[test]
fn invalid_settings_stay_unchanged() {
    let sandbox = Sandbox::empty();
    let path = home(&sandbox, ".claude/settings.json");
    for (text, why) in [
        ("{\"a\": ", "not JSON"),
        ("[]", "not a JSON object"),
        ("{\"hooks\": {\"Stop\": \"x\"}}", "hooks.Stop is not a list"),
    ] {
        put(&path, text);
        let before = files(&sandbox.outside("home"));
        for action in ["install", "uninstall"] {
            if action == "uninstall" && text == "[]" {
                continue;
            }
            hooks(&sandbox, &format!("{action} --agent claude"))
                .run()
                .exits(1)
                .says(why)
                .says("settings.json")
                .answers_nothing();
        }
        assert_eq!(files(&sandbox.outside("home")), before);
    }
    fs::write(&path, [b'{', 0xff, b'}']).unwrap();
    hooks(&sandbox, "install --agent claude")
        .run()
        .exits(1)
        .says("UTF-8");
    put(&path, "{}\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    hooks(&sandbox, "install --agent claude")
        .run()
        .exits(1)
        .says("cannot write");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    assert!(!sandbox.outside("state").join("git-ralph").exists());
}
