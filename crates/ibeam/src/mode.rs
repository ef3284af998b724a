//! The mode of a run: a pure function of the arguments and of whether stdin and stdout are terminals.
//!
//! Implements "Choosing a format" of `docs/output-format.md`, and "Contract 2" where contract 2 differs.

use std::ffi::OsString;

use ibeam_output::Contract;
use ibeam_protocol::{Reason, sentence};

use crate::flags::{Flags, Format, InputFormat, Stdin};

/// The front end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// Prints in a format and exits. No person can answer.
    Print(Format),
    /// A prompt loop on a terminal.
    Interactive,
}

/// The inputs that decide on the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModeInputs {
    /// Whether `--print` was given.
    pub(crate) print: bool,
    /// The format of `--output-format`.
    pub(crate) format: Option<Format>,
    /// The version of the output contract.
    pub(crate) contract: Contract,
    /// Whether `--stream-partial-output` was given.
    pub(crate) partial: bool,
    pub(crate) stdout_terminal: bool,
    pub(crate) stdin_terminal: bool,
}

/// Returns the mode of a run.
///
/// # Errors
/// `FormatWithoutPrint` for a format in interactive mode; `Usage` for a format that no run has, and for
/// `--stream-partial-output` where the contract has no partial output.
pub(crate) fn infer(given: ModeInputs) -> Result<RunMode, Reason> {
    let is_print_mode = is_print_mode(given.print, given.stdout_terminal, given.stdin_terminal);
    let mode = match (is_print_mode, given.format) {
        (_, Some(format)) if !format.is_for_runs() => {
            return Err(Reason::Usage {
                detail: sentence!(
                    "`--output-format {format}` is a format of `ibeam replay`",
                    format = format.name()
                ),
            });
        }
        (true, format) => RunMode::Print(format.unwrap_or(default_format(given.contract))),
        (false, None) => RunMode::Interactive,
        (false, Some(_)) => return Err(Reason::FormatWithoutPrint),
    };
    let printed = match mode {
        RunMode::Print(format) => Some(format),
        RunMode::Interactive => None,
    };
    check_partial(given.contract, given.partial, printed)?;
    Ok(mode)
}

/// Whether a run prints and exits; otherwise it is interactive.
pub(crate) fn is_print_mode(print: bool, stdout_terminal: bool, stdin_terminal: bool) -> bool {
    print || !stdout_terminal || !stdin_terminal
}

/// Returns the format of print mode without `--output-format`.
pub(crate) fn default_format(contract: Contract) -> Format {
    match contract {
        Contract::One => Format::StreamJson,
        Contract::Two => Format::Text,
    }
}

/// Whether the prompts are messages on stdin: `--input-format stream-json`.
///
/// # Errors
/// `Usage` for another source of the prompt.
pub(crate) fn reads_messages(flags: &Flags, words: &[OsString], has_dialect: bool) -> Result<bool, Reason> {
    let detail = match flags.prompt.input_format.unwrap_or_default() {
        InputFormat::Text => return Ok(false),
        InputFormat::StreamJson if flags.session.from_plan.is_some() => {
            sentence!("`--from-plan` is for one prompt, not for `--input-format stream-json`")
        }
        InputFormat::StreamJson if !words.is_empty() => {
            sentence!("`--input-format stream-json` takes the prompts from stdin, not from the arguments")
        }
        InputFormat::StreamJson if flags.prompt.stdin == Some(Stdin::Ignore) => {
            sentence!(
                "`--input-format stream-json` takes the prompts from stdin, so `--stdin ignore` has no meaning"
            )
        }
        InputFormat::StreamJson if has_dialect => {
            sentence!("`--input-format stream-json` has no meaning with `--dialect`")
        }
        InputFormat::StreamJson => return Ok(true),
    };
    Err(Reason::Usage { detail })
}

/// Checks that the turns of messages on stdin are printed as a stream.
pub(crate) fn check_message_output(reads_messages: bool, mode: RunMode) -> Result<(), Reason> {
    if !reads_messages || mode == RunMode::Print(Format::StreamJson) {
        return Ok(());
    }
    let detail = sentence!("`--input-format stream-json` needs `--print` and `--output-format stream-json`");
    Err(Reason::Usage { detail })
}

