//! Repeats the notices of a side about its attempt.

use super::Made;
use crate::engine::Loop;
use crate::error::Error;
use crate::events::{ListPutBack, What};
use crate::names::typed;
use crate::refs::KeptRef;

/// Repeats the notices of a side with the loop's name of its attempt. `names` pairs the side's names with the loop's.
pub(super) async fn repeat_notices(
    open: &Loop<'_>,
    made: &Made,
    number: u32,
    names: &[(String, String)],
) -> Result<(), Error> {
    let story = &made.attempt.story;
    for (what, kept) in &made.notices {
        match (what, kept) {
            (What::ListPutBack(back), Some(list)) => {
                let wanted = KeptRef::new(
                    format!("{}-list", open.change().attempt_ref(story, number)),
                    list.clone(),
                );
                let kept = open
                    .keep_refs(&[wanted], "ralph: what an attempt made of the story list")
                    .await?;
                let name = kept.first().map_or_else(String::new, |kept| kept.name.clone());
                open.emit(What::ListPutBack(ListPutBack {
                    attempt: number,
                    shown: format!("git diff {} {}", made.base.short(), typed(&name)),
                    kept: name,
                    ..back.clone()
                }));
            }
            (What::Notice { message }, _) => {
                let message = names.iter().fold(message.clone(), |message, (there, here)| {
                    with_name(&message, there, here)
                });
                open.tell(format!("{story}: {message}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Replaces a name in a text, unless it is the beginning of a longer one.
fn with_name(text: &str, there: &str, here: &str) -> String {
    let mut parts = text.split(there);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|next: char| next.is_alphanumeric() || "-_/".contains(next));
        replaced.push_str(if goes_on { there } else { here });
        replaced.push_str(part);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_where_it_is_whole() {
        let text = "kept as a/1-b, a/1-bc, a/1 and a/12: a/1.";
        assert_eq!(
            with_name(&with_name(text, "a/1-b", "x/2-b"), "a/1", "x/2"),
            "kept as x/2-b, a/1-bc, x/2 and a/12: x/2."
        );
    }
}
