//! Reads one text out of a YAML file.

use granit_parser::{Event, Parser, ScalarStyle};

/// Returns the text at these keys, each in the mapping that the one before names; `None` if there is none, or if the file
/// cannot be read up to there.
pub fn text_at(yaml: &str, keys: &[&str]) -> Option<String> {
    // The mappings that the keys name are open, the outermost first, and on top of them others.
    let (mut named, mut others) = (0_usize, 0_usize);
    let (mut is_key, mut is_named) = (false, true);
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.ok()?;
        let is_node = matches!(
            event,
            Event::Scalar(..) | Event::Alias(_) | Event::MappingStart(..) | Event::SequenceStart(..)
        );
        let is_value = is_node && others == 0 && !is_key && is_named;
        if is_node && others == 0 {
            let name = keys.get(named.wrapping_sub(1));
            is_named =
                matches!((&event, name), (Event::Scalar(text, ..), Some(name)) if is_key && text == name);
            is_key = !is_key;
        }
        match event {
            Event::Scalar(text, style, ..) if is_value => return text_of(&text, style, named == keys.len()),
            Event::MappingStart(..) if is_value && named < keys.len() => {
                named += 1;
                is_key = true;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => others += 1,
            Event::MappingEnd | Event::SequenceEnd => others = others.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Returns the text of a scalar, if it is one at the last key and not null.
fn text_of(text: &str, style: ScalarStyle, is_last: bool) -> Option<String> {
    let is_null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    (is_last && !is_null).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_at_finds_a_text_at_its_keys_only() {
        let yaml = "# note\nlist:\n  - schema: no\n[schema, x]: no\nschema: &a 'one: two' # end\napply:\n  requires: [tracks, {tracks: no}]\n  deep:\n    tracks: no\n  tracks: plan.md\nother: *a\n";
        assert_eq!(text_at(yaml, &["schema"]).as_deref(), Some("one: two"));
        assert_eq!(text_at(yaml, &["apply", "tracks"]).as_deref(), Some("plan.md"));
        for keys in [
            &["tracks"][..],
            &["apply"],
            &["list", "schema"],
            &["schema", "x"],
            &["other"],
        ] {
            assert_eq!(text_at(yaml, keys), None, "{keys:?}");
        }
    }

    #[test]
    fn text_at_finds_nothing_in_what_is_no_mapping_or_null() {
        for yaml in [
            "",
            "schema",
            "- schema: a\n",
            "schema:\n",
            "schema: null\n",
            "schema: [a\n",
            "schema: {}\n",
            "{",
        ] {
            assert_eq!(text_at(yaml, &["schema"]), None, "{yaml}");
        }
        assert_eq!(text_at("{schema: a}", &["schema"]).as_deref(), Some("a"));
    }
}