/// Rejects `--stream-partial-output` where it has no meaning. Contract 1 streams deltas without it.
pub(crate) fn check_partial(
    contract: Contract,
    partial: bool,
    printed: Option<Format>,
) -> Result<(), Reason> {
    if partial && contract == Contract::Two && printed != Some(Format::StreamJson) {
        let detail = sentence!(
            "`--stream-partial-output` needs `--print` and `--output-format stream-json` under contract 2"
        );
        return Err(Reason::Usage { detail });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Contract::{One, Two};
    use Format::{Atif, Html, Json, Otlp, StreamJson, Text};

    /// stdout and stdin: terminals or not.
    type Ends = (bool, bool);
    const TERMINALS: Ends = (true, true);
    const PIPES: [Ends; 3] = [(false, true), (true, false), (false, false)];

    fn inferred(
        contract: Contract,
        print: bool,
        format: Option<Format>,
        ends: Ends,
        partial: bool,
    ) -> Result<RunMode, Reason> {
        let (stdout_terminal, stdin_terminal) = ends;
        infer(ModeInputs { print, format, contract, partial, stdout_terminal, stdin_terminal })
    }

    /// Asserts print mode in the format that was given, or in `usual`.
    #[track_caller]
    fn check_print(contract: Contract, print: bool, ends: Ends, usual: Format) {
        for format in [None, Some(Text), Some(Json), Some(StreamJson), Some(Atif)] {
            let expect = Ok(RunMode::Print(format.unwrap_or(usual)));
            assert_eq!(inferred(contract, print, format, ends, false), expect, "{print} {format:?} {ends:?}");
        }
    }

    #[test]
    fn print_mode_is_requested_or_inferred() {
        for (contract, usual) in [(One, StreamJson), (Two, Text)] {
            check_print(contract, true, TERMINALS, usual);
            for pipe in PIPES {
                check_print(contract, true, pipe, usual);
                check_print(contract, false, pipe, usual);
            }
        }
    }

    #[test]
    fn two_terminals_and_no_flag_are_interactive() {
        for contract in Contract::ALL {
            assert_eq!(inferred(contract, false, None, TERMINALS, false), Ok(RunMode::Interactive));
        }
    }

    #[test]
    fn a_format_in_an_interactive_run_is_a_usage_error() {
        for contract in Contract::ALL {
            for format in [Text, Json, StreamJson, Atif] {
                let inferred = inferred(contract, false, Some(format), TERMINALS, false);
                assert_eq!(inferred, Err(Reason::FormatWithoutPrint));
            }
        }
    }

    #[test]
    fn no_run_prints_a_format_of_recorded_runs() {
        for contract in Contract::ALL {
            for format in [Html, Otlp] {
                let inferred = inferred(contract, true, Some(format), TERMINALS, false);
                assert!(matches!(inferred, Err(Reason::Usage { .. })), "{inferred:?}");
            }
        }
    }

    #[test]
    fn partial_output_changes_nothing_under_contract_1() {
        for ends in [TERMINALS, (false, false)] {
            for print in [true, false] {
                let of = |partial| inferred(One, print, None, ends, partial);
                assert_eq!(of(true), of(false), "{print} {ends:?}");
            }
        }
    }

    #[test]
    fn partial_output_needs_stream_json_under_contract_2() {
        for print in [true, false] {
            for ends in [TERMINALS, (false, false)] {
                for format in [None, Some(Text), Some(Json), Some(StreamJson), Some(Atif)] {
                    let inferred = inferred(Two, print, format, ends, true);
                    let good = format == Some(StreamJson) && (print || ends != TERMINALS);
                    let expect = good.then_some(RunMode::Print(StreamJson));
                    assert_eq!(inferred.clone().ok(), expect, "{print} {format:?} {ends:?}");
                    let interactive = format.is_some() && !print && ends == TERMINALS;
                    if !good && !interactive {
                        assert!(matches!(inferred, Err(Reason::Usage { .. })), "{inferred:?}");
                    }
                }
            }
        }
    }
}
