//! The state as text: the file of a loop, and the part that travels.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::{Before, Common, Here, LAST_FLAT, State, StateError, VERSION, flat};
use crate::names::Change;
use crate::paths::WorkTreePath;

/// The version alone, which is read first: a newer file may have any other format.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// The part of a state that travels.
#[derive(Serialize, Deserialize)]
struct Travelling {
    version: u32,
    change: Change,
    #[serde(rename = "loop")]
    common: Common,
}

impl State {
    /// Returns the state as it is written to the loop's file.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Parses the text of the loop's file at this path.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, StateError> {
        let state: Self = parse(text, path, flat::in_parts)?;
        match state.intent.as_ref().filter(|intent| !intent.stays_inside()) {
            Some(intent) => Err(StateError::Damaged {
                path: path.to_owned(),
                why: format!("{} names a place that is not the loop's", intent.step()),
            }),
            None => Ok(state),
        }
    }

    /// Parses the text of a state that another machine wrote, without any part of this machine.
    pub fn from_elsewhere(text: &str) -> Result<Self, String> {
        let path = Path::new("state.toml");
        let came: Travelling = parse(text, path, flat::from_elsewhere).map_err(|error| error.to_string())?;
        let before = Before::nothing_beside(came.common.initial.clone());
        let here = Here::new(WorkTreePath::new(Path::new("")), before);
        Ok(Self::new(came.change, came.common, here))
    }
}

impl Common {
    /// Returns the text about the loop of this change that a remote gets.
    pub fn text(self, change: &Change) -> Result<String, toml::ser::Error> {
        toml::to_string(&Travelling {
            version: VERSION,
            change: change.clone(),
            common: self,
        })
    }
}

/// Parses a text of this version, or of an earlier one by means of `in_parts`.
fn parse<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    in_parts: fn(Table) -> Table,
) -> Result<T, StateError> {
    let damaged = |error: toml::de::Error| StateError::Damaged {
        path: path.to_owned(),
        why: error.to_string().trim().to_owned(),
    };
    let version = toml::from_str::<VersionOnly>(text).map_err(damaged)?.version;
    if version == 0 {
        return Err(StateError::Damaged {
            path: path.to_owned(),
            why: "no git-ralph writes version 0".to_owned(),
        });
    }
    if version > VERSION {
        return Err(StateError::Newer {
            path: path.to_owned(),
            found: version,
        });
    }
    if version > LAST_FLAT {
        return toml::from_str(text).map_err(damaged);
    }
    let flat: Table = toml::from_str(text).map_err(damaged)?;
    in_parts(flat).try_into().map_err(damaged)
}
