//! The sandbox of the chosen agent (`ralph.box`): whether it works on this machine, and what the agent can access.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::notes::Notes;
use crate::agent::Agent;
use crate::error::advice::Advise;
use crate::fs::seen;
use crate::git::RepoLayout;
use crate::inspect::box_filters::unboxed_filters;
use crate::sandbox::{self, Belongings, Mount, Site};
use crate::settings::{BoxMode, Settings};

/// A tested sandbox.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FoundBox {
    /// The setting.
    pub mode: BoxMode,
    /// The reason why it does not work on this machine; absent if it does.
    pub trouble: Option<String>,
    /// The writable paths.
    pub written: Vec<PathBuf>,
    /// The readable paths in directories that otherwise appear empty.
    pub read: Vec<PathBuf>,
    /// The directories that otherwise appear empty.
    pub empty: Vec<PathBuf>,
    /// The files that are copied, whose changes are discarded afterwards.
    pub copied: Vec<PathBuf>,
    /// The files of git's configuration that are shown without their keys.
    pub without_keys: Vec<PathBuf>,
    /// The names of hidden variables.
    pub hidden: Vec<String>,
}

pub(super) async fn examine(
    top: Option<&Path>,
    agent: Option<&Agent>,
    settings: &Settings,
    notes: &mut Notes,
) -> Option<FoundBox> {
    let top = top?;
    let layout = RepoLayout::of_work_tree(top)?;
    let planned = sandbox::plan(&Site {
        top,
        git_dirs: [&layout.git_dir, &layout.common_dir],
        written: Vec::new(),
        allowed: &settings.boxing.allowed,
        read: None,
        belongings: agent.map_or_else(Belongings::default, |agent| agent.belongings),
    });
    let (walls, tried) = match planned {
        Ok(walls) => {
            let tried = sandbox::attempt(&walls, top).await;
            (Some(walls), tried)
        }
        Err(trouble) => (None, Err(trouble)),
    };
    if let Err(trouble) = &tried {
        let message = format!("attempts cannot run in a box: {trouble}");
        let hint = trouble.advice().hint.unwrap_or_default();
        match settings.boxing.mode {
            BoxMode::Off => {}
            BoxMode::On => notes.advice(message, hint),
            BoxMode::Require | BoxMode::All => notes.problem(message, hint),
        }
    }
    if settings.boxing.mode != BoxMode::Off {
        for filter in unboxed_filters(top).await.unwrap_or_default() {
            notes.advice(filter.message(), filter.hint());
        }
    }
    let mut found = FoundBox {
        mode: settings.boxing.mode,
        trouble: tried.err().map(|trouble| trouble.to_string()),
        ..FoundBox::default()
    };
    for mount in walls.iter().flat_map(|walls| &walls.mounts) {
        match mount {
            Mount::Write(path) | Mount::Returned(path) if seen(path).is_some() => {
                found.written.push(path.clone());
            }
            Mount::Read(path) if seen(path).is_some() => found.read.push(path.clone()),
            Mount::Empty(path) => found.empty.push(path.clone()),
            Mount::Copy(path) => found.copied.push(path.clone()),
            Mount::Text(path, _) => found.without_keys.push(path.clone()),
            Mount::Nothing(_) | Mount::Read(_) | Mount::Write(_) | Mount::Returned(_) => {}
        }
    }
    for paths in [&mut found.written, &mut found.read, &mut found.empty] {
        paths.sort();
        paths.dedup();
    }
    let hidden = walls.iter().flat_map(|walls| &walls.hidden);
    found.hidden = hidden.map(|name| name.to_string_lossy().into_owned()).collect();
    found.hidden.sort();
    Some(found)
}
