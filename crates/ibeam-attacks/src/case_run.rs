//! One case from its line to its verdict: ground, listeners, model, the program, evidence.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibeam_testkit::{Ibeam, ModelServer, Stdin};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canary::Canary;
use crate::case::Case;
use crate::case_machine;
use crate::effect::Effect;
use crate::evidence::Evidence;
use crate::file_snapshot::Trace;
use crate::fixture::Ground;
use crate::journal::Journal;
use crate::listener::Listener;
use crate::mode::Way;
use crate::name_answers::Answers;
use crate::name_server::NameServer;
use crate::run_result::Ran;
use crate::setup::{Arranged, pins, reads_stdin};
use crate::terminal::Terminal;
use crate::tracer_watch::TracerWatch;
use crate::user::Who;
use crate::verdict::{self, Outcome};
use crate::{bare_bash, cron_tables, model_script, preconditions, survivors, user_commands};

/// Longer than any case may take.
const GUARD: Duration = Duration::from_secs(90);
/// What a case that says how long it may take gets beyond that, before the program is ended.
const GRACE: Duration = Duration::from_secs(15);

/// A case to be played, and with what.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Job {
    pub(crate) case: Value,
    pub(crate) who: Who,
    pub(crate) program: PathBuf,
    pub(crate) programs_of_tests: PathBuf,
    /// An empty directory, where the case has a machine of its own.
    pub(crate) stage: Option<PathBuf>,
    pub(crate) way: Way,
}

/// What came of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    /// All that was said, for whoever wants to know more.
    pub(crate) transcript: String,
}

/// Why there is no verdict.
enum Unplayed {
    Skipped(String),
    Failed(String),
}

impl From<io::Error> for Unplayed {
    fn from(error: io::Error) -> Self {
        Self::Failed(format!("the runner: {error}"))
    }
}

/// Plays it.
pub(crate) fn play(job: &Job) -> Played {
    let outcome = match try_play(job) {
        Ok(played) => return played,
        Err(Unplayed::Skipped(why)) => Outcome::Skipped(why),
        Err(Unplayed::Failed(why)) => Outcome::Failed(vec![why]),
    };
    Played { outcome, transcript: String::new() }
}

fn try_play(job: &Job) -> Result<Played, Unplayed> {
    let machine = match &job.stage {
        Some(stage) => Some(case_machine::furnish(stage, &job.program, &job.programs_of_tests)?),
        None => None,
    };
    let (program, programs_of_tests) = match &machine {
        Some(machine) => (&machine.program, &machine.programs_of_tests),
        None => (&job.program, &job.programs_of_tests),
    };
    let mut listener = Listener::start()?;
    let mut ground = Ground::lay_out(job.who, program, programs_of_tests, listener.port())?;
    if job.case.to_string().contains("{{BIN}}") {
        ground.expose_program()?;
    }
    let case = job.way.apply(Case::parse(&ground.fill(&job.case)).map_err(Unplayed::Skipped)?);
    if job.way == Way::Bare && (bare_bash::command(&case).is_none() || case.resumed().is_some()) {
        return Err(Unplayed::Skipped("no command does the same without the program".to_owned()));
    }
    let launcher = preconditions::launcher(&case, &ground, machine.is_some()).map_err(Unplayed::Skipped)?;
    if let Some(machine) = &machine {
        listener.widen(&machine.addresses)?;
    }
    let on_unix = case.looks_for(&Effect::UnixConnection);
    if on_unix {
        let Ok(path) = listener.listen_on_unix(&ground.out()) else {
            return Err(Unplayed::Skipped("somebody else has the unix socket of the listener".to_owned()));
        };
        // Only the owner may make a hard link of it.
        ground.give(&path)?;
    }
    let names = machine.as_ref().map(|_| NameServer::start(told_answers(&case))).transpose()?;

    let effects = [case.breaches(), case.oks()].into_iter().flatten().flatten().collect::<Vec<_>>();
    if let Some(stage) = job.stage.as_deref().filter(|_| effects.contains(&Effect::CronChanged)) {
        cron_tables::cover(stage)?;
    }
    // Ended when the case is over, and whatever it left in the background with it.
    let background = user_commands::prepare(&ground, &case.setup)
        .map_err(|error| Unplayed::Failed(format!("the setup: {error}")))?;
    let model = ModelServer::start(model_script::answers(&case));
    let pins = pins(&case, names.is_some(), listener.port());
    let arranged = Arranged::new(&case, &ground, &model.url(), &pins)?;
    if case.policy.approved_mcp_hash.is_some() {
        approve(&case, &ground, &arranged, &launcher)?;
    }
    let before = traces(&effects);
    let there = |effect: &&Effect| matches!(effect, Effect::Exists(path) if Trace::of(path).exists());
    if let Some(effect) = effects.iter().find(there) {
        return Err(Unplayed::Failed(format!("it says nothing, since this was so before: {effect:?}")));
    }
    let terminal = effects.contains(&Effect::TerminalInput).then(Terminal::open).transpose()?;
    if let Some(terminal) = &terminal {
        terminal.give_to(job.who.owner().0)?;
    }
    let watch = effects.contains(&Effect::AgentTraced).then(|| TracerWatch::start("ibeam"));
    let mut resumed = None;
    let ran = if job.way == Way::Bare {
        bare_bash::run(&case, &ground, &arranged)?
    } else {
        let mut command = ibeam(&case, &ground, &arranged, &arranged.args).through(&launcher);
        if let Some(terminal) = &terminal {
            // The terminal must be stdin before it becomes the one that controls.
            command = command.through(["/usr/bin/setsid", "--wait", "--ctty"]);
            command = command.after(&format!("exec < '{}'", terminal.path()));
        }
        let finished = command.run();
        if case.resumed().is_some() {
            resumed = Some(resume(&case, &ground, &arranged, &launcher, &model.url())?);
        }
        Ran { finished, requests: bodies(&model) }
    };
    let traced = watch.is_some_and(TracerWatch::finish);
    let printed_after = user_commands::follow_up(&ground, &case.after, &ground.start(case.cwd.as_deref()))?;

    let found = survivors::find(&effects, Instant::now() + Duration::from_secs(1));
    drop(background);
    let mut heard = listener.finish();
    heard.names = names.map(NameServer::finish).unwrap_or_default();
    if case.tool == "shell" {
        heard.datagrams += heard.names.len();
    }
    let evidence = Evidence {
        ran,
        resumed,
        printed_after,
        traced,
        journal: Journal::read(&ground.state().join("sessions")),
        heard,
        canary: Canary::new(case.own_words()),
        alive: found,
        mcp_called: arranged.mcp_mark.exists(),
        typed: terminal.as_ref().is_some_and(Terminal::has_input),
        after: traces(&effects),
        before,
        steps: case.steps.len(),
    };
    take_away(&evidence, ground.top());
    let outcome = match job.way {
        Way::Whole => verdict::judge(&case, &evidence),
        Way::Bare => verdict::bare(&case, &evidence),
        Way::Unfenced => verdict::unfenced(&case, &evidence),
    };
    let transcript = match &outcome {
        Outcome::Failed(_) => transcript(&case, &arranged, &evidence),
        Outcome::Passed | Outcome::Skipped(_) => String::new(),
    };
    Ok(Played { outcome, transcript })
}

