//! The run of one case, from its line to its outcome: fixture, listeners, model, program, evidence.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibeam_testkit::{Ibeam, ModelServer, Stdin};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canary::Canary;
use crate::case::Case;
use crate::case_namespaces;
use crate::effect::Effect;
use crate::evidence::Evidence;
use crate::file_snapshot::FileSnapshot;
use crate::fixture::Fixture;
use crate::journal::Journal;
use crate::listener::Listener;
use crate::mode::Mode;
use crate::name_answers::NameAnswers;
use crate::name_server::NameServer;
use crate::run_result::RunResult;
use crate::setup::{RunSetup, cargo_directory, pins, reads_stdin};
use crate::terminal::Terminal;
use crate::tracer_watch::TracerWatch;
use crate::user::{SYSTEM_PATH, User, find_program};
use crate::verdict::{self, CaseOutcome};
use crate::{bare_bash, model_script, survivors, user_commands};

/// The time limit of a case without its own limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(90);
/// The time that a case with its own limit gets beyond that limit.
const GRACE: Duration = Duration::from_secs(15);

/// A case to run, with its programs and mode.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Job {
    pub(crate) case: Value,
    pub(crate) user: User,
    pub(crate) program: PathBuf,
    pub(crate) test_programs: PathBuf,
    /// An empty directory; `None` if the case does not have its own namespaces.
    pub(crate) mount_point: Option<PathBuf>,
    pub(crate) mode: Mode,
}

/// The outcome of a case and its transcript.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct CaseResult {
    pub(crate) outcome: CaseOutcome,
    /// Output of the program and its requests to the model. Empty unless the case failed.
    pub(crate) transcript: String,
}

/// The reason why a case has no verdict.
enum NoVerdict {
    Skipped(String),
    Failed(String),
}

impl From<io::Error> for NoVerdict {
    fn from(error: io::Error) -> Self {
        Self::Failed(format!("the runner: {error}"))
    }
}

/// Runs a case. An error of the runner is a failed outcome.
pub(crate) fn run_case(job: &Job) -> CaseResult {
    let outcome = match try_run_case(job) {
        Ok(result) => return result,
        Err(NoVerdict::Skipped(reason)) => CaseOutcome::Skipped(reason),
        Err(NoVerdict::Failed(reason)) => CaseOutcome::Failed(vec![reason]),
    };
    CaseResult { outcome, transcript: String::new() }
}

