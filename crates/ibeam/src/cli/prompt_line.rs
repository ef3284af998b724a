//! A command line that names no command, which is that of nearly every run.
//!
//! Every command knows every flag, so the parser of all commands is most of the memory of a short run; this one knows the
//! flags once. What it refuses is parsed again by the whole, which says why, or gives help.

use std::ffi::OsString;

use clap::{Args, Parser};

use super::{Cli, Flags};

/// Flags and prompt, by the same rules as in [`Cli`].
#[derive(Parser, Debug)]
#[command(args_override_self = true, name = "ibeam", disable_version_flag = true)]
struct PromptLine {
    #[command(flatten)]
    flags: Flags,

    words: Vec<OsString>,
}

/// The parser of the flags alone.
pub(super) fn flags() -> clap::Command {
    Flags::augment_args(clap::Command::new("ibeam"))
}

/// Reads the arguments in the order of `words`, where they name no command; `None` for whatever is not plain.
pub(super) fn parse(args: &[OsString]) -> Option<Cli> {
    let PromptLine { flags, words } = PromptLine::try_parse_from(args).ok()?;
    Some(Cli { flags, words, command: None, command_path: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let whole = Cli::try_parse_from(&args).ok();
        let plain = parse(&args);
        assert_eq!(format!("{plain:?}"), format!("{whole:?}"), "{line}");
        assert!(line.contains("--help") || line.contains("wrong") || plain.is_some(), "{line}");
    }

    #[test]
    fn a_line_without_a_command_is_read_as_the_whole_parser_reads_it() {
        check("ibeam");
        check("ibeam -p -- do it");
        check("ibeam -pfm gpt --output-format stream-json --force -- do -it");
        check("ibeam --resume=-1 --header A:b --header C:d --allow Read(*) -- x");
        check("ibeam --mode plan --mode agent --max-turns 3 --timeout 5m --worktree=w");
        check("ibeam --version");
        check("ibeam --help");
        check("ibeam --wrong");
        check("ibeam --output-format wrong");
        check("ibeam --plan --mode wrong");
    }
}
