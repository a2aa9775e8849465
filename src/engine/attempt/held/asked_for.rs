//! Finds the held files that an agent says must change before its story can be done.

use super::decision::Rules;
use super::touched::scripts;
use crate::engine::Loop;
use crate::engine::attempt::begun::Begun;
use crate::error::Error;
use crate::names::Oid;
use crate::settings::TestChanges;

/// Returns the held files that the reason of an attempt names, if the attempt changed them up to the tree `left`, or
/// its story names them too. Two git processes if the reason names any, and at most three.
pub(crate) async fn asked_for(
    open: &Loop<'_>,
    begun: &Begun,
    reason: &str,
    left: &Oid,
) -> Result<Vec<Vec<u8>>, Error> {
    let settings = &begun.settings;
    let rules = Rules::of(&settings.tests);
    let mut pathspecs = Vec::new();
    if rules.test_changes != TestChanges::Allow {
        pathspecs.clone_from(&settings.tests.pathspecs);
    }
    if !rules.release_scripts {
        let all = scripts(open, settings).into_iter();
        pathspecs.extend(all.map(|script| format!(":(top,literal){script}")));
    }
    if settings.verify.is_empty() || pathspecs.is_empty() {
        return Ok(Vec::new());
    }
    let (repo, base) = (open.repo(), open.state.checkpoint_tree());
    let none = repo.empty_tree().await?;
    let held = repo.git.changes_among(&none, base, &pathspecs).await?;
    let mut files: Vec<Vec<u8>> = held.into_iter().map(|file| file.path).collect();
    files.retain(|path| names(reason, path));
    let product = settings.tests.product();
    if !files.is_empty() && !product.is_empty() {
        let product = repo.git.changes_among(&none, base, product).await?;
        files.retain(|path| product.iter().all(|file| file.path != *path));
    }
    if !files.is_empty() {
        let story = format!("{}\n{}", begun.story.title, begun.story.body);
        let changes = repo.git.diff_trees(base, left).await?;
        files.retain(|path| changes.iter().any(|(_, changed)| changed == path) || names(&story, path));
    }
    Ok(files)
}

/// Returns whether a text names a path from the top directory, and not only as a part of another path.
fn names(text: &str, path: &[u8]) -> bool {
    let Ok(path) = std::str::from_utf8(path) else {
        return false;
    };
    let is_part = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].strip_suffix("./").unwrap_or(&text[..at]);
        let after = text[at + path.len()..].trim_start_matches(['.', ',']);
        let is_end = after.len() < text.len() - at - path.len() && !after.starts_with(char::is_alphanumeric);
        !before.ends_with(is_part) && (is_end || !after.starts_with(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_a_path_but_not_as_a_part_of_another() {
        for (text, is_named) in [
            ("tests/a.sh has to change", true),
            ("because of `./tests/a.sh`.", true),
            ("it is in tests/a.sh.", true),
            ("tests/a.sh, tests/b.sh", true),
            ("tests/a.sh:12 is wrong", true),
            ("see other/tests/a.sh", false),
            ("see my-tests/a.sh", false),
            ("see tests/a.sh.orig", false),
            ("see tests/a.sh2", false),
            ("see a.sh", false),
        ] {
            assert_eq!(names(text, b"tests/a.sh"), is_named, "{text}");
        }
    }
}
