//! Prompts as messages on stdin, as SDKs write them: one session in one process, a run for each message.
//!
//! Begins when the first message is there; until then requests are answered and nothing is made. A message that comes
//! while a run goes on waits for its end. The end of stdin ends the program after the last run.

use std::fs::File;
use std::sync::Arc;

use futures_util::future::join;
use ibeam_core::{Journal, Redactor, Stop};
use ibeam_protocol::{Failure, McpStatus, Notice, Reason};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::chat::{ends_program, say_goodbye};
use super::host_model::HostModel;
use super::prepare;
use super::resources::RunInputs;
use super::sandbox::RunSandbox;
use super::session_opener::{SessionOpener, SessionTarget};
use super::watchdog::StartupWatchdog;
use super::{Shutdown, end_of, heartbeat, no_thread, on_runtime, resources, system, timeout};
use crate::app::AppContext;
use crate::dialect::{DialectWriter, Host, HostHooks, HostPrompt, PromptReceiver};
use crate::exit::ExitFailure;
use crate::mcp::{self, ServerDeclaration, Servers};
use crate::printer::Printer;
use crate::pump::{CurrentStop, Pump, WAITING_EVENTS};
use crate::stderr_notices::NoticePrinter;
use crate::{exit, hooks, stderr, stdout};

/// Runs each message of the host that started us, in `dialect_writer`.
///
/// # Errors
/// What keeps a run from starting, or how the last one ended.
pub(crate) fn converse(
    app: &AppContext,
    target: &SessionTarget,
    dialect_writer: &DialectWriter,
    stdout: File,
    beginning: StartupWatchdog,
) -> Result<(), ExitFailure> {
    on_runtime(|runtime| converse_on(runtime, app, target, dialect_writer, stdout, beginning))
}

