//! The arguments after `cargo xtask corpus attacks`.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ibeam_testkit::{InvalidSweep, SweepPart};

use crate::mode::Mode;
use crate::user::User;

pub(crate) const USAGE: &str = "\
usage: cargo xtask corpus attacks [FILE.jsonl…] [OPTION…]

  FILE.jsonl     the cases [default: corpus/attacks*.jsonl]
  --only ID,…    only these cases; a part of an id is enough
  --jobs N       cases at a time [default: one for each core, 4 at most]
  --uid WHO      root, nobody or both [default: both]
  --bin PATH     the program [default: a debug build]
  --keep DIR     write transcripts of failed cases to this directory
  --bare         run verified attacks in bash, without the program: each must do its harm
  --unfenced     hide the commands from the rules: the sandbox alone must confine them
  --part K/N     only one of N parts of the cases, 0/N to N-1/N";

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    /// Parts of the ids of the cases to run; empty for all cases.
    pub(crate) id_parts: BTreeSet<String>,
    /// Number of cases that run at a time.
    pub(crate) jobs: usize,
    pub(crate) users: Vec<User>,
    /// The program under test; `None` for a debug build.
    pub(crate) program: Option<PathBuf>,
    /// The directory for transcripts of failed cases.
    pub(crate) transcripts: Option<PathBuf>,
    pub(crate) mode: Mode,
    pub(crate) part: SweepPart,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// The invalid argument.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut options = Self {
            files: Vec::new(),
            id_parts: BTreeSet::new(),
            jobs: cores.min(4),
            users: vec![User::Root, User::Nobody],
            program: None,
            transcripts: None,
            mode: Mode::Full,
            part: SweepPart::WHOLE,
        };
        while let Some(arg) = args.next() {
            let (flag, inline_value) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
                _ => (arg.clone(), None),
            };
            let mut value =
                || inline_value.clone().or_else(|| args.next()).ok_or(format!("`{flag}` needs a value"));
            let number = |text: String| {
                text.parse()
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or(format!("`{text}` is not a number from 1"))
            };
            match flag.as_str() {
                "--only" => options.id_parts.extend(value()?.split(',').map(str::to_owned)),
                "--jobs" => options.jobs = number(value()?)?,
                "--part" => {
                    let text = value()?;
                    options.part = text.parse().map_err(|error: InvalidSweep| error.to_string())?;
                }
                "--bin" => options.program = Some(value()?.into()),
                "--keep" => options.transcripts = Some(value()?.into()),
                "--bare" => options.mode = Mode::Bare,
                "--unfenced" => options.mode = Mode::SandboxOnly,
                "--uid" => {
                    options.users = match value()?.as_str() {
                        "both" => vec![User::Root, User::Nobody],
                        "root" => vec![User::Root],
                        "nobody" => vec![User::Nobody],
                        other => return Err(format!("unknown user `{other}`; use root, nobody or both")),
                    };
                }
                _ if arg.starts_with('-') => return Err(format!("unknown option `{arg}`")),
                _ => options.files.push(arg.into()),
            }
        }
        Ok(options)
    }

    /// Whether the case with this id is to run.
    pub(crate) fn includes(&self, id: &str) -> bool {
        self.id_parts.is_empty() || self.id_parts.iter().any(|part| id.contains(part.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &str) -> Result<Options, String> {
        Options::parse(args.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_parsed() {
        let options =
            parse("f.jsonl g.jsonl --only A001,B0 --jobs=3 --uid root --bin /b --keep k --bare").unwrap();
        assert_eq!(options.files, [PathBuf::from("f.jsonl"), "g.jsonl".into()]);
        assert!(options.includes("AT-A001") && options.includes("AT-B002") && !options.includes("AT-A002"));
        assert_eq!((options.jobs, options.users, options.mode), (3, vec![User::Root], Mode::Bare));
        assert_eq!((options.program, options.transcripts), (Some("/b".into()), Some("k".into())));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for args in ["--jobs 0", "--jobs", "--uid wheel", "--part 4/4", "--loud"] {
            assert!(parse(args).is_err(), "{args}");
        }
    }
}
