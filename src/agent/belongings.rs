//! Lists what the agents that are known by name need in a box: the rows of their presets.
//!
//! Taken from where each keeps its sign-in, its sessions and its settings. Settings can only be read, because they can
//! hold commands that the agent would run for a person later.

use crate::sandbox::{Belongings, Place};

pub(super) const CLAUDE: Belongings = Belongings {
    places: &[
        Place::Directory {
            path: ".claude",
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
        },
        Place::Copied(".claude.json"),
        Place::Read(".local/share/claude"),
    ],
    variables: &["ANTHROPIC_", "CLAUDE_"],
    // Otherwise it does not work without asking where it is run by root.
    told: &[("IS_SANDBOX", "1")],
    own_sandbox: None,
};

pub(super) const CODEX: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".codex",
        variable: Some("CODEX_HOME"),
        written: &[
            "*.sqlite",
            "*.sqlite-shm",
            "*.sqlite-wal",
            "auth.json",
            "history.jsonl",
            "log",
            "sessions",
            "tmp",
            "version.json",
        ],
    }],
    variables: &["CODEX_", "OPENAI_"],
    told: &[],
    own_sandbox: Some((
        &["-s", "workspace-write"],
        "--dangerously-bypass-approvals-and-sandbox",
    )),
};

pub(super) const GEMINI: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".gemini",
        variable: None,
        written: &[
            "google_accounts.json",
            "history",
            "installation_id",
            "oauth_creds.json",
            "projects.json",
            "state.json",
            "tmp",
        ],
    }],
    variables: &["GEMINI_", "GOOGLE_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const OPENCODE: Belongings = Belongings {
    places: &[
        Place::Directory {
            path: ".local/share/opencode",
            variable: None,
            written: &["*"],
        },
        Place::Read(".config/opencode"),
        Place::Read(".opencode/bin"),
    ],
    variables: &["OPENCODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const COPILOT: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".copilot",
        variable: Some("COPILOT_HOME"),
        written: &["history-session-state", "logs", "session-state", "session-store*"],
    }],
    variables: &["COPILOT_", "GH_TOKEN", "GITHUB_TOKEN"],
    told: &[],
    own_sandbox: None,
};

pub(super) const QWEN: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".qwen",
        variable: None,
        written: &["installation_id", "oauth_creds.json", "projects", "tmp", "todos"],
    }],
    variables: &["DASHSCOPE_", "OPENAI_", "QWEN_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const PI: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".pi",
        variable: None,
        written: &["agent"],
    }],
    variables: &["PI_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "OPENROUTER_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const AIDER: Belongings = Belongings {
    places: &[Place::Read(".aider.conf.yml")],
    variables: &[
        "AIDER_",
        "ANTHROPIC_",
        "OPENAI_",
        "GEMINI_",
        "DEEPSEEK_",
        "OPENROUTER_",
    ],
    told: &[],
    own_sandbox: None,
};

pub(super) const AMP: Belongings = Belongings {
    places: &[
        Place::Read(".config/amp"),
        Place::Directory {
            path: ".local/share/amp",
            variable: None,
            written: &["*"],
        },
    ],
    variables: &["AMP_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const DROID: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".factory",
        variable: None,
        written: &["auth*", "logs", "sessions"],
    }],
    variables: &["FACTORY_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const CLINE: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".cline",
        variable: Some("CLINE_DIR"),
        written: &["data", "log", "logs"],
    }],
    variables: &["CLINE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const VIBE: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".vibe",
        variable: Some("VIBE_HOME"),
        written: &["logs", "vibehistory"],
    }],
    variables: &["MISTRAL_", "VIBE_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const CN: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".continue",
        variable: None,
        written: &["auth.json", "index", "logs", "sessions"],
    }],
    variables: &["CONTINUE_", "ANTHROPIC_", "OPENAI_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const AUGGIE: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".augment",
        variable: None,
        written: &["session.json", "sessions"],
    }],
    variables: &["AUGMENT_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const CURSOR_AGENT: Belongings = Belongings {
    places: &[
        Place::Directory {
            path: ".cursor",
            variable: None,
            written: &["chats", "projects"],
        },
        Place::Read(".config/cursor"),
        Place::Read(".local/share/cursor-agent"),
    ],
    variables: &["CURSOR_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const GOOSE: Belongings = Belongings {
    places: &[
        Place::Read(".config/goose"),
        Place::Directory {
            path: ".local/share/goose",
            variable: None,
            written: &["*"],
        },
        Place::Directory {
            path: ".local/state/goose",
            variable: None,
            written: &["*"],
        },
    ],
    variables: &["GOOSE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GOOGLE_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const KIMI: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".kimi",
        variable: None,
        written: &["credentials", "logs", "sessions"],
    }],
    variables: &["KIMI_", "MOONSHOT_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const KIRO_CLI: Belongings = Belongings {
    places: &[
        Place::Read(".kiro"),
        Place::Directory {
            path: ".local/share/kiro-cli",
            variable: None,
            written: &["*"],
        },
    ],
    variables: &["KIRO_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const OPENHANDS: Belongings = Belongings {
    places: &[Place::Directory {
        path: ".openhands",
        variable: None,
        written: &["conversations", "sessions"],
    }],
    variables: &["LLM_", "OPENHANDS_"],
    told: &[],
    own_sandbox: None,
};

pub(super) const CRUSH: Belongings = Belongings {
    places: &[
        Place::Read(".config/crush"),
        Place::Directory {
            path: ".local/share/crush",
            variable: None,
            written: &["*"],
        },
    ],
    variables: &["CRUSH_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_"],
    told: &[],
    own_sandbox: None,
};