fn try_run_case(job: &Job) -> Result<CaseResult, NoVerdict> {
    let namespaces = match &job.mount_point {
        Some(mount_point) => Some(case_namespaces::set_up(mount_point, &job.program, &job.test_programs)?),
        None => None,
    };
    let (program, test_programs) = match &namespaces {
        Some(namespaces) => (&namespaces.program, &namespaces.test_programs),
        None => (&job.program, &job.test_programs),
    };
    let mut listener = Listener::start()?;
    let mut fixture = Fixture::create(job.user, program, test_programs, listener.port())?;
    if job.case.to_string().contains("{{BIN}}") {
        fixture.copy_program()?;
    }
    let case =
        job.mode.apply(Case::parse(&fixture.fill_placeholders(&job.case)).map_err(NoVerdict::Skipped)?);
    if job.mode == Mode::Bare
        && (bare_bash::equivalent_command(&case).is_none() || case.resumed_calls().is_some())
    {
        return Err(NoVerdict::Skipped("no command does the same without the program".to_owned()));
    }
    let launcher = launcher_for(&case, &fixture, namespaces.is_some()).map_err(NoVerdict::Skipped)?;
    if let Some(namespaces) = &namespaces {
        listener.listen_on_web_ports(&namespaces.addresses)?;
    }
    let has_unix_socket = case.names_effect(&Effect::UnixConnection);
    if has_unix_socket {
        let Ok(path) = listener.listen_on_unix(&fixture.outside()) else {
            return Err(NoVerdict::Skipped("another process has the unix socket of the listener".to_owned()));
        };
        // Only the owner of the socket may make a hard link of it.
        fixture.chown_to_user(&path)?;
    }
    let names = namespaces.as_ref().map(|_| NameServer::start(name_answers(&case))).transpose()?;

    let effects = [case.forbidden_effects(), case.expected_effects()]
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>();
    if let Some(mount_point) = job.mount_point.as_deref().filter(|_| effects.contains(&Effect::CronChanged)) {
        case_namespaces::mask_cron_tables(mount_point)?;
    }
    // Dropped at the end of the case, which ends the processes that the setup left in the background.
    let background = user_commands::run_setup_commands(&fixture, &case.setup)
        .map_err(|error| NoVerdict::Failed(format!("the setup: {error}")))?;
    let model = ModelServer::start(model_script::answers(&case));
    let pins = pins(&case, names.is_some(), listener.port());
    let run_setup = RunSetup::new(&case, &fixture, &model.url(), &pins)?;
    if case.policy.approved_mcp_hash.is_some() {
        approve_then_change_mcp_server(&case, &fixture, &run_setup, &launcher)?;
    }
    let before = take_snapshots(&effects);
    let is_already_present =
        |effect: &&Effect| matches!(effect, Effect::Exists(path) if FileSnapshot::take(path).exists());
    if let Some(effect) = effects.iter().find(is_already_present) {
        return Err(NoVerdict::Failed(format!("the effect existed before the run: {effect:?}")));
    }
    let terminal = effects.contains(&Effect::TerminalInput).then(Terminal::open).transpose()?;
    if let Some(terminal) = &terminal {
        terminal.give_to(job.user.owner().0)?;
    }
    let watch = effects.contains(&Effect::ProgramTraced).then(|| TracerWatch::start("ibeam"));
    let mut resumed = None;
    let first_run = if job.mode == Mode::Bare {
        bare_bash::run(&case, &fixture, &run_setup)?
    } else {
        let mut command = program_command(&case, &fixture, &run_setup, &run_setup.args).through(&launcher);
        if let Some(terminal) = &terminal {
            // The terminal must be stdin before it can become the controlling terminal.
            command = command.through(["/usr/bin/setsid", "--wait", "--ctty"]);
            command = command.after(&format!("exec < '{}'", terminal.path()));
        }
        let finished = command.run();
        if case.resumed_calls().is_some() {
            resumed = Some(run_resumed(&case, &fixture, &run_setup, &launcher, &model.url())?);
        }
        RunResult { finished, requests: request_bodies(&model) }
    };
    let was_traced = watch.is_some_and(TracerWatch::finish);
    let printed_after = user_commands::run_later_commands(
        &fixture,
        &case.after,
        &fixture.start_directory(case.cwd.as_deref()),
    )?;

    let survivors_found = survivors::find(&effects, Instant::now() + Duration::from_secs(1));
    drop(background);
    let mut traffic = listener.finish();
    traffic.names = names.map(NameServer::finish).unwrap_or_default();
    if case.tool == "shell" {
        traffic.datagrams += traffic.names.len();
    }
    let evidence = Evidence {
        first_run,
        resumed,
        printed_after,
        was_traced,
        journal: Journal::read(&fixture.data_directory().join("sessions")),
        traffic,
        canary: Canary::new(case.own_texts()),
        survivors: survivors_found,
        mcp_called: run_setup.mcp_marker.exists(),
        has_terminal_input: terminal.as_ref().is_some_and(Terminal::has_input),
        after: take_snapshots(&effects),
        before,
        preceding_calls: case.steps.len(),
    };
    remove_leftovers(&evidence, fixture.top());
    let outcome = match job.mode {
        Mode::Full => verdict::judge(&case, &evidence),
        Mode::Bare => verdict::judge_bare(&case, &evidence),
        Mode::SandboxOnly => verdict::judge_sandbox_only(&case, &evidence),
    };
    let transcript = match &outcome {
        CaseOutcome::Failed(_) => transcript(&case, &run_setup, &evidence),
        CaseOutcome::Passed | CaseOutcome::Skipped(_) => String::new(),
    };
    Ok(CaseResult { outcome, transcript })
}

/// Returns the command prefix that starts the program, or the reason why the case is skipped.
fn launcher_for(case: &Case, fixture: &Fixture, has_namespaces: bool) -> Result<Vec<OsString>, String> {
    let user = fixture.user;
    if let Some(reason) = case.requires.as_deref().and_then(|requires| user.unmet_requirement(requires)) {
        return Err(reason);
    }
    for need in case.needed_programs() {
        let cargo = cargo_directory().filter(|_| need == "cargo" && user == User::Root);
        if find_program(need, SYSTEM_PATH).or_else(|| find_program(need, &cargo?)).is_none() {
            return Err(format!("needs {need}"));
        }
    }
    if !has_namespaces && case.policy.rebinds() {
        return Err("needs a network namespace for a name whose address changes".to_owned());
    }
    if !has_namespaces && case.names_effect(&Effect::JournalLost) {
        return Err("needs a separate disk to fill".to_owned());
    }
    if !has_namespaces && case.names_effect(&Effect::CronChanged) {
        return Err("needs a mount namespace to mask the tables of cron".to_owned());
    }
    match case.env_fault.as_deref().map(str::to_lowercase) {
        None => Ok(user.launcher()),
        Some(fault) if fault.contains("clone_newuser") || fault.contains("user namespace") => user
            .launcher_without_user_namespaces()
            .ok_or_else(|| format!("the fault cannot be injected: {fault}")),
        Some(fault) => Err(format!("the runner cannot inject the fault `{fault}`")),
    }
}

