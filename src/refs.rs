//! Updates of refs, as data: the lines of a ref transaction, and their form in a written intent.

use serde::{Deserialize, Serialize};

use crate::names::Oid;

/// A ref, and the object that it keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRef {
    /// Full ref name.
    pub name: String,
    /// The object.
    pub oid: Oid,
}

/// One line of a ref transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Moves a ref from `old` (`None`: it must not exist) to `new`.
    Move {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
        /// Expected old value.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<Oid>,
    },
    /// Sets a ref, whatever its value; only for refs that name the latest of their kind, never for kept attempts.
    Set {
        /// Full name.
        name: String,
        /// New value.
        new: Oid,
    },
    /// Deletes a ref that is at `old`.
    Delete {
        /// Full name.
        name: String,
        /// Expected old value.
        old: Oid,
    },
    /// Makes a ref that is at `old` (`None`: it must not exist) a symbolic ref; done after the transaction, which cannot
    /// do that before git 2.46.
    Follow {
        /// Full name.
        name: String,
        /// Full name of its target.
        to: String,
        /// Expected old value.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<Oid>,
    },
}

impl KeptRef {
    pub fn new(name: String, oid: Oid) -> Self {
        Self { name, oid }
    }

    /// Returns a name for a commit that belongs to a kept one: that of the kept ref, with the commit.
    pub fn beside(name: &str, oid: &Oid) -> Self {
        Self {
            name: format!("{name}-{}", oid.short()),
            oid: oid.clone(),
        }
    }
}

impl Update {
    /// Sets a ref, whatever its value.
    pub fn set(name: String, new: Oid) -> Self {
        Self::Set { name, new }
    }

    /// Deletes a ref, if it is still `old`.
    pub fn delete(name: String, old: Oid) -> Self {
        Self::Delete { name, old }
    }

    /// Keeps an object under a new name.
    pub fn keep(kept: &KeptRef) -> Self {
        Self::Move {
            name: kept.name.clone(),
            new: kept.oid.clone(),
            old: None,
        }
    }

    /// Returns the line for `git update-ref --stdin`.
    pub fn line(&self) -> String {
        match self {
            Self::Move { name, new, old } => {
                let old = old.as_ref().map_or_else(|| new.zero_like(), ToString::to_string);
                format!("update {name} {new} {old}\n")
            }
            Self::Set { name, new } => format!("update {name} {new}\n"),
            Self::Delete { name, old } => format!("delete {name} {old}\n"),
            Self::Follow { .. } => String::new(),
        }
    }
}

/// Returns whether the full name of a ref is below that of another one: git cannot store both.
pub fn is_below(name: &str, other: &str) -> bool {
    name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// A ref update of the attempt's own git, recorded by the guard: the full name and the new object.
pub type OwnMove = (String, Oid);

/// Finds names for what is to be kept: the wanted one or, where another object already has that name, the
/// next free one. `at` tells where a ref is. Returns what is to be made, and the names under which everything
/// is kept then.
pub fn free_names(wanted: &[KeptRef], at: impl Fn(&str) -> Option<Oid>) -> (Vec<Update>, Vec<KeptRef>) {
    let mut kept: Vec<KeptRef> = Vec::new();
    let mut updates = Vec::new();
    for KeptRef { name, oid } in wanted {
        let mut name = name.clone();
        let made = loop {
            let same_name = kept.iter().find(|other| other.name == name);
            match same_name.map(|other| other.oid.clone()).or_else(|| at(&name)) {
                Some(there) if there == *oid => break false,
                Some(_) => name = next_name(&name),
                None => break true,
            }
        };
        let found = KeptRef::new(name, oid.clone());
        if made {
            updates.push(Update::keep(&found));
        }
        kept.push(found);
    }
    (updates, kept)
}

/// Returns the name after this one: with the number at its end counted up, or with a number added.
fn next_name(name: &str) -> String {
    let (before, last) = match name.rsplit_once('/') {
        Some((before, last)) => (format!("{before}/"), last),
        None => (String::new(), name),
    };
    if let Ok(number) = last.parse::<u64>() {
        return format!("{before}{}", number.saturating_add(1));
    }
    match last
        .rsplit_once('.')
        .map(|(stem, copy)| (stem, copy.parse::<u64>()))
    {
        Some((stem, Ok(copy))) => format!("{before}{stem}.{}", copy.saturating_add(1)),
        _ => format!("{before}{last}.2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn kept(name: &str, digit: char) -> KeptRef {
        KeptRef::new(name.to_owned(), oid(digit))
    }

    #[test]
    fn free_names_reuses_an_equal_ref_and_skips_a_different_one() {
        let there = [kept("a/1", '1'), kept("a/2", '2'), kept("a/1-x", '3')];
        let at = |name: &str| {
            let found = there.iter().find(|there| there.name == name);
            found.map(|there| there.oid.clone())
        };
        for (wanted, found, is_made) in [
            (kept("b/1", '9'), "b/1", true),
            (kept("a/1", '1'), "a/1", false),
            (kept("a/1", '2'), "a/2", false),
            (kept("a/1", '9'), "a/3", true),
            (kept("a/1-x", '9'), "a/1-x.2", true),
        ] {
            let (updates, names) = free_names(std::slice::from_ref(&wanted), at);
            assert_eq!(names, [kept(found, wanted.oid.as_str().chars().next().unwrap())]);
            assert_eq!(updates.len(), usize::from(is_made), "{wanted:?}");
        }
    }

    #[test]
    fn free_names_numbers_refs_that_want_the_same_name() {
        let (updates, names) = free_names(&[kept("a/x", '1'), kept("a/x", '2'), kept("a/x", '3')], |_| None);
        let names: Vec<_> = names.iter().map(|kept| kept.name.as_str()).collect();
        assert_eq!(names, ["a/x", "a/x.2", "a/x.3"]);
        assert_eq!(updates.len(), 3);
        let zero = oid('0');
        assert_eq!(updates[0].line(), format!("update a/x {} {zero}\n", oid('1')));
    }
}
