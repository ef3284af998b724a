//! Without `--print` on a terminal: a plain prompt loop over the same events.
//!
//! One session, one run per prompt. An interrupt ends the run; at an empty prompt it ends the program.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approver, Journal};
use ibeam_output::{Text, TextOptions};
use ibeam_protocol::{Failure, Notice, Reason, ToolCall};
use tokio::sync::mpsc;

use super::start::{self, Target};
use super::{join, limit_time, no_thread, ports, runtime, system, within_shutdown};
use crate::app::App;
use crate::pump::{Pump, WAITING_EVENTS};
use crate::signals;
use crate::talk::Talk;

/// Runs prompts until the end of input.
///
/// # Errors
/// What keeps the loop from starting; a failed run is told and the loop goes on.
pub(crate) fn chat(app: &App, target: &Target, first: Option<String>, stdout: File) -> Result<(), Failure> {
    let model = crate::model::choose(app)?;
    let started = start::start(app, target, model)?;
    let mut ports = ports::build(app, started.head, started.provider, Arc::new(Terminal))?;
    let runtime = runtime()?;
    let (events, receiver) = mpsc::channel(WAITING_EVENTS);
    let options = TextOptions { verbose: true, live: true };
    let pump = Pump {
        session: started.session,
        writer: Box::new(Text::new(stdout, Arc::clone(&app.catalogue), options)),
        talk: Talk::new(Arc::clone(&app.catalogue)),
        stop: ports.run.stop.clone(),
        strict: false,
    };
    let thread = pump.start(receiver).map_err(no_thread)?;
    let mut journal = Journal::new(&started.past, Arc::clone(&ports.run.clock), events);
    let mut notices: Vec<Notice> = started.notices;
    let mut waiting = first;
    loop {
        let prompt = match waiting.take() {
            Some(prompt) => prompt,
            None => match ask_line("> ")? {
                Some(line) => line,
                None => break,
            },
        };
        if prompt.trim().is_empty() {
            continue;
        }
        ports.run.stop = ibeam_core::Stop::default();
        let outcome = runtime.block_on(async {
            signals::watch(&ports.run.stop).map_err(|error| system("sigaction", &error))?;
            limit_time(&ports.run, &ports.run.stop);
            let notices = std::mem::take(&mut notices);
            within_shutdown(&ports.run, &mut journal, vec![prompt], notices).await
        });
        if let Err(failure) = outcome {
            drop(writeln!(io::stderr(), "{}", app.catalogue.failure(&failure)));
            match failure.reason {
                Reason::OutputClosed | Reason::Io { .. } => return Err(failure),
                _ => {}
            }
        }
        ports.run.head.resumed = true;
    }
    let _: usize = runtime.block_on(ports.background.stop_all());
    drop(journal);
    join(thread, &ports.run.stop);
    Ok(())
}

/// Asks on the terminal; `None` at the end of input.
fn ask_line(question: &str) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), said: error.to_string() };
    drop(write!(io::stderr(), "{question}"));
    drop(io::stderr().flush());
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line).map_err(failed)? {
        0 => Ok(None),
        _ => Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned())),
    }
}

/// Asks the person at the terminal; anything but yes is no.
struct Terminal;

impl Approver for Terminal {
    fn decide<'a>(&'a self, call: &'a ToolCall, access: &'a Access, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let what = match access {
                Access::Command(command) => command.clone(),
                Access::Read(path) | Access::Write(path) => format!("{} {}", call.name, path.display()),
                Access::Nothing => call.name.clone(),
            };
            let question = format!("allow `{}`? [y/N] ", what.escape_debug());
            // The question is asked on a thread of its own, for a run must stay stoppable while nobody answers.
            let answer = tokio::task::spawn_blocking(move || ask_line(&question)).await;
            matches!(answer, Ok(Ok(Some(answer))) if matches!(answer.trim(), "y" | "Y" | "yes"))
        })
    }
}
