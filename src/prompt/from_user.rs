//! Adds to a prompt what the user has said since the story list was written.

use super::quotation;

/// Returns the prompt with these messages: their words, and the attempt that ran when they were written, if one did.
pub fn from_user<'w>(prompt: String, words: impl Iterator<Item = (&'w str, Option<&'w str>)>) -> String {
    let mut text = String::new();
    for (words, during) in words {
        let said = quotation(words);
        text.push_str(&match during {
            Some(attempt) => {
                format!("\nWritten while attempt {attempt} ran, which could have written it too:\n\n{said}\n")
            }
            None => format!("\n{said}\n"),
        });
    }
    if text.is_empty() {
        return prompt;
    }
    format!("{}\n\n## From the user\n{text}", prompt.trim_end())
}
