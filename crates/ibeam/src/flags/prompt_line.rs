//! A line without a command: flags and a prompt.

use std::ffi::OsString;

use clap::Parser;

use super::Flags;

/// Flags and prompt, with the same rules as in a line that may have a command.
///
/// Every command has every flag, so the parser of all commands needs most of the memory of a short run. This parser has
/// each flag once. What it rejects is parsed again with all commands, for the error message or the help.
#[derive(Parser, Debug)]
#[command(args_override_self = true, name = "ibeam", disable_version_flag = true)]
pub(crate) struct PromptLine {
    #[command(flatten)]
    pub(crate) flags: Flags,

    pub(crate) words: Vec<OsString>,
}

/// Parses flags that were stored as text; `None` if the parser rejects them.
pub(crate) fn parse_flags(flags: &[OsString]) -> Option<Flags> {
    let args = std::iter::once("ibeam".into()).chain(flags.iter().cloned());
    PromptLine::try_parse_from(args).ok().map(|line| line.flags)
}
