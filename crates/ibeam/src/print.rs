//! Print mode: one prompt from the arguments and stdin, printed in a format or in a dialect.

use std::ffi::OsString;
use std::fs::File;
use std::future::pending;
use std::sync::Arc;

use ibeam_core::{Approver, NoApprover, Stop};
use ibeam_output::{Contract, RunDetails, RunDetailsOptions};
use ibeam_protocol::{Failure, Notice, Reason, UserPrompt};
use ibeam_trace::AtifWriter;
use tokio::sync::oneshot;

use crate::event_printing::{OutputForm, event_writer};
use crate::flags::Format;
use ibeam_agent::app::AppContext;
use ibeam_agent::model;
use ibeam_agent::progress_line;
use ibeam_agent::prompt::{self, Prompt, StdinTimeouts, StdinUse};
use ibeam_agent::run::from_plan::PlanHandover;
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::run_process::{NewWriter, RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run::{on_runtime, system_error, thread_error};
use ibeam_agent::run_error::RunError;
use ibeam_serve::dialect::DialectWriter;

/// The front end of print mode.
struct PrintFrontEnd<'a> {
    app: &'a AppContext,
    format: Format,
    /// The writer of another program's stream, where one was asked for.
    dialect: Option<&'a DialectWriter>,
}

impl PrintFrontEnd<'_> {
    /// Whether a person reads the output: the format is `text`, and no other program's.
    fn prints_text(&self) -> bool {
        self.format == Format::Text && self.dialect.is_none()
    }

    /// Shows what the run waits for, if stderr is a terminal of a person.
    fn show_progress(&self) -> Result<(), Failure> {
        if self.prints_text() && progress_line::is_drawable() {
            progress_line::draw(&self.app.base.catalogue).map_err(thread_error)?;
        }
        Ok(())
    }
}

impl FrontEnd for PrintFrontEnd<'_> {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(NoApprover)
    }

    fn notices(&self) -> Vec<Notice> {
        self.dialect.and_then(|writer| writer.options().ignored_arguments_notice()).into_iter().collect()
    }

    fn details(&self) -> Option<RunDetails> {
        let base = &self.app.base;
        let verbose = base.settings.verbose.value;
        let is_read_by_person = rustix::termios::isatty(rustix::stdio::stderr());
        if !self.prints_text() {
            return None;
        }
        let has_actions = base.contract() == Contract::One;
        // stdout is the same everywhere, so the targets of its lines are on stderr, as on a terminal.
        let targets = has_actions && !verbose;
        // The text that the model wrote until a failure is lost otherwise: stdout has only complete answers.
        let unfinished_answer_only = !verbose && !is_read_by_person;
        let options = RunDetailsOptions { verbose, targets, actions: !has_actions, unfinished_answer_only };
        Some(RunDetails::new(Arc::clone(&base.catalogue), options))
    }
}

/// The source of the prompt, besides stdin.
pub(crate) struct PrintInput<'a> {
    /// The words of the command line.
    pub(crate) words: &'a [OsString],
    /// Whether stdin belongs to the prompt.
    pub(crate) stdin: StdinUse,
    /// The plan of `--from-plan`.
    pub(crate) plan: Option<PlanHandover>,
    /// The writer of another program's stream, where one was asked for.
    pub(crate) dialect: Option<&'a DialectWriter>,
}

/// Runs the prompt and prints it in `form`, or in the dialect that was asked for.
///
/// # Errors
/// The failure of the run; it is in the stream too if the run had started.
pub(crate) fn print(
    app: &Arc<AppContext>,
    target: &SessionTarget,
    input: PrintInput<'_>,
    form: OutputForm,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), RunError> {
    let PrintInput { words, stdin, plan, dialect } = input;
    let new_writer: NewWriter<'_> = match dialect {
        None if form.format == Format::Atif => Box::new(|stdout| Box::new(AtifWriter::for_run(stdout))),
        None => Box::new(|stdout| event_writer(&app.base, form, stdout)),
        Some(writer) => Box::new(|stdout| {
            writer.set_output(stdout);
            writer.event_writer()
        }),
    };
    let printed = on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Single, startup, stdout, new_writer)?;
        // The sandbox starts while the prompt is read.
        let sandbox = RunSandbox::spawn(app)?;
        let read_prompt = || runtime.block_on(read_prompt(app, words, stdin, &process.stop));
        // If the words are a prompt, a wrong model is reported before the wait for stdin. Otherwise a missing prompt is
        // reported first.
        let (model, mut prompt) = if app.base.options.unpark {
            (model::choose_model(app)?, Prompt { blocks: Vec::new(), notice: None })
        } else if prompt::has_text(words) {
            let model = model::choose_model(app)?;
            (model, read_prompt()?)
        } else {
            let prompt = read_prompt()?;
            (model::choose_model(app)?, prompt)
        };
        if let Some(plan) = plan {
            // Directly after the words, so that piped context comes last.
            prompt.blocks.insert(1.min(prompt.blocks.len()), plan.block());
        }
        let front_end = PrintFrontEnd { app, format: form.format, dialect };
        front_end.show_progress()?;
        let mut session = RunSession::open(process, target, model, sandbox, &prompt, &front_end)?;
        let mut prompt = UserPrompt::from(prompt.blocks);
        // Piped text may come from anyone, so only the words of the command line attach files.
        let attached = match prompt::has_text(words) {
            true => session.attach_mentioned(&mut prompt).map(drop),
            false => Ok(()),
        };
        let outcome = match attached {
            Ok(()) => session.run_prompt(prompt, None, pending()),
            Err(failure) => Err(failure.into()),
        };
        session.close(outcome)
    });
    progress_line::stop();
    printed
}

/// Reads the prompt on another thread, which is not waited for after a stop.
///
/// # Errors
/// The errors of [`prompt::read_prompt`]; the reason of the stop.
async fn read_prompt(
    app: &AppContext,
    words: &[OsString],
    stdin: StdinUse,
    stop: &Stop,
) -> Result<Prompt, Reason> {
    let words = words.to_vec();
    let timeouts = StdinTimeouts {
        silence: app.base.settings.timeouts.stdin.value,
        context: app.base.settings.timeouts.stdin_context.value,
    };
    let (sender, prompt) = oneshot::channel();
    let thread = std::thread::Builder::new().name("stdin".to_owned());
    thread
        .spawn(move || {
            // After a stop the receiver is gone.
            let _ = sender.send(prompt::read_prompt(&words, stdin, timeouts));
        })
        .map_err(|error| system_error("thread", &error))?;
    tokio::select! {
        biased;
        reason = stop.wait() => Err(reason),
        prompt = prompt => {
            prompt.unwrap_or_else(|_| Err(Reason::Internal { detail: "stdin was lost".to_owned() }))
        }
    }
}