fn converse_on(
    runtime: &Runtime,
    app: &AppContext,
    target: &SessionTarget,
    dialect_writer: &DialectWriter,
    stdout: File,
    beginning: StartupWatchdog,
) -> Result<(), ExitFailure> {
    // A signal ends the program, an interrupt of the host's the run that goes on.
    let (whole, watchdog) = beginning.into_parts();
    let shutdown = || Shutdown::within(app.base.config.timeout("shutdown"));
    let budget = shutdown().budget();
    let _watch = watchdog.watch(&whole, None, budget);
    exit::set_catalogue(&app.base.catalogue);
    exit::set_unstarted_run_writer(dialect_writer.event_writer());
    {
        let _context = runtime.enter();
        heartbeat::start(app.base.flags.heartbeat);
    }
    let current = CurrentStop::new(Stop::default());
    let watched = stdout.try_clone().map_err(|error| system("descriptor", &error))?;
    dialect_writer.set_output(stdout::BackpressuredStdout::new(stdout, &current, shutdown().patience()));
    stdout::watch_reader(watched, &current).map_err(no_thread)?;
    let (host, mut prompts, requests) =
        Host::start(dialect_writer.clone(), HostModel::listed(app)).map_err(no_thread)?;
    let mut model = HostModel::new(app, Arc::clone(&host), requests);
    let first = runtime.block_on(next(&mut prompts, &mut model, &current.get(), &whole))?;
    let Some(first) = first else { return Ok(()) };
    let chosen = model.first()?;
    let opening = SessionOpener::new(app, target)?;
    if let Some(head) = prepare::preview(app, &opening, &chosen) {
        exit::set_expected_run(head, first.blocks.clone());
    }
    let additions = host.additions();
    let is_replaced = |server: &ServerDeclaration| {
        server.status != McpStatus::Disabled && additions.servers.contains(&server.name)
    };
    let mut declared = mcp::declared_servers(app)?;
    declared.retain(|server| !is_replaced(server));
    let is_disabled = |name: &String| declared.iter().any(|server| server.name == *name);
    let of_host: Vec<String> = additions.servers.iter().filter(|name| !is_disabled(name)).cloned().collect();
    let hooks = hooks::load(app)?;
    let guards = RunSandbox::spawn(app, true)?.join()?;
    let opened = runtime.block_on(async {
        let stop = Stop::default();
        let _watch = watchdog.watch(&stop, timeout(app), budget);
        let (whole, linked) = (whole.clone(), stop.clone());
        let link = tokio::spawn(async move { linked.request(whole.wait().await) });
        let opened = opening.open_unless_stopped(&stop).await;
        link.abort();
        opened
    })?;
    let mut started = prepare::start(app, opened, chosen)?;
    started.head.sandbox.clone_from(&guards.sandbox);
    started.notices.extend(guards.notices.iter().cloned());
    let servers = runtime.block_on(async {
        let mut servers = Servers::start_all(app, declared, &whole).await?;
        let streams = of_host.into_iter().map(|name| (name.clone(), host.connect_server(&name))).collect();
        servers.attach(app, streams, &whole).await?;
        Ok::<_, Reason>(servers)
    })?;
    host.set_server_statuses(&servers.statuses);
    let unheard = (!additions.uncalled_hooks.is_empty()).then(|| Notice::ArgumentsIgnored {
        dialect: dialect_writer.options().dialect.to_string(),
        arguments: format!("hooks {}", additions.uncalled_hooks.join(", ")),
    });
    let told = hooks.notices.iter().cloned().chain(app.ignored_arguments_notice()).chain(unheard).collect();
    let hooks = hooks::runner(hooks, app, &started.head, false);
    let redactor = || Redactor::new(crate::model::all_secrets(app));
    let listening =
        HostHooks::chain(Arc::clone(&hooks) as _, &host, additions.hooks, &started.head, redactor);
    let further = [app.base.flags.append_system_prompt.clone(), additions.instructions].concat();
    let foundation = RunInputs {
        head: started.head,
        provider: started.provider,
        guards,
        has_person: false,
        further,
        past_contents: started.past_contents,
    };
    let mut ports = resources::build(app, foundation, host.clone(), &servers, listening, Stop::default())?;
    let _proxy = ports.proxy.take().map(|proxy| runtime.spawn(proxy));
    let (events, receiver) = mpsc::channel(WAITING_EVENTS);
    let writer = dialect_writer.event_writer();
    let printer = Printer::new(
        started.session,
        writer,
        NoticePrinter::new(Arc::clone(&app.base.catalogue)),
        current.clone(),
    );
    let pump = Pump { printer: Arc::clone(&printer) };
    let thread = pump.start(receiver).map_err(no_thread)?;
    let mut journal = Journal::new(started.past, Arc::clone(&ports.run.clock), events)
        .with_redactor(Redactor::new(crate::model::all_secrets(app)));
    let mut notices = app.trust.merge_notices([started.notices, servers.notices.clone(), told].concat());
    let mut waiting = Some(first);
    let outcome = loop {
        let Some(HostPrompt { blocks, stop }) = waiting.take() else { break Ok(()) };
        ports.run.stop = stop.clone();
        current.set(stop.clone());
        dialect_writer.start_run();
        let outcome = runtime.block_on(async {
            let _watch = watchdog.watch(&stop, timeout(app), budget);
            let (whole, stop) = (whole.clone(), stop.clone());
            let link = tokio::spawn(async move { stop.request(whole.wait().await) });
            let notices = std::mem::take(&mut notices);
            let shutdown = shutdown();
            let outcome = tokio::select! {
                outcome = end_of(&shutdown, &ports.run, &mut journal, blocks, notices) => outcome,
                never = model.answer_requests() => match never {},
            };
            link.abort();
            outcome
        });
        host.finish_run();
        match &outcome {
            Err(failed)
                if whole.requested().is_some()
                    || ends_program(&failed.failure.reason)
                    || printer.is_taken_over() =>
            {
                break outcome;
            }
            Ok(()) | Err(_) => {}
        }
        current.set(Stop::default());
        ports.run.head.resumed = true;
        let prompted = runtime.block_on(next(&mut prompts, &mut model, &current.get(), &whole));
        waiting = match (prompted, outcome) {
            (Ok(None), outcome) => break outcome,
            (Err(failure), _) => break Err(failure.into()),
            (Ok(Some(prompted)), outcome) => {
                if let Err(failed) = outcome {
                    stderr::write_line(&failed.explained(&app.base.catalogue).to_string());
                }
                if let Err(failure) = model.change(&mut ports.run) {
                    break Err(failure.into());
                }
                Some(prompted)
            }
        };
    };
    let ended = outcome.as_ref().map_or_else(|failed| Err(failed.failure.clone()), |()| Ok(()));
    runtime.block_on(say_goodbye(app, &hooks, &ended));
    let patience = app.base.config.timeout("shutdown");
    runtime.block_on(join(ports.background.stop_all(), servers.shut_down(patience)));
    drop(journal);
    let unwritten = shutdown().join(&thread, &printer, &ports.run.stop);
    match (outcome, unwritten) {
        (Ok(()), Some(reason)) => Err(reason.into()),
        (outcome, _) => outcome,
    }
}

/// The next prompt; `None` at the end of stdin. A signal, and a reader that goes away, end the waiting. Requests for
/// another model are answered meanwhile.
async fn next(
    prompts: &mut PromptReceiver,
    model: &mut HostModel<'_>,
    idle: &Stop,
    whole: &Stop,
) -> Result<Option<HostPrompt>, Failure> {
    tokio::select! {
        biased;
        reason = whole.wait() => Err(reason.into()),
        reason = idle.wait() => Err(reason.into()),
        // What came before the prompt is answered before it is run.
        never = model.answer_requests() => match never {},
        prompt = prompts.recv() => Ok(prompt.transpose()?),
    }
}
