//! Lists the files and variables that the agents known by name need in a sandbox: the rows of their presets.
//!
//! Sources: the files that each agent reads and writes in the home directory when it runs as its preset runs it
//! (strace(1)), and the place of its sign-in; for agents that could not be run (`tried` in their presets), their
//! manuals. Settings are read-only, because they can contain commands that the agent would run for the user later. A
//! file that the agent replaces (rename(2)) cannot be shared with it: it gets a copy, and its sign-in is copied back.

use crate::sandbox::{Belongings, Directory, Place};

pub(super) const CLAUDE: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            variable: Some("CLAUDE_CONFIG_DIR"),
            written: &[
                ".credentials.json",
                "debug",
                "file-history",
                "history.jsonl",
                "paste-cache",
                "plans",
                "projects",
                "statsig",
                "tasks",
                "telemetry",
                "todos",
            ],
            // The keys to the user's other sessions, and files that these source before a command.
            hidden: &["session-env", "sessions", "shell-snapshots"],
            ..Directory::read(".claude")
        }),
        Place::Copied(".claude.json"),
        Place::Read(".local/share/claude"),
    ],
    variables: &["ANTHROPIC_", "CLAUDE_"],
    // Without this variable, the agent asks for permissions if root runs it.
    told: &[("IS_SANDBOX", "1")],
    ..Belongings::NONE
};

pub(super) const CODEX: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("CODEX_HOME"),
        written: &["history.jsonl", "log", "sessions", "version.json"],
        returned: &["auth.json"],
        copied: &["installation_id"],
        // The user's other sessions have programs in some of these.
        hidden: &[
            "*.sqlite",
            "*.sqlite-shm",
            "*.sqlite-wal",
            ".tmp",
            "shell_snapshots",
            "thread-writer-locks",
            "tmp",
        ],
        ..Directory::read(".codex")
    })],
    variables: &["CODEX_", "OPENAI_"],
    own_sandbox: Some((
        &["-s", "workspace-write"],
        "--dangerously-bypass-approvals-and-sandbox",
    )),
    ..Belongings::NONE
};

pub(super) const GEMINI: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        written: &[
            "gemini-credentials.json",
            "google_accounts.json",
            "oauth_creds.json",
        ],
        copied: &["installation_id", "projects.json", "state.json"],
        // The agent runs git in the repositories of `history`, and a program from `tmp`.
        hidden: &["history", "tmp"],
        ..Directory::read(".gemini")
    })],
    variables: &["GEMINI_", "GOOGLE_"],
    ..Belongings::NONE
};

pub(super) const OPENCODE: Belongings = Belongings {
    places: &[
        // A sign-in can name a server whose settings contain commands, and the agent runs git in its snapshots.
        Place::Directory(Directory {
            written: &["log", "storage"],
            copied: &["auth.json"],
            hidden: &["opencode*", "repos", "snapshot"],
            ..Directory::read(".local/share/opencode")
        }),
        Place::Written(".local/state/opencode"),
        // The agent installs dependencies of its plugins there, and exits if it cannot.
        Place::Directory(Directory::read(".config/opencode")),
        Place::Read(".opencode/bin"),
    ],
    variables: &["OPENCODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_"],
    ..Belongings::NONE
};

pub(super) const COPILOT: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("COPILOT_HOME"),
        written: &["history-session-state", "logs", "session-state"],
        hidden: &["session-store*", "settings.json.lock"],
        ..Directory::read(".copilot")
    })],
    variables: &["COPILOT_", "GH_TOKEN", "GITHUB_TOKEN"],
    ..Belongings::NONE
};

pub(super) const QWEN: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("QWEN_HOME"),
        written: &["debug", "projects", "todos", "usage"],
        returned: &["oauth_creds.json"],
        copied: &["installation_id", "output-language.md", "usage_record.jsonl"],
        // The agent sets the mode of `extension-store`, and exits if it cannot; `tmp` can contain programs.
        hidden: &["extension-store", "tmp"],
        ..Directory::read(".qwen")
    })],
    variables: &["DASHSCOPE_", "OPENAI_", "QWEN_"],
    ..Belongings::NONE
};

pub(super) const PI: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("PI_CODING_AGENT_DIR"),
        written: &["sessions"],
        // A key in these files can be a command.
        copied: &["auth.json", "models-store.json"],
        ..Directory::read(".pi/agent")
    })],
    variables: &["PI_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "OPENROUTER_"],
    ..Belongings::NONE
};

pub(super) const AIDER: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            written: &["caches"],
            copied: &["analytics.json", "installs.json"],
            ..Directory::read(".aider")
        }),
        Place::Read(".aider.conf.yml"),
        Place::Read(".aider.model.metadata.json"),
        Place::Read(".aider.model.settings.yml"),
    ],
    variables: &[
        "AIDER_",
        "ANTHROPIC_",
        "OPENAI_",
        "GEMINI_",
        "DEEPSEEK_",
        "OPENROUTER_",
    ],
    ..Belongings::NONE
};

pub(super) const AMP: Belongings = Belongings {
    places: &[
        Place::Directory(Directory::read(".config/amp")),
        Place::Directory(Directory {
            written: &["history.jsonl", "threads"],
            copied: &["device-id.json", "secrets.json", "session.json"],
            ..Directory::read(".local/share/amp")
        }),
    ],
    variables: &["AMP_"],
    ..Belongings::NONE
};

pub(super) const DROID: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        written: &["logs", "sessions"],
        returned: &["auth*"],
        copied: &["host.json"],
        hidden: &["cache", "certs", "state", "telemetry", "temp"],
        ..Directory::read(".factory")
    })],
    variables: &["FACTORY_"],
    ..Belongings::NONE
};