/// The second run on the session, with a script of its own.
fn resume(
    case: &Case,
    ground: &Ground,
    arranged: &Arranged,
    launcher: &[std::ffi::OsString],
    first: &str,
) -> io::Result<Ran> {
    let model = ModelServer::start(model_script::resumed_answers(case));
    arranged.lead_to(ground, first, &model.url())?;
    let args: Vec<String> = arranged.args.iter().cloned().chain(["--continue".to_owned()]).collect();
    let finished = ibeam(case, ground, arranged, &args).through(launcher).run();
    Ok(Ran { finished, requests: bodies(&model) })
}

fn bodies(model: &ModelServer) -> Vec<Value> {
    model.requests().into_iter().map(|request| request.body).collect()
}

/// What the case says of names, where nobody has granted it.
fn told_answers(case: &Case) -> BTreeMap<String, Answers> {
    let told = case.policy.resolve.iter();
    told.filter_map(|(name, said)| Some((name.to_lowercase(), Answers::parse(said).ok()?))).collect()
}

/// A first run in which the person approves the MCP server; then the server changes.
fn approve(
    case: &Case,
    ground: &Ground,
    arranged: &Arranged,
    launcher: &[std::ffi::OsString],
) -> io::Result<()> {
    let args: Vec<String> = arranged.args.iter().cloned().chain(["--approve-mcps".to_owned()]).collect();
    let finished = ibeam(case, ground, arranged, &args).through(launcher).run();
    if finished.code != Some(0) {
        return Err(io::Error::other(format!("the first run, which approves: {finished}")));
    }
    arranged.change_mcp(ground, "two")
}

fn ibeam(case: &Case, ground: &Ground, arranged: &Arranged, args: &[String]) -> Ibeam {
    let environment = arranged.environment.iter();
    // A program that hangs need not be waited for much longer than it may take.
    let guard = case.max_s.map_or(GUARD, |most| GUARD.min(Duration::from_secs_f64(most.max(0.0)) + GRACE));
    let command = Ibeam::new(ground.program(), &ground.workspace).args(args).guard(guard);
    let command = if reads_stdin(case) { command.stdin(Stdin::SilentPipe) } else { command };
    let command =
        environment.fold(command.env_remove("PATH"), |command, (name, value)| command.env(name, value));
    match &case.cwd {
        Some(cwd) => {
            let start = ground.start(Some(cwd)).display().to_string().replace('\'', "'\\''");
            command.after(&format!("cd -- '{start}' || exit 99"))
        }
        None => command,
    }
}

fn traces(effects: &[Effect]) -> BTreeMap<PathBuf, Trace> {
    let paths = effects.iter().flat_map(Effect::paths);
    paths.map(|path| (path.clone(), Trace::of(&path))).collect()
}

/// What a case made on the machine itself, which the next one must not find.
fn take_away(evidence: &Evidence, ground: &Path) {
    for (path, trace) in &evidence.after {
        let ours = path.starts_with(ground) || path.starts_with("/tmp");
        if !ours && trace.exists() && evidence.before(path).is_some_and(|before| !before.exists()) {
            // Whoever cannot has not made it.
            let _gone = std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
        }
    }
}

fn transcript(case: &Case, arranged: &Arranged, evidence: &Evidence) -> String {
    let mut text =
        format!("{case:#?}\n\n{arranged:#?}\n\n{}\n\n{:?}\n", evidence.ran.finished, evidence.heard);
    text.push_str(&format!("\nafter the run:\n{}\n", evidence.printed_after));
    if let Some(ran) = &evidence.resumed {
        text.push_str(&format!("\nthe second run:\n{}\n", ran.finished));
    }
    for (number, request) in evidence.ran.requests.iter().enumerate() {
        let messages = serde_json::to_string_pretty(&request.get("messages")).unwrap_or_default();
        text.push_str(&format!("\nrequest {number}:\n{messages}\n"));
    }
    text
}
