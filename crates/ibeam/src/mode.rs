//! What kind of run this is: a pure function of the arguments and of what stdin and stdout are.
//!
//! Contract section 1.

use ibeam_protocol::Reason;

use crate::cli::Format;

/// What a run does with its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// Prints in a format and exits; nobody can be asked.
    Print(Format),
    /// A prompt loop on a terminal.
    Interactive,
}

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// `--print` was given.
    pub(crate) print: bool,
    /// `--output-format` was given.
    pub(crate) format: Option<Format>,
    /// stdout is a terminal.
    pub(crate) stdout_terminal: bool,
    /// stdin is a terminal.
    pub(crate) stdin_terminal: bool,
}

/// Infers the mode.
///
/// # Errors
/// `FormatWithoutPrint` when a format is asked for in an interactive run; `Usage` for one that no run has.
pub(crate) fn infer(given: Circumstances) -> Result<RunMode, Reason> {
    let prints = given.print || !given.stdout_terminal || !given.stdin_terminal;
    match (prints, given.format) {
        (_, Some(Format::Html)) => {
            Err(Reason::Usage { said: "`--output-format html` is a format of `ibeam replay`".to_owned() })
        }
        (true, format) => Ok(RunMode::Print(format.unwrap_or(Format::StreamJson))),
        (false, None) => Ok(RunMode::Interactive),
        (false, Some(_)) => Err(Reason::FormatWithoutPrint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Format::{Json, StreamJson, Text};

    #[track_caller]
    fn check(
        print: bool,
        format: Option<Format>,
        stdout: bool,
        stdin: bool,
        expect: Result<RunMode, Reason>,
    ) {
        let given = Circumstances { print, format, stdout_terminal: stdout, stdin_terminal: stdin };
        assert_eq!(infer(given), expect, "{given:?}");
    }

    #[test]
    fn print_mode_is_asked_for_or_inferred() {
        let stream = Ok(RunMode::Print(StreamJson));
        for (print, stdout, stdin) in [
            (true, true, true),
            (true, false, true),
            (true, true, false),
            (true, false, false),
            (false, false, true),
            (false, true, false),
            (false, false, false),
        ] {
            check(print, None, stdout, stdin, stream.clone());
            for format in [Text, Json, StreamJson] {
                check(print, Some(format), stdout, stdin, Ok(RunMode::Print(format)));
            }
        }
    }

    #[test]
    fn two_terminals_and_no_flag_are_interactive() {
        check(false, None, true, true, Ok(RunMode::Interactive));
    }

    #[test]
    fn a_format_in_an_interactive_run_is_a_usage_error() {
        for format in [Text, Json, StreamJson] {
            check(false, Some(format), true, true, Err(Reason::FormatWithoutPrint));
        }
    }
}