pub(super) const CLINE: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            variable: Some("CLINE_DIR"),
            written: &["data", "log", "logs"],
            ..Directory::read(".cline")
        }),
        Place::Directory(Directory {
            variable: Some("CLINE_DATA_DIR"),
            written: &["cache", "logs", "sessions", "tasks"],
            hidden: &["db", "locks"],
            ..Directory::read(".cline/data")
        }),
        // The agent replaces the file with its sign-in; the commands of servers are in another file.
        Place::Directory(Directory {
            returned: &["*"],
            hidden: &["cline_mcp_settings.json"],
            ..Directory::read(".cline/data/settings")
        }),
    ],
    variables: &["CLINE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_"],
    // Without this variable, the agent asks its daemon outside the sandbox to do the work, if one runs.
    told: &[("CLINE_SESSION_BACKEND_MODE", "local")],
    ..Belongings::NONE
};

pub(super) const VIBE: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("VIBE_HOME"),
        written: &["logs", "vibehistory"],
        copied: &["trusted_folders.toml"],
        ..Directory::read(".vibe")
    })],
    variables: &["MISTRAL_", "VIBE_"],
    ..Belongings::NONE
};

pub(super) const CN: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("CONTINUE_GLOBAL_DIR"),
        written: &["auth.json", "index", "logs", "sessions"],
        copied: &["permissions.yaml"],
        ..Directory::read(".continue")
    })],
    variables: &["CONTINUE_", "ANTHROPIC_", "OPENAI_"],
    ..Belongings::NONE
};

pub(super) const AUGGIE: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        written: &["session.json", "sessions"],
        copied: &[".auggie.json"],
        ..Directory::read(".augment")
    })],
    variables: &["AUGMENT_"],
    ..Belongings::NONE
};

pub(super) const CURSOR_AGENT: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            written: &["chats"],
            copied: &["cli-config.json"],
            // The user's trust settings for each project.
            hidden: &["projects"],
            ..Directory::read(".cursor")
        }),
        Place::Directory(Directory {
            returned: &["auth.json"],
            ..Directory::read(".config/cursor")
        }),
        Place::Read(".local/share/cursor-agent"),
    ],
    variables: &["CURSOR_"],
    ..Belongings::NONE
};

pub(super) const GOOSE: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            copied: &["config.yaml", "permission.yaml"],
            ..Directory::read(".config/goose")
        }),
        Place::Directory(Directory {
            copied: &["projects.json"],
            hidden: &["sessions"],
            ..Directory::read(".local/share/goose")
        }),
        Place::Written(".local/state/goose"),
    ],
    variables: &["GOOSE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GOOGLE_"],
    ..Belongings::NONE
};

pub(super) const KIMI: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("KIMI_CODE_HOME"),
        written: &["credentials", "logs", "sessions", "telemetry"],
        copied: &["device_id", "session_index.jsonl", "workspaces.json"],
        // With the token of its server, the agent could work outside the sandbox.
        hidden: &["cache", "search-index", "server", "server.token", "updates"],
        ..Directory::read(".kimi-code")
    })],
    variables: &["KIMI_", "MOONSHOT_"],
    ..Belongings::NONE
};

pub(super) const KIRO_CLI: Belongings = Belongings {
    places: &[
        Place::Directory(Directory {
            written: &["sessions"],
            ..Directory::read(".kiro")
        }),
        // The user's shell may source a file in this directory.
        Place::Directory(Directory {
            copied: &["data.sqlite3*"],
            ..Directory::read(".local/share/kiro-cli")
        }),
    ],
    variables: &["KIRO_"],
    ..Belongings::NONE
};

pub(super) const OPENHANDS: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("OPENHANDS_PERSISTENCE_DIR"),
        written: &["conversations", "sessions"],
        ..Directory::read(".openhands")
    })],
    variables: &["LLM_", "OPENHANDS_"],
    ..Belongings::NONE
};

pub(super) const CRUSH: Belongings = Belongings {
    places: &[
        Place::Directory(Directory::read(".config/crush")),
        // These settings can contain commands.
        Place::Directory(Directory {
            copied: &["*.json"],
            ..Directory::read(".local/share/crush")
        }),
    ],
    variables: &["CRUSH_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_"],
    ..Belongings::NONE
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::presets::ALL;

    #[test]
    fn no_agent_writes_all_of_its_data() {
        for preset in ALL {
            for place in preset.belongings.places {
                if let Place::Written(path) = place {
                    assert!(!path.starts_with(".local/share/"), "{}: {path}", preset.name);
                }
            }
        }
    }

    #[test]
    fn what_other_sessions_run_is_not_written() {
        for (belongings, name) in [
            (CLAUDE, "shell-snapshots"),
            (CODEX, "tmp"),
            (GEMINI, "tmp"),
            (OPENCODE, "snapshot"),
            (QWEN, "tmp"),
            (CLINE, "cline_mcp_settings.json"),
        ] {
            let hides =
                |place: &Place| matches!(place, Place::Directory(found) if found.hidden.contains(&name));
            assert!(belongings.places.iter().any(hides), "{name}");
        }
        for (belongings, name) in [(PI, "auth.json"), (OPENCODE, "auth.json"), (CRUSH, "*.json")] {
            let copies =
                |place: &Place| matches!(place, Place::Directory(found) if found.copied.contains(&name));
            assert!(belongings.places.iter().any(copies), "{name}");
        }
    }
}