/// Makes the second run on the session, with its own script.
fn run_resumed(
    case: &Case,
    fixture: &Fixture,
    run_setup: &RunSetup,
    launcher: &[OsString],
    first: &str,
) -> io::Result<RunResult> {
    let model = ModelServer::start(model_script::answers_of_resumed_run(case));
    run_setup.replace_model_url(fixture, first, &model.url())?;
    let args: Vec<String> = run_setup.args.iter().cloned().chain(["--continue".to_owned()]).collect();
    let finished = program_command(case, fixture, run_setup, &args).through(launcher).run();
    Ok(RunResult { finished, requests: request_bodies(&model) })
}

fn request_bodies(model: &ModelServer) -> Vec<Value> {
    model.requests().into_iter().map(|request| request.body).collect()
}

/// Returns the addresses of names, as the policy of the case sets them.
fn name_answers(case: &Case) -> BTreeMap<String, NameAnswers> {
    let resolutions = case.policy.resolve.iter();
    resolutions
        .filter_map(|(name, text)| Some((name.to_lowercase(), NameAnswers::parse(text).ok()?)))
        .collect()
}

/// Makes a first run in which the user approves the MCP server, then changes the server.
fn approve_then_change_mcp_server(
    case: &Case,
    fixture: &Fixture,
    run_setup: &RunSetup,
    launcher: &[OsString],
) -> io::Result<()> {
    let args: Vec<String> = run_setup.args.iter().cloned().chain(["--approve-mcps".to_owned()]).collect();
    let finished = program_command(case, fixture, run_setup, &args).through(launcher).run();
    if finished.code != Some(0) {
        return Err(io::Error::other(format!("the first run, which approves: {finished}")));
    }
    run_setup.set_mcp_version(fixture, "two")
}

fn program_command(case: &Case, fixture: &Fixture, run_setup: &RunSetup, args: &[String]) -> Ibeam {
    let environment = run_setup.environment.iter();
    // A program that hangs is ended soon after its limit.
    let guard = case.max_s.map_or(DEFAULT_TIMEOUT, |limit| {
        DEFAULT_TIMEOUT.min(Duration::from_secs_f64(limit.max(0.0)) + GRACE)
    });
    let command = Ibeam::new(fixture.program(), &fixture.workspace).args(args).timeout(guard);
    let command = if reads_stdin(case) { command.stdin(Stdin::SilentPipe) } else { command };
    let command =
        environment.fold(command.env_remove("PATH"), |command, (name, value)| command.env(name, value));
    match &case.cwd {
        Some(cwd) => {
            let start = fixture.start_directory(Some(cwd)).display().to_string().replace('\'', "'\\''");
            command.after(&format!("cd -- '{start}' || exit 99"))
        }
        None => command,
    }
}

fn take_snapshots(effects: &[Effect]) -> BTreeMap<PathBuf, FileSnapshot> {
    let paths = effects.iter().flat_map(Effect::paths);
    paths.map(|path| (path.clone(), FileSnapshot::take(&path))).collect()
}

/// Removes files that a case created outside its fixture, so that the next case does not find them.
fn remove_leftovers(evidence: &Evidence, fixture: &Path) {
    for (path, snapshot) in &evidence.after {
        let is_cleaned_up = path.starts_with(fixture) || path.starts_with("/tmp");
        if !is_cleaned_up && snapshot.exists() && evidence.before(path).is_some_and(|before| !before.exists())
        {
            // A file that cannot be removed was not created by this process.
            let _gone = std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
        }
    }
}

fn transcript(case: &Case, run_setup: &RunSetup, evidence: &Evidence) -> String {
    let mut text =
        format!("{case:#?}\n\n{run_setup:#?}\n\n{}\n\n{:?}\n", evidence.first_run.finished, evidence.traffic);
    text.push_str(&format!("\nafter the run:\n{}\n", evidence.printed_after));
    if let Some(run) = &evidence.resumed {
        text.push_str(&format!("\nthe second run:\n{}\n", run.finished));
    }
    for (number, request) in evidence.first_run.requests.iter().enumerate() {
        let messages = serde_json::to_string_pretty(&request.get("messages")).unwrap_or_default();
        text.push_str(&format!("\nrequest {number}:\n{messages}\n"));
    }
    text
}
