//! Interactive mode, without `--print` on a terminal: a plain prompt loop over the same events.
//!
//! One session, one run for each prompt. An interrupt ends the run; at an empty prompt it ends the program.

use std::collections::VecDeque;
use std::fs::File;
use std::future::pending;
use std::io::{self, BufRead};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, ApprovalRequest, Approver};
use ibeam_output::{ApprovalQuestion, Catalogue, Text, TextOptions};
use ibeam_protocol::{Failure, Reason, ToolCall, UserPrompt};
use tokio::sync::{Mutex, mpsc};

use super::run_process::{NewWriter, RunKind, RunProcess};
use super::run_session::{FrontEnd, RunSession};
use super::sandbox::RunSandbox;
use super::session_opener::SessionTarget;
use super::watchdog::StartupWatchdog;
use super::{on_runtime, thread_error};
use crate::app::AppContext;
use crate::exit::ExitFailure;
use crate::prompt::Prompt;
use crate::{model, stderr};

/// The front end of interactive mode.
struct TerminalFrontEnd {
    approver: Arc<TerminalApprover>,
}

impl FrontEnd for TerminalFrontEnd {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver) as _
    }
}

/// Runs `first`, where there is one, and then each line of the terminal, until the end of input.
///
/// # Errors
/// A failure before the first run, or one that no further run can follow. Other failed runs are printed, and the loop
/// continues.
pub(crate) fn run_interactive(
    app: &Arc<AppContext>,
    target: &SessionTarget,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), ExitFailure> {
    let catalogue = &app.base.catalogue;
    let new_writer: NewWriter<'_> = Box::new(|stdout| {
        let options = TextOptions { verbose: true, live: true, ..TextOptions::default() };
        Box::new(Text::new(stdout, Arc::clone(catalogue), options))
    });
    on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Interactive, startup, stdout, new_writer)?;
        let model = model::choose_model(app)?;
        let sandbox = RunSandbox::spawn(app, false)?;
        let input = Arc::new(Mutex::new(TerminalInput::start().map_err(thread_error)?));
        let approver = TerminalApprover { input: Arc::clone(&input), catalogue: Arc::clone(catalogue) };
        let front_end = TerminalFrontEnd { approver: Arc::new(approver) };
        let mut waiting = first;
        let prompt = Prompt { blocks: waiting.iter().cloned().collect(), notice: None };
        let mut session = RunSession::open(process, target, model, sandbox, &prompt, &front_end)?;
        let outcome = loop {
            let next_line = async { input.lock().await.next_prompt().await.map_err(Failure::from) };
            let prompt = match waiting.take() {
                Some(prompt) => prompt,
                None => match session.wait(next_line) {
                    Ok(Some(prompt)) => prompt,
                    Ok(None) => break Ok(()),
                    Err(failure) => break Err(failure.into()),
                },
            };
            if prompt.trim().is_empty() {
                continue;
            }
            let mut prompt = UserPrompt::from(vec![prompt]);
            match session.attach_mentioned(&mut prompt) {
                Ok(()) => {}
                Err(failure) if matches!(failure.reason, Reason::Usage { .. }) => {
                    session.report(&failure.into());
                    continue;
                }
                Err(failure) => break Err(failure.into()),
            }
            match session.run_prompt(prompt, None, pending()) {
                Ok(()) => {}
                Err(failed) if session.must_close(&failed) => break Err(failed),
                Err(failed) => session.report(&failed),
            }
        };
        session.close(outcome)
    })
}

/// Asks the person at the terminal. Every answer but yes refuses the call.
struct TerminalApprover {
    input: Arc<Mutex<TerminalInput>>,
    catalogue: Arc<Catalogue>,
}

impl Approver for TerminalApprover {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let subject = match access {
                Access::Command { text, directory: None } => text.clone(),
                Access::Command { text, directory: Some(directory) } => {
                    format!("{}$ {text}", directory.display())
                }
                Access::Read(path) | Access::Write(path) => format!("{} {}", call.name, path.display()),
                Access::Fetch { url } => format!("{} {url}", call.name),
                Access::Mcp { server, tool, .. } => {
                    let arguments = call.arguments.get("args").map(ToString::to_string).unwrap_or_default();
                    format!("{server}:{tool} {arguments}")
                }
                Access::Nothing | Access::Task { .. } => call.name.clone(),
            };
            let ApprovalRequest { rule, reason } = request;
            let question = self.catalogue.question(&ApprovalQuestion { subject: &subject, rule, reason });
            let answer = self.input.lock().await.answer(&question).await;
            answer.is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
        })
    }
}

/// Lines that a person types. They are read on another thread, so that the wait for one can be cancelled.
///
/// A line that was typed before a question is not its answer; it becomes the next prompt.
struct TerminalInput {
    arriving: mpsc::UnboundedReceiver<io::Result<String>>,
    /// Lines that were typed before a question.
    early: VecDeque<io::Result<String>>,
}

impl TerminalInput {
    /// Starts to read stdin. The thread ends with stdin, or with the process.
    ///
    /// # Errors
    /// The system's error when no thread can be started.
    fn start() -> io::Result<Self> {
        let (lines, arriving) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("typed-lines".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                if lines.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { arriving, early: VecDeque::new() })
    }

    /// Prints the prompt sign and returns the next line; `None` at the end of input. Cancel safe.
    ///
    /// # Errors
    /// `Io` when stdin cannot be read.
    async fn next_prompt(&mut self) -> Result<Option<String>, Reason> {
        stderr::write("> ");
        let line = match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.arriving.recv().await,
        };
        let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
        line.transpose().map_err(failed)
    }

    /// Prints `question` and returns the line after it; `None` when stdin has ended or fails. Cancel safe.
    async fn answer(&mut self, question: &str) -> Option<String> {
        while let Ok(line) = self.arriving.try_recv() {
            self.early.push_back(line);
        }
        stderr::write(question);
        self.arriving.recv().await?.ok()
    }
}
