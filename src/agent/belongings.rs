//! Lists what the agents that are known by name need in a box: the rows of their presets.
//!
//! Taken from what each reads and writes in the home directory when it runs as its preset runs it (strace(1)), and from
//! where it keeps its sign-in; those that could not be run (`tried` in their presets), from their manuals. Settings can
//! only be read, because they can hold commands that the agent would run for the user later. A file that the agent
//! replaces by another one (rename(2)) cannot be shared with it: it gets a copy, and its sign-in is brought back.

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
                "session-env",
                "shell-snapshots",
                "statsig",
                "tasks",
                "telemetry",
                "todos",
            ],
            // The keys by which it reaches the user's other sessions are among them.
            hidden: &["sessions"],
            ..Directory::read(".claude")
        }),
        Place::Copied(".claude.json"),
        Place::Read(".local/share/claude"),
    ],
    variables: &["ANTHROPIC_", "CLAUDE_"],
    // Otherwise it does not work without asking where it is run by root.
    told: &[("IS_SANDBOX", "1")],
    ..Belongings::NONE
};

pub(super) const CODEX: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("CODEX_HOME"),
        written: &[
            ".tmp",
            "history.jsonl",
            "log",
            "sessions",
            "shell_snapshots",
            "tmp",
            "version.json",
        ],
        returned: &["auth.json"],
        copied: &["installation_id"],
        hidden: &["*.sqlite", "*.sqlite-shm", "*.sqlite-wal", "thread-writer-locks"],
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
            "history",
            "oauth_creds.json",
            "tmp",
        ],
        copied: &["installation_id", "projects.json", "state.json"],
        ..Directory::read(".gemini")
    })],
    variables: &["GEMINI_", "GOOGLE_"],
    ..Belongings::NONE
};

pub(super) const OPENCODE: Belongings = Belongings {
    places: &[
        Place::Written(".local/share/opencode"),
        Place::Written(".local/state/opencode"),
        // It installs what its plugins need there, and ends where it cannot.
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
        written: &["debug", "projects", "tmp", "todos", "usage"],
        returned: &["oauth_creds.json"],
        copied: &["installation_id", "output-language.md", "usage_record.jsonl"],
        // It sets the mode of this directory, and ends where it cannot.
        hidden: &["extension-store"],
        ..Directory::read(".qwen")
    })],
    variables: &["DASHSCOPE_", "OPENAI_", "QWEN_"],
    ..Belongings::NONE
};

pub(super) const PI: Belongings = Belongings {
    places: &[Place::Directory(Directory {
        variable: Some("PI_CODING_AGENT_DIR"),
        written: &["auth.json", "sessions"],
        copied: &["models-store.json"],
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
        Place::Written(".local/share/amp"),
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
        // It replaces the file with its sign-in.
        Place::Written(".cline/data/settings"),
        Place::Read(".cline/data/settings/cline_mcp_settings.json"),
    ],
    variables: &["CLINE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_"],
    // Otherwise it asks its daemon outside the box to do the work, if one runs.
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
            written: &["chats", "projects"],
            copied: &["cli-config.json"],
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
        Place::Written(".local/share/goose"),
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
        // With the token of its server the work could be done outside.
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
        Place::Written(".local/share/kiro-cli"),
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
        Place::Written(".local/share/crush"),
    ],
    variables: &["CRUSH_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_"],
    ..Belongings::NONE
};
