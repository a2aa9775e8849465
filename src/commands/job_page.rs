//! The summary page of a CI job.

use super::report_of::report_of;
use crate::engine::Loop;
use crate::report::{Redaction, Wanted};
use crate::ui::report::{JOB_PAGE, Progress, markdown};
use crate::ui::{Screen, github};

/// Adds the loop's report to the summary page of the CI job, if there is one.
pub(super) async fn summarise(open: &Loop<'_>) {
    if github::page().is_none() {
        return;
    }
    let settings = &open.context.configuration.settings;
    let wanted = Wanted {
        redaction: Redaction::new(&settings.redact).unwrap_or_default(),
        link: settings.link_commit.clone(),
        ..Wanted::default()
    };
    let mut progress = Progress::new(Screen::SILENT);
    let made = report_of(&open.context, &open.state, &wanted, &mut progress).await;
    let written = made.map_err(|error| error.to_string()).and_then(|report| {
        github::summarise(&markdown(&[report], JOB_PAGE)).map_err(|error| error.to_string())
    });
    if let Err(why) = written {
        open.tell(format!("cannot write the summary of the job: {why}"));
    }
}
