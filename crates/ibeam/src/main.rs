//! ibeam: a coding agent for the command line that other programs can rely on.
//!
//! This file contains only the order of the steps: parse, resolve, run or execute a command, report the end. The
//! contract (docs/output-format.md) defines the content of stdout and stderr and the exit codes.

mod cli;
mod cli_error;
mod command;
mod dialect;
mod event_printing;
mod exit;
mod flag_checks;
mod flags;
mod help_page;
mod mode;
mod print;
mod secret_mask;
mod wrap;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ibeam_agent::app::{AppContext, BaseContext, ConfigUse};
use ibeam_agent::debug_log::DebugLog;
use ibeam_agent::prompt::StdinUse;
use ibeam_agent::run::{SessionTarget, StartupWatchdog};
use ibeam_agent::run_options::RunOptions;
use ibeam_agent::session_observer::SessionObserver;
use ibeam_agent::{environment, model, option_checks, process_end, session_name, stderr, stdout, worktree};
use ibeam_conversation::InteractiveStart;
use ibeam_output::{Catalogue, Contract, SubcommandLine};
use ibeam_protocol::{Reason, sentence};
use ibeam_serve::dialect::{DialectWriter, PromptSource};
use ibeam_serve::{run_hosted, run_input_stream};

use crate::cli::{Cli, ParseExit};
use crate::cli_error::CliError;
use crate::command::{Call, Command, ModelsArgs};
use crate::event_printing::{OutputForm, event_writer};
use crate::exit::{EarlyFailurePrinter, ErrorOutput};
use crate::flags::{ConnectionFlags, ErrorFormat, Flags, Format};
use crate::mode::{ModeInputs, RunMode};

/// Refused memory ends the program like any other failure.
#[global_allocator]
static ALLOCATOR: ibeam_sandbox::ReportingAllocator = ibeam_sandbox::ReportingAllocator;

fn main() -> ExitCode {
    let started = Instant::now();
    keep_memory_private();
    process_end::install(exit::PROCESS_END);
    exit::install_panic_hook();
    ibeam_sandbox::report_refused_memory(exit::report_refused_memory);
    let code = run(started);
    exit::complete_error_file();
    code
}

