//! The interface of the formats of JSON lines.

use super::lines::{Object, parse};
use super::report_builder::ReportBuilder;

/// A reader of one format of JSON lines.
pub(super) trait Dialect: Send {
    /// Takes one line.
    fn line(&mut self, line: &str, report: &mut ReportBuilder);

    /// Takes the end of the stream and the end of stderr.
    fn end(&mut self, _stderr: &str, _draft: &mut ReportBuilder) {}
}

/// A reader for a format in which each line is complete.
pub(super) type Simple = fn(&Object, &mut ReportBuilder);

impl Dialect for Simple {
    fn line(&mut self, line: &str, report: &mut ReportBuilder) {
        if let Some(event) = parse(line) {
            self(&event, report);
        }
    }
}
