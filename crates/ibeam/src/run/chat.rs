//! Without `--print` on a terminal: a plain prompt loop over the same events.
//!
//! One session, one run per prompt. An interrupt ends the run; at an empty prompt it ends the program.

use std::fs::File;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use ibeam_core::{Access, ApprovalRequest, Approver, Journal, Redactor, Stop};
use ibeam_hooks::HookRunner;
use ibeam_output::{ApprovalQuestion, Catalogue, Text, TextOptions};
use ibeam_protocol::{Failure, Reason, RunOutcome, Signal, ToolCall};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc};

use super::prepare;
use super::resources::RunInputs;
use super::sandbox::RunSandbox;
use super::session_opener::{SessionOpener, SessionTarget};
use super::terminal_input::TerminalInput;
use super::watchdog::Watchdog;
use super::{Shutdown, end_of, no_thread, on_runtime, resources, system, timeout};
use crate::app::AppContext;
use crate::exit::ExitFailure;
use crate::hooks;
use crate::mcp::{self, Servers};
use crate::printer::Printer;
use crate::pump::{CurrentStop, Pump, WAITING_EVENTS};
use crate::stderr_notices::NoticePrinter;
use crate::{exit, signals, stderr};

/// Runs prompts until the end of input.
///
/// # Errors
/// What keeps the loop from starting; a failed run is told and the loop goes on.
pub(crate) fn chat(
    app: &AppContext,
    target: &SessionTarget,
    first: Option<String>,
    stdout: File,
) -> Result<(), Failure> {
    on_runtime(|runtime| chat_on(runtime, app, target, first, stdout))
}

fn chat_on(
    runtime: &Runtime,
    app: &AppContext,
    target: &SessionTarget,
    first: Option<String>,
    stdout: File,
) -> Result<(), Failure> {
    let model = crate::model::choose_model(app)?;
    let declared = mcp::declared_servers(app)?;
    let hooks = hooks::load(app)?;
    let guards = RunSandbox::spawn(app, false)?.join()?;
    let mut started = prepare::start(app, SessionOpener::new(app, target)?.open()?, model)?;
    started.head.sandbox.clone_from(&guards.sandbox);
    started.notices.extend(guards.notices.iter().cloned());
    let servers = runtime.block_on(async {
        let stop = Stop::default();
        let _watch = signals::watch(&stop).map_err(|error| system("sigaction", &error))?;
        Servers::start_all(app, declared, &stop).await
    })?;
    let typed = Arc::new(Mutex::new(TerminalInput::start().map_err(no_thread)?));
    let person = Arc::new(Person { typed: Arc::clone(&typed), catalogue: Arc::clone(&app.base.catalogue) });
    let told = hooks.notices.clone();
    let hooks = hooks::runner(hooks, app, &started.head, false);
    let listening = Arc::clone(&hooks);
    let further = app.base.flags.append_system_prompt.clone();
    let foundation = RunInputs {
        head: started.head,
        provider: started.provider,
        guards,
        has_person: true,
        further,
        past_contents: started.past_contents,
    };
    let mut ports = resources::build(app, foundation, person, &servers, listening, Stop::default())?;
    let _proxy = ports.proxy.take().map(|proxy| runtime.spawn(proxy));
    let (events, receiver) = mpsc::channel(WAITING_EVENTS);
    let options = TextOptions { verbose: true, live: true, ..TextOptions::default() };
    let current = CurrentStop::new(ports.run.stop.clone());
    let writer = Box::new(Text::new(stdout, Arc::clone(&app.base.catalogue), options));
    let printer = Printer::new(
        started.session,
        writer,
        NoticePrinter::new(Arc::clone(&app.base.catalogue)),
        current.clone(),
    );
    let pump = Pump { printer: Arc::clone(&printer) };
    exit::set_catalogue(&app.base.catalogue);
    let watchdog = Watchdog::start(None)?;
    let thread = pump.start(receiver).map_err(no_thread)?;
    let mut journal = Journal::new(started.past, Arc::clone(&ports.run.clock), events)
        .with_redactor(Redactor::new(crate::model::all_secrets(app)));
    let mut notices = app.trust.merge_notices([started.notices, servers.notices.clone(), told].concat());
    let mut waiting = first;
    let outcome = loop {
        let prompt = match waiting.take() {
            Some(prompt) => prompt,
            None => match runtime.block_on(next_prompt(&typed)) {
                Ok(Some(prompt)) => prompt,
                Ok(None) => break Ok(()),
                Err(failure) => break Err(failure),
            },
        };
        if prompt.trim().is_empty() {
            continue;
        }
        ports.run.stop = Stop::default();
        current.set(ports.run.stop.clone());
        let outcome = runtime.block_on(async {
            let _signals = signals::watch(&ports.run.stop).map_err(|error| system("sigaction", &error))?;
            let notices = std::mem::take(&mut notices);
            let shutdown = Shutdown::within(app.base.config.timeout("shutdown"));
            let _watch = watchdog.watch(&ports.run.stop, timeout(app), shutdown.budget());
            end_of(&shutdown, &ports.run, &mut journal, vec![prompt], notices).await
        });
        match outcome {
            Ok(()) => {}
            Err(ExitFailure { failure, .. }) if ends_program(&failure.reason) || printer.is_taken_over() => {
                break Err(failure);
            }
            Err(failed) => {
                stderr::write_line(&failed.explained(&app.base.catalogue).to_string());
            }
        }
        ports.run.head.resumed = true;
    };
    runtime.block_on(say_goodbye(app, &hooks, &outcome));
    let patience = app.base.config.timeout("shutdown");
    runtime.block_on(join(ports.background.stop_all(), servers.shut_down(patience)));
    drop(journal);
    let unwritten =
        Shutdown::within(app.base.config.timeout("shutdown")).join(&thread, &printer, &ports.run.stop);
    match (outcome, unwritten) {
        (Ok(()), Some(reason)) => Err(reason.into()),
        (outcome, _) => outcome,
    }
}

