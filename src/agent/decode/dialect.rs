//! Says what a format of JSON lines has to know.

use super::report_builder::ReportBuilder;

/// Knows one format of JSON lines.
pub(super) trait Dialect: Send {
    /// Takes one line.
    fn line(&mut self, line: &str, report: &mut ReportBuilder);

    /// Takes the end of the stream and the end of stderr.
    fn end(&mut self, _stderr: &str, _draft: &mut ReportBuilder) {}
}
