//! Reads the user's messages to the next attempts (`git ralph tell`) into the state, where no attempt can change them.
//! A message read after an attempt has begun may be written by the attempt itself.

use super::{Loop, numbers};
use crate::error::Error;
use crate::events::What;
use crate::names::counted;
use crate::stories::Story;

/// Moves the messages into the state and the events; `during` is the story and the number of the attempt that ran when
/// they were written.
pub(crate) fn take(open: &mut Loop<'_>, during: Option<(&str, u32)>) -> Result<(), Error> {
    let messages = open.store.messages()?;
    if messages.is_empty() {
        return Ok(());
    }
    let files: Vec<String> = messages.iter().map(|(file, _)| file.clone()).collect();
    let during = during.map(|(story, number)| format!("{story}@{number}"));
    let taken = open.state.take_messages(messages, during.as_deref()).to_vec();
    // After a crash a message is read twice rather than lost.
    for message in taken {
        open.emit(What::Message {
            text: message.text,
            during: message.during,
        });
    }
    open.save()?;
    let known = &open.state.here.messages;
    let is_kept = |file: &&String| known.iter().any(|message| message.file == **file);
    let (kept, left): (Vec<_>, Vec<_>) = files.iter().partition(is_kept);
    open.store.forget_messages(kept.into_iter())?;
    if during.is_some() && !left.is_empty() {
        // A later reader could not know that the attempt may have written them.
        let place = open.store.put_messages_away(&left)?;
        open.tell(format!(
            "{} were written during {}, more than a prompt has; those not read are in {}",
            counted(files.len(), "message", "messages"),
            during.as_deref().unwrap_or_default(),
            place.display()
        ));
    }
    Ok(())
}

/// Reads the messages while git-ralph runs no attempt; an agent's session may work on one.
pub fn take_between(open: &mut Loop<'_>) -> Result<(), Error> {
    let session = open.state.session_at_work();
    let given = session.and_then(|session| session.given.clone());
    let during = given.as_ref().map(|given| (given.story.as_str(), given.attempt));
    take(open, during)
}

/// Reports messages that no attempt was shown, when the loop is closed.
pub(crate) fn tell_unshown(open: &Loop<'_>) {
    let unshown = open.state.unshown();
    if unshown > 0 {
        open.tell(format!(
            "no attempt was shown what you said ({unshown}); to read it again: git ralph log"
        ));
    }
}

/// Records that the session that receives the prompt about `story` was shown the messages.
pub fn note_prompted(open: &mut Loop<'_>, story: &Story) -> Result<(), Error> {
    open.state.show_messages(&story.id);
    open.state.here.prompted = Some(numbers::given_now(open, &story.id)?);
    open.save()
}
