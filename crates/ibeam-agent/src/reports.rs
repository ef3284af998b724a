//! Reports of commands of the program and of conversations: both have the same text from the same function.
//!
//! A report is data. Who prints it decides where its text, its JSON and its warnings go.

pub mod context_report;
pub mod file_changes;
mod model_details;
pub mod model_list;
pub mod rule_list;
pub mod server_list;
pub mod session_page;
pub mod session_report;

use ibeam_output::escape_invisible;
use ibeam_protocol::Reason;
use serde_json::Value;

use crate::app::AppContext;

pub use model_details::configured_text;

/// The report of a command.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lines for people, which may contain invisible characters of others.
    pub text: String,
    /// The value for programs.
    pub json: Value,
    /// The warnings, without the word `warning`.
    pub warnings: Vec<String>,
}

/// Returns the text for people followed by the warnings, without invisible characters.
pub fn text_with_warnings(text: &str, warnings: &[String]) -> String {
    let warnings: String = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    escape_invisible(&format!("{text}{warnings}")).into_owned()
}

/// Returns the message and the hints of a reason in one line.
pub fn explain_in_line(app: &AppContext, reason: &Reason) -> String {
    let explained = app.base.catalogue.reason(reason);
    format!("{}; {}", explained.message, explained.hints.join("; "))
}
