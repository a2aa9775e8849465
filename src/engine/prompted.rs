//! Notes the story of the last prompt that the user saw.

use jiff::Timestamp;

use super::{Loop, numbers};
use crate::error::Error;
use crate::state::Given;
use crate::stories::Story;

/// Records that the prompt about `story` was shown, for the session that receives it.
pub fn note_prompted(open: &mut Loop<'_>, story: &Story) -> Result<(), Error> {
    open.state.show_messages(&story.id);
    open.state.here.prompted = Some(Given {
        story: story.id.clone(),
        attempt: numbers::next_number(open, &story.id)?,
        checkpoint: open.state.checkpoint().clone(),
        since: Timestamp::now(),
    });
    open.save()
}
