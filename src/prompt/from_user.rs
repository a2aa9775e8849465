//! Adds the user's messages (`git ralph tell`) to a prompt.

use super::quotation;

/// Returns the prompt with these messages: their text, and the attempt during which they were written, if any.
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