/// Runs the program and returns its exit code.
fn run(started: Instant) -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let stdout_terminal = rustix::termios::isatty(std::io::stdout().as_fd());
    let mut stdout = match stdout::take() {
        Ok(stdout) => stdout,
        Err(error) => {
            let reason = Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
            return exit::report_failure(&reason.into(), &environment::catalogue(None));
        }
    };
    let parsed = dialect::translate(args.clone()).and_then(|translated| {
        let cli = cli::parse(&translated.args)?;
        Ok((cli, translated.options))
    });
    let (Cli { flags, words, command, command_path, resumed }, dialect_options) = match parsed {
        Ok(parsed) => parsed,
        Err(ParseExit::Help(text)) => {
            let text = wrap::for_terminal(&stdout, &text, 0);
            return print_and_exit(&mut stdout, &text, &args);
        }
        Err(ParseExit::Page(page)) => return exit_code_of(help_page::show(&mut stdout, &page), &args),
        Err(ParseExit::Incomplete { help, error }) => {
            let report = cli::requested_error_output(&args);
            if report.format == ErrorFormat::Text {
                stderr::write_line(help.trim_end());
            }
            drop(exit::configure_error_output(report));
            return exit::report_failure(&error, &environment::catalogue(cli::requested_lang(&args)));
        }
        Err(ParseExit::Error(error)) => {
            // A failure to open the error file would hide the failure to report.
            drop(exit::configure_error_output(cli::requested_error_output(&args)));
            return exit::report_failure(&error, &environment::catalogue(cli::requested_lang(&args)));
        }
    };
    // Every user can read the command line of a process, and a header may hold a token.
    let ConnectionFlags { api_key, header, .. } = &flags.connection;
    ibeam_sandbox::redact_arguments(api_key.iter().chain(header).map(String::as_str));
    if flags.prompt.version {
        // Programs read the bare number; a person reads which program it is.
        let name = if stdout_terminal { "ibeam " } else { "" };
        return print_and_exit(&mut stdout, &format!("{name}{}\n", env!("CARGO_PKG_VERSION")), &args);
    }
    let mut options = flags.run_options();
    if let Some(Command::Resume(args)) = &command {
        options.session = args.id.clone().map_or(SessionTarget::Newest, SessionTarget::Named);
    }
    let (lang, debug) = (flags.other.lang.clone(), flags.other.debug.clone());
    let report = ErrorOutput {
        format: flags.other.error_format.unwrap_or_default(),
        file: flags.other.error_file.clone(),
    };
    let dialect_writer =
        dialect_options.and_then(|options| Some(DialectWriter::new(options, stdout.try_clone().ok()?)));
    let fail = |error: CliError, catalogue: &Catalogue| {
        let error = error.in_command(command_path.as_deref());
        match &dialect_writer {
            Some(dialect_writer) => dialect_writer.write_failure(error.to_contract_event(), error.reason()),
            None => exit::print_early_failure(&error),
        }
        exit::report_failure(&error, catalogue)
    };
    let unstarted = |reason: Reason| fail(reason.into(), &environment::catalogue(lang.as_deref()));
    let is_run = matches!(command, None | Some(Command::Resume(_))) && !flags.prompt.list_models;
    let stdin_terminal = rustix::termios::isatty(std::io::stdin().as_fd());
    if is_run && mode::is_print_mode(flags.prompt.print, stdout_terminal, stdin_terminal) {
        print_early_failures_on_stdout(&flags, &options, dialect_writer.as_ref(), &stdout);
    }
    if let Err(reason) = exit::configure_error_output(report) {
        return unstarted(reason);
    }
    if let Some(dialect_writer) = &dialect_writer {
        options.conventions = dialect_writer.options().conventions();
        // Dialects are converted from contract 1, and their hosts choose the IDs of sessions.
        (options.contract, options.creates_named_session) = (Some(Contract::One.as_str().to_owned()), true);
    }
    if let Err(reason) = flag_checks::check(&flags) {
        return unstarted(reason);
    }
    if let Some(command) = command.as_ref().filter(|command| command.is_offline()) {
        let call = Call { flags: &flags, stdout: &mut stdout };
        return match BaseContext::for_offline_command(options) {
            Ok(base) => {
                command.execute_offline(&base, call).unwrap_or_else(|error| fail(error, &base.catalogue))
            }
            Err(reason) => unstarted(reason),
        };
    }
    let mut startup = None;
    if is_run {
        match StartupWatchdog::start(&options) {
            Ok(watchdog) => startup = Some(watchdog),
            Err(reason) => return unstarted(reason),
        }
    }
    let config_use = command.as_ref().map_or(ConfigUse::Needed, Command::config_use);
    // The flag concerns runs only.
    let worktree = match &startup {
        Some(startup) => worktree::enter(&mut options, startup.stop()),
        None => Ok(None),
    };
    let with_worktree = |worktree| {
        let mut app = AppContext::new(options, config_use, started)?;
        app.worktree = worktree;
        app.observer = dialect_writer.clone().map(|writer| Arc::new(writer) as Arc<dyn SessionObserver>);
        Ok(Arc::new(app))
    };
    match worktree.and_then(with_worktree) {
        Ok(app) => check_resumed(&app, resumed)
            .and_then(|()| dispatch(&app, &flags, dialect_writer.as_ref(), words, command, stdout, startup))
            .unwrap_or_else(|error| {
                app.debug_log
                    .iter()
                    .for_each(|log| log.write_failure(error.explain(&app.base.catalogue).message));
                fail(error, &app.base.catalogue)
            }),
        Err(reason) => {
            if let Some(path) = &debug {
                let catalogue = environment::catalogue(lang.as_deref());
                DebugLog::record_start_failure(path, started, catalogue, &reason);
            }
            unstarted(reason)
        }
    }
}

/// Prints the help or the version, and returns the exit code.
fn print_and_exit(stdout: &mut File, text: &str, args: &[OsString]) -> ExitCode {
    exit_code_of(stdout.write_all(text.as_bytes()), args)
}

