//! The flat format of state files up to version 3: `[running]` for the running attempt, all other keys top-level.

use toml::{Table, Value};

use super::VERSION;

/// The keys that are in `[here]` since version 4.
const HERE: [&str; 15] = [
    "worktree",
    "linked",
    "moved_head",
    "before",
    "session",
    "prompted",
    "waits_until",
    "waits_for",
    "closed",
    "stopped",
    "awaiting_choice",
    "noted",
    "save_points",
    "gate_files",
    "restored",
];

/// Converts a flat state to the format in parts.
pub(super) fn in_parts(mut flat: Table) -> Table {
    let mut here = taken(&mut flat, &HERE);
    if let Some(Value::Table(settings)) = flat.get_mut("settings") {
        let commands = taken(settings, &["agent", "verify", "unproven"]);
        here.insert("commands".to_owned(), commands.into());
    }
    if let Some(Value::Table(before)) = here.get_mut("before") {
        flat.extend(taken(before, &["initial"]));
    }
    let mut state = taken(&mut flat, &["change", "intent"]);
    if let Some(Value::Table(mut running)) = flat.remove("running") {
        running.insert("n".to_owned(), Value::Integer(1));
        state.insert("slots".to_owned(), vec![running].into());
    }
    state.insert("version".to_owned(), Value::Integer(VERSION.into()));
    state.insert("loop".to_owned(), flat.into());
    state.insert("here".to_owned(), here.into());
    state
}

/// Converts a flat state from a remote to the format in parts: it has only the programs of its gates.
pub(super) fn from_elsewhere(mut flat: Table) -> Table {
    if let Some(Value::Table(settings)) = flat.get_mut("settings")
        && let Some(gates) = settings.remove("verify")
    {
        settings.insert("gates".to_owned(), gates);
    }
    in_parts(flat)
}

/// Removes these keys from a table, and returns them.
fn taken(table: &mut Table, keys: &[&str]) -> Table {
    let entries = keys.iter().filter_map(|key| table.remove_entry(*key));
    entries.collect()
}
#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::is_default;
    use crate::state::{State, StateError, VERSION};

    /// A state with every key that the versions up to 3 write.
    const FLAT: &str = include_str!("samples/flat.toml");

    /// The same state in parts.
    const IN_PARTS: &str = include_str!("samples/in-parts.toml");

    fn read(text: &str) -> Result<State, StateError> {
        State::parse(text, Path::new("c.toml"))
    }

    #[test]
    fn a_flat_state_is_read_whole() {
        assert_eq!(read(FLAT).unwrap().text().unwrap(), IN_PARTS);
        assert_eq!(read(IN_PARTS).unwrap(), read(FLAT).unwrap());
        for version in ["version = 1", "version = 2"] {
            let text = FLAT.replace("version = 3", version);
            assert_eq!(read(&text).unwrap().version, VERSION);
        }
    }

    #[test]
    fn a_damaged_flat_state_is_not_read() {
        for (what, damage, wanted) in [
            ("checkpoint = ", "no = ", "missing field `checkpoint`"),
            ("worktree = ", "no = ", "missing field `worktree`"),
            ("initial = ", "no = ", "missing field `initial`"),
            ("[source]", "[no]", "missing field `source`"),
            ("[running]\nrun = ", "[running]\nno = ", "missing field `run`"),
            ("trash = \"1.1\"", "trash = \"../1\"", "restore names a place"),
            ("version = 3", "version = 5", "newer git-ralph (version 5"),
            (
                "version = 3",
                "version = 0",
                "damaged: no git-ralph writes version 0",
            ),
        ] {
            let error = read(&FLAT.replacen(what, damage, 1)).unwrap_err().to_string();
            assert!(error.contains(wanted), "{what}: {error}");
        }
    }

    #[test]
    fn flat_state_brings_nothing_of_another_machine() {
        let here = read(FLAT).unwrap();
        let travelling = here.common.clone().text(&here.change).unwrap();
        assert!(
            !travelling.contains("[here") && !travelling.contains("slots") && !travelling.contains("intent")
        );
        let came = State::from_elsewhere(&travelling).unwrap();
        for text in [FLAT, IN_PARTS] {
            let mut other = State::from_elsewhere(text).unwrap();
            let gates = std::mem::take(&mut other.common.settings.gates);
            assert_eq!(gates.is_empty(), text == IN_PARTS);
            assert_eq!(other, came);
        }
        assert_eq!(came.common, here.common);
        assert_eq!(came.here.worktree.to_string(), "");
        assert_eq!(came.here.before.snapshot, came.common.initial);
        assert!(came.here.session.is_none() && is_default(&came.here.commands) && came.is_at_rest());
    }
}
