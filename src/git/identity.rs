//! Finds the names and addresses that git puts into a commit (git-commit-tree(1), "COMMIT INFORMATION").

use std::env;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::fs::seen_bytes;

/// A name and an address, if configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Person {
    name: Option<String>,
    email: Option<String>,
}

/// The configured names and addresses: `user.*`, `author.*` and `committer.*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identities {
    user: Person,
    author: Person,
    committer: Person,
}

/// The author and the committer of new commits, each as `<name> <<address>>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers {
    author: String,
    committer: String,
}

impl Identities {
    /// Notes one setting; ignores settings other than names and addresses. A later value replaces an earlier one.
    pub fn set(&mut self, section: &str, key: &str, value: &str) {
        let person = match section {
            "user" => &mut self.user,
            "author" => &mut self.author,
            "committer" => &mut self.committer,
            _ => return,
        };
        match key {
            "name" => person.name = Some(value.to_owned()),
            "email" => person.email = Some(value.to_owned()),
            _ => {}
        }
    }

    /// Returns the author and the committer: from the environment, else from the setting of the role, else the user's.
    /// Returns `None` if a part is missing.
    pub fn signers(&self) -> Option<Signers> {
        self.signers_in(|name| env::var(name).ok())
    }

    fn signers_in(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Signers> {
        let said = |value: Option<String>| value.map(|value| clean(&value)).filter(|value| !value.is_empty());
        let signer = |role: &str, person: &Person| {
            let name = said(variable(&format!("GIT_{role}_NAME")))
                .or_else(|| said(person.name.clone()))
                .or_else(|| said(self.user.name.clone()))?;
            let email = said(variable(&format!("GIT_{role}_EMAIL")))
                .or_else(|| said(person.email.clone()))
                .or_else(|| said(self.user.email.clone()))
                .or_else(|| said(variable("EMAIL")))?;
            Some(format!("{name} <{email}>"))
        };
        Some(Signers {
            author: signer("AUTHOR", &self.author)?,
            committer: signer("COMMITTER", &self.committer)?,
        })
    }
}

impl Signers {
    /// Returns git-ralph itself, for a user without a name in git's configuration.
    pub fn own() -> Self {
        let own = "git-ralph <git-ralph@localhost>";
        Self {
            author: own.to_owned(),
            committer: own.to_owned(),
        }
    }

    /// Returns the author and committer lines of a commit made now; `None` if only git can tell: a date is set in the
    /// environment, in one of many formats, or a name is not UTF-8.
    pub fn lines(&self) -> Option<String> {
        let dated = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(env::var_os);
        let text = format!("author {}\ncommitter {}\n", self.author, self.committer);
        if dated.iter().any(Option::is_some) || text.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        let now = Timestamp::now().to_zoned(local_zone());
        let at = format!("{} {}", now.timestamp().as_second(), now.strftime("%z"));
        Some(format!(
            "author {} {at}\ncommitter {} {at}\n",
            self.author, self.committer
        ))
    }
}

/// Returns the time zone of the system (tzset(3)). Its name is not needed, and a search for it lists all zones.
fn local_zone() -> TimeZone {
    let read = || TimeZone::tzif("local", &seen_bytes(Path::new("/etc/localtime"))?).ok();
    match env::var_os("TZ") {
        None => read().unwrap_or_else(TimeZone::system),
        Some(_) => TimeZone::system(),
    }
}

/// Removes the characters that git removes from names and addresses: `<`, `>` and line breaks anywhere; white space,
/// other control characters and some punctuation at both ends.
fn clean(text: &str) -> String {
    let is_crud = |c: char| c <= ' ' || ".,:;<>\"\\'".contains(c);
    let within = text.trim_matches(is_crud).chars();
    within.filter(|c| !matches!(c, '<' | '>' | '\n')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identities(settings: &[(&str, &str, &str)]) -> Identities {
        let mut found = Identities::default();
        for (section, key, value) in settings {
            found.set(section, key, value);
        }
        found
    }

    #[test]
    fn unnamed_zone_has_the_offset_of_the_named_one() {
        let at = Timestamp::now();
        let offset = |zone: TimeZone| zone.to_offset(at);
        assert_eq!(offset(local_zone()), offset(TimeZone::system()));
    }

    #[test]
    fn the_environment_comes_before_the_role_and_the_role_before_the_user() {
        let found = identities(&[
            ("user", "name", "old"),
            ("user", "name", "User"),
            ("user", "email", "u@x"),
            ("author", "name", "Author"),
            ("committer", "email", "c@x"),
        ]);
        let set = |name: &str| (name == "GIT_COMMITTER_NAME").then(|| "From Outside".to_owned());
        let signers = found.signers_in(set).unwrap();
        assert_eq!(signers.author, "Author <u@x>");
        assert_eq!(signers.committer, "From Outside <c@x>");
    }

    #[test]
    fn identity_has_no_signers_without_name_or_address() {
        let none = |_: &str| None;
        assert_eq!(identities(&[("user", "name", "U")]).signers_in(none), None);
        assert_eq!(identities(&[("user", "email", "u@x")]).signers_in(none), None);
        let only_crud = identities(&[("user", "name", " <;> "), ("user", "email", "u@x")]);
        assert_eq!(only_crud.signers_in(none), None);
        let email = |name: &str| (name == "EMAIL").then(|| "e@x".to_owned());
        let signers = identities(&[("user", "name", "U")]).signers_in(email).unwrap();
        assert_eq!(signers.author, "U <e@x>");
    }

    #[test]
    fn names_are_cleaned_as_git_cleans_them() {
        for (raw, cleaned) in [
            ("A <b> C", "A b C"),
            ("  'A. Name', ", "A. Name"),
            ("a\nb", "ab"),
            ("Ünï", "Ünï"),
        ] {
            assert_eq!(clean(raw), cleaned, "{raw}");
        }
    }
}
