//! ibeam: a coding agent for the command line that other programs can rely on.
//!
//! Here is the order of things only: parse, resolve, run or carry out, tell the end. What stdout and stderr
//! carry and which exit code is given is contract (docs/output-format.md).

mod app;
mod cli;
mod clock;
mod command;
mod config;
mod context;
mod credentials;
mod environment;
mod exit;
mod mode;
mod model;
mod place;
mod prompt;
mod pump;
mod run;
mod signals;
mod stdout;
mod talk;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Instant;

use ibeam_protocol::Reason;

use crate::app::App;
use crate::cli::{Cli, Command, ErrorFormat, Unparsed};
use crate::exit::Failed;
use crate::mode::{Circumstances, RunMode};
use crate::run::Target;

fn main() -> ExitCode {
    let started = Instant::now();
    exit::fail_on_panic();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let stdout_terminal = rustix::termios::isatty(std::io::stdout().as_fd());
    let mut stdout = match stdout::take() {
        Ok(stdout) => stdout,
        Err(error) => {
            let reason = Reason::Io { what: "stdout".to_owned(), said: error.to_string() };
            return exit::fail(&reason.into(), &environment::catalogue(None), ErrorFormat::Text);
        }
    };
    let Cli { flags, words, command } = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(Unparsed::Said(text)) => {
            drop(stdout.write_all(text.as_bytes()));
            return ExitCode::SUCCESS;
        }
        Err(Unparsed::Wrong(reason)) => {
            return exit::fail(
                &reason.into(),
                &environment::catalogue(None),
                cli::wanted_error_format(&args),
            );
        }
    };
    if flags.version {
        drop(writeln!(stdout, "{}", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    let (lang, error_format) = (flags.lang.clone(), flags.error_format.unwrap_or_default());
    let app = match App::new(flags, started) {
        Ok(app) => app,
        Err(reason) => {
            return exit::fail(&reason.into(), &environment::catalogue(lang.as_deref()), error_format);
        }
    };
    match dispatch(&app, words, command, stdout, stdout_terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => exit::fail(&failed, &app.catalogue, error_format),
    }
}

fn dispatch(
    app: &App,
    words: Vec<OsString>,
    command: Option<Command>,
    mut stdout: File,
    stdout_terminal: bool,
) -> Result<(), Failed> {
    if app.flags.list_models {
        return Ok(command::list_models(app, &mut stdout)?);
    }
    let (target, words) = match command {
        None => (Target::of(&app.flags), words),
        Some(Command::Resume { id: None, words }) => (Target::Newest, words),
        Some(Command::Resume { id: Some(id), words }) => (Target::Named(id), words),
        Some(command) => return Ok(command::carry_out(app, &command, &mut stdout)?),
    };
    let mode = mode::infer(Circumstances {
        print: app.flags.print,
        format: app.flags.output_format,
        stdout_terminal,
        stdin_terminal: rustix::termios::isatty(std::io::stdin().as_fd()),
    })?;
    if app.flags.setup {
        command::install_if_missing(app)?;
    }
    match mode {
        RunMode::Print(format) => run::print(app, &target, &words, format, stdout),
        RunMode::Interactive => {
            let first = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            Ok(run::chat(app, &target, (!first.is_empty()).then_some(first), stdout)?)
        }
    }
}