/// Tells hooks of the end of the session. Any signal ends the waiting.
pub(super) async fn say_goodbye(app: &AppContext, hooks: &HookRunner, outcome: &Result<(), Failure>) {
    let outcome = match outcome {
        Ok(()) => RunOutcome::Completed,
        Err(failure) => RunOutcome::Failed(failure.clone()),
    };
    let stop = Stop::default();
    let Ok(_watch) = signals::watch(&stop) else { return };
    let Some(hearing) = hooks.end_session(&outcome) else { return };
    tokio::select! {
        biased;
        _ = stop.wait() => {}
        heard = hearing => {
            for notice in &heard.notices {
                stderr::write_line(&format!("warning: {}", app.base.catalogue.notice(notice)));
            }
        }
    }
}

/// Whether nothing can follow: an interrupt ends a run, the other signals mean the program.
pub(super) fn ends_program(reason: &Reason) -> bool {
    match reason {
        Reason::Signalled(Signal::Int) => false,
        Reason::Signalled(Signal::Hup | Signal::Quit | Signal::Term) => true,
        reason => matches!(reason, Reason::OutputClosed | Reason::Io { .. }),
    }
}

/// The next prompt; `None` at the end of input. Any signal ends the waiting.
async fn next_prompt(typed: &Mutex<TerminalInput>) -> Result<Option<String>, Failure> {
    let stop = Stop::default();
    let _watch = signals::watch(&stop).map_err(|error| system("sigaction", &error))?;
    tokio::select! {
        biased;
        reason = stop.wait() => Err(reason.into()),
        prompt = async { typed.lock().await.prompt().await } => prompt.map_err(Failure::from),
    }
}

/// Asks the person at the terminal; anything but yes is no.
struct Person {
    typed: Arc<Mutex<TerminalInput>>,
    catalogue: Arc<Catalogue>,
}

impl Approver for Person {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        asked: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let what = match access {
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
                Access::Nothing => call.name.clone(),
            };
            let ApprovalRequest { rule, reason } = asked;
            let question = self.catalogue.question(&ApprovalQuestion { subject: &what, rule, reason });
            let answer = self.typed.lock().await.answer(&question).await;
            answer.is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
        })
    }
}
