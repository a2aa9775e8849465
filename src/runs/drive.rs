//! Drives a loop until it stops.

use crate::engine::{AttemptOptions, Driver, Loop, Stopped, require_own_list};
use crate::error::Error;
use crate::remote::Tenure;

/// Drives a loop until it stops. If the run holds it on a remote, each step is published before the next begins.
///
/// # Errors
/// The error of the step that failed; the same command resumes the loop.
pub async fn drive(
    open: &mut Loop<'_>,
    options: &AttemptOptions,
    tenure: Option<&Tenure>,
) -> Result<Stopped, Error> {
    require_own_list(open).await?;
    let mut driver = Driver::new(open, options)?;
    loop {
        if let Some(tenure) = tenure {
            tenure.publish(open).await?;
        }
        let end = driver.turn(open).await;
        if let Some(tenure) = tenure {
            // An attempt that was ended because of a lost lease has no other error.
            tenure.require().await?;
        }
        if let Some(stopped) = end? {
            return Ok(stopped);
        }
    }
}