/// Returns the exit code after printing. A reader that has closed stdout, as `head` does, is not a failure.
fn exit_code_of(printed: std::io::Result<()>, args: &[OsString]) -> ExitCode {
    match printed {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            drop(exit::configure_error_output(cli::requested_error_output(args)));
            let reason = Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
            exit::report_failure(&reason.into(), &environment::catalogue(cli::requested_lang(args)))
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Registers the printer of a failure on stdout, for a process that is ended by force before the run is known.
fn print_early_failures_on_stdout(
    flags: &Flags,
    options: &RunOptions,
    dialect_writer: Option<&DialectWriter>,
    stdout: &File,
) {
    let format = flags
        .output
        .output_format
        .unwrap_or(mode::default_format(ibeam_agent::app::contract_or_default(options)));
    match (dialect_writer.cloned(), stdout.try_clone()) {
        (Some(dialect_writer), _) => {
            let print = move |error: &CliError| {
                dialect_writer.write_failure(error.to_contract_event(), error.reason())
            };
            exit::set_early_failure_printer(EarlyFailurePrinter { with_head: true, print: Box::new(print) });
        }
        (None, Ok(mut stdout)) if format == Format::StreamJson => {
            // A failure of stdout is ignored: stderr reports the failure in any case.
            let print = move |error: &CliError| drop(writeln!(stdout, "{}", error.to_object()));
            exit::set_early_failure_printer(EarlyFailurePrinter { with_head: false, print: Box::new(print) });
        }
        (None, _) => {}
    }
}

/// Prevents core dumps and reads by other processes of this user: memory and environment hold API keys.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    // A system without this setting is tolerated.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Rejects a prompt that begins with `resume` and the name of a stored session.
///
/// # Errors
/// `ResumeInPrompt`.
fn check_resumed(app: &AppContext, resumed: Option<String>) -> Result<(), CliError> {
    match resumed {
        Some(session) if session_name::is_stored(&app.dirs.sessions(), &session) => {
            Err(CliError::ResumeInPrompt { session })
        }
        Some(_) | None => Ok(()),
    }
}

/// Executes the command, or runs the prompt in the mode that the arguments and the terminals select.
///
/// # Errors
/// The error of the command or of the run.
fn dispatch(
    app: &Arc<AppContext>,
    flags: &Flags,
    dialect_writer: Option<&DialectWriter>,
    words: Vec<OsString>,
    command: Option<Command>,
    mut stdout: File,
    startup: Option<StartupWatchdog>,
) -> Result<ExitCode, CliError> {
    let stdout_terminal = rustix::termios::isatty(&stdout);
    option_checks::check_names(&app.base.options)?;
    if flags.prompt.list_models {
        ModelsArgs::default().list(app, &mut stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let chooses = matches!(&command, Some(Command::Resume(args)) if args.id.is_none());
    if let Some(Command::Resume(args)) = &command
        && let Some(text) = &args.id
        && text.trim().contains(char::is_whitespace)
    {
        let detail = sentence!("`resume` takes a session before the prompt: `ibeam resume -1 \"…\"`");
        return Err(Reason::Usage { detail }.into());
    }
    let target = app.base.options.session.clone();
    let words = match command {
        None => words,
        Some(Command::Resume(args)) => args.words,
        Some(Command::Complete(args)) => {
            cli::complete(app, &args.words, &mut stdout)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(command) => {
            let options = dialect_writer.map(DialectWriter::options);
            if let Some(options) = options
                && let (keys, is_usable) = (model::key_sources(app), model::choose_model(app).is_ok())
                && let Some((text, code)) = options.claude.auth_status(&keys, is_usable)
            {
                drop(stdout.write_all(text.as_bytes()));
                return Ok(ExitCode::from(code));
            }
            let status =
                options.and_then(|options| options.codex.login_status(!model::key_sources(app).is_empty()));
            return match status {
                Some(code) => Ok(ExitCode::from(code)),
                None => command.execute(app, Call { flags, stdout: &mut stdout }),
            };
        }
    };
    if flags.session.fork && target == SessionTarget::New {
        return Err(Reason::Usage { detail: sentence!("`--fork` needs `--resume` or `--continue`") }.into());
    }
    check_unpark(flags, &target, &words)?;
    if let (SessionTarget::Named(name), Some(dialect_writer)) = (&target, dialect_writer)
        && let Ok(id) = name.parse()
        && let exists = ibeam_session::exists(&app.dirs.sessions(), id)
        && let Some(reason) = dialect_writer.options().session_error(name, exists)
    {
        return Err(reason.into());
    }
    let reads_messages = mode::reads_messages(flags, &words, dialect_writer.is_some())?;
    let plan = ibeam_agent::run::load_plan(app, &target)?;
    let words = if plan.is_some() { ibeam_agent::run::PlanHandover::words(words) } else { words };
    let mode = mode::infer(ModeInputs {
        print: flags.prompt.print,
        format: flags.output.output_format,
        contract: app.base.contract(),
        partial: flags.output.stream_partial_output,
        stdout_terminal,
        stdin_terminal: rustix::termios::isatty(std::io::stdin().as_fd()),
    })?;
    mode::check_message_output(reads_messages, mode)?;
    if flags.traffic.setup {
        command::install_if_missing(app)?;
    }
    let startup = || startup.map_or_else(|| StartupWatchdog::start(&app.base.options), Ok);
    let form = |format| OutputForm { format, partial: flags.output.stream_partial_output };
    match mode {
        RunMode::Print(format) => {
            match dialect_writer.map(|dialect_writer| (dialect_writer, dialect_writer.options().input)) {
                Some((dialect_writer, PromptSource::Messages)) => {
                    run_hosted(app, &target, dialect_writer, stdout, startup()?)?
                }
                Some((_, PromptSource::Prompt)) if format != Format::StreamJson => {
                    let detail = sentence!("`--dialect` needs `--output-format stream-json`");
                    return Err(Reason::Usage { detail }.into());
                }
                None if reads_messages => run_input_stream(
                    app,
                    &target,
                    Box::new(|stdout| event_writer(&app.base, form(format), stdout)),
                    stdout,
                    startup()?,
                )?,
                Some(_) | None => {
                    let stdin = flags.prompt.stdin.map(StdinUse::from).unwrap_or_default();
                    let input = print::PrintInput { words: &words, stdin, plan, dialect: dialect_writer };
                    print::print(app, &target, input, form(format), stdout, startup()?)?;
                    if dialect_writer.is_none() && format == Format::StreamJson && stdout_terminal {
                        hint_at_text_format(app, flags);
                    }
                }
            }
        }
        RunMode::Interactive => {
            let mut first = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            if let Some(plan) = plan {
                first = format!("{first}\n\n{}", plan.block());
            }
            let start = match chooses {
                true => InteractiveStart::Choice,
                false => InteractiveStart::Session(target),
            };
            let first = (!first.is_empty()).then_some(first);
            let lines_only = flags.output.screen_reader
                || environment::variable("ACCESSIBLE").is_some_and(|value| value != "0");
            ibeam_conversation::run_interactive(app, &start, first, stdout, startup()?, lines_only)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes on stderr which format is for people, if a person has probably not asked for the stream that is on the terminal.
fn hint_at_text_format(app: &AppContext, flags: &Flags) {
    let is_default = flags.output.output_format.is_none();
    // A client that runs the program on a pseudo-terminal names its format.
    if is_default && rustix::termios::isatty(std::io::stdin()) && rustix::termios::isatty(std::io::stderr()) {
        stderr::write_line(&format!("hint: {}", app.base.catalogue.line(&SubcommandLine::StreamOnTerminal)));
    }
}

/// Checks that `--unpark` names a session and no prompt.
fn check_unpark(flags: &Flags, target: &SessionTarget, words: &[OsString]) -> Result<(), Reason> {
    let detail = match (flags.traffic.unpark, target) {
        (false, _) => return Ok(()),
        (true, SessionTarget::New) => sentence!("`--unpark` needs `--resume` or `--continue`"),
        (true, _) if flags.session.fork => {
            sentence!("`--unpark` continues a run, so it cannot be used with `--fork`")
        }
        (true, _) if !words.is_empty() => sentence!("`--unpark` continues a run without a prompt"),
        (true, _) if !flags.prompt.print => sentence!("`--unpark` needs `--print`"),
        (true, _) => return Ok(()),
    };
    Err(Reason::Usage { detail })
}
