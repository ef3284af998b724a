//! `resume`: a run in a stored session, which `main.rs` starts.

use std::ffi::OsString;

use clap::Args;

use super::facts::CommandFacts;
use super::sub_command::SubCommand;

/// Resume a session
///
/// (without an ID, choose one, or without a terminal take the newest)
#[derive(Args, Clone, Debug)]
pub(crate) struct ResumeArgs {
    /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
    #[arg(allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
    /// The prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<OsString>,
}

impl SubCommand for ResumeArgs {
    const FACTS: CommandFacts = CommandFacts::new("resume")
        .uses_all_but(&[])
        .with_examples(&["ibeam resume", "ibeam resume -2 \"Go on with the tests\""]);
}
