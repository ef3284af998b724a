//! Executes one task: finds out what earlier runs left, resumes or starts a run, and concludes from its stream.
//!
//! A kill of this process at any instant is harmless. Everything is read from the directory of the task: a result that was
//! recorded is kept; a run that is still alive is waited for; a run that completed is not repeated; and a run that was
//! interrupted is resumed from its session.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_governor::Spend;
use ibeam_protocol::Sentence;
use rustix::process::{Signal, kill_process};

use crate::budget::{Budget, ExtraLimits};
use crate::check_run::CheckEnd;
use crate::child::{Children, RunProgram, RunStart, TaskRunInputs, exit_code, stdin_from};
use crate::clock::millis;
use crate::dollars::micros_to_usd;
use crate::error::FleetError;
use crate::run_stream::{RunEnd, RunFailure, RunStream, resumable_session};
use crate::stop::StopFlag;
use crate::task::Task;
use crate::task_dir::{Attempt, CurrentStream, TaskDir};
use crate::task_result::{Outcome, TaskResult};
use crate::task_totals::TotalsScope;
use crate::verdict::{Cause, is_full};
use crate::workspace::{Changes, WorkspaceError, Workspaces, discard};

const RESUME_PROMPT: &str = "The run was interrupted. Continue with the task from where it stopped, and do not repeat what is already done.";
/// The time between two looks at a run of an earlier driver.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The pause before the second run after a failure that may pass. It doubles with each further run.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause, unless the provider asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The executor of tasks, which the threads of a driver share.
pub(crate) struct TaskRunner<'a> {
    pub(crate) program: &'a RunProgram,
    pub(crate) workspaces: &'a Workspaces,
    pub(crate) children: &'a Children,
    /// The socket of the governor.
    pub(crate) governor: &'a std::path::Path,
    /// Returns the reason for which the budget refused a request of a task.
    pub(crate) refusal: &'a (dyn Fn(&str) -> Option<String> + Sync),
    pub(crate) stop: &'a StopFlag,
    /// The number of runs of a task that may fail or be killed.
    pub(crate) max_runs: u32,
    /// Whether the rest of a task whose run has ended is repeated here, because another machine might have less of it.
    pub(crate) keeps_ended_runs: bool,
    pub(crate) discards_workspaces: bool,
}

/// The conclusion from the runs of a task.
#[derive(Debug)]
pub(crate) enum Conclusion {
    Finished(Box<TaskResult>),
    /// The task may be run again after a pause.
    Retry(Duration),
    /// The run has ended, but git or the check decided nothing: the rest is repeated after a pause.
    FinishAgain(Duration),
    /// The task waits until the fleet is started again.
    Park {
        reason: Sentence,
        /// Whether other tasks would fail in the same way.
        halts: bool,
    },
    /// The work is not decided, and further runs of this command would not change that.
    Undecided(Cause),
    /// The task and those with the same account wait: a key is refused, or a quota is exhausted.
    ParkAccount {
        reason: Sentence,
    },
    /// The run waits for the answer to a request.
    Wait {
        session: String,
    },
}

impl Conclusion {
    /// Returns the conclusion for a task of which the governor refused a request.
    pub(crate) fn from_refusal(reason: String) -> Self {
        let reason = Sentence::from(reason);
        match &*reason {
            Budget::SPENT => Self::Park { reason, halts: true },
            _ => Self::ParkAccount { reason },
        }
    }
}

impl TaskRunner<'_> {
    /// Executes a task as far as possible. Returns what all its runs have consumed, too.
    ///
    /// # Errors
    /// `Io` for a file of the task.
    pub(crate) fn execute(
        &self,
        task: &Task,
        dir: &TaskDir,
        extra: ExtraLimits,
    ) -> Result<(Conclusion, Spend), FleetError> {
        loop {
            let executed = self.execute_once(task, dir, extra)?;
            if let Conclusion::FinishAgain(pause) = executed.0
                && self.keeps_ended_runs
                && self.wait(pause)
            {
                continue;
            }
            return Ok(executed);
        }
    }

    /// Waits for this time; returns false if the driver is to end before.
    fn wait(&self, pause: Duration) -> bool {
        let started = Instant::now();
        while started.elapsed() < pause && !self.stop.is_requested() {
            thread::sleep(POLL_INTERVAL);
        }
        !self.stop.is_requested()
    }

    fn execute_once(
        &self,
        task: &Task,
        dir: &TaskDir,
        mut extra: ExtraLimits,
    ) -> Result<(Conclusion, Spend), FleetError> {
        if let Some(result) = dir.result() {
            return Ok((Conclusion::Finished(Box::new(result)), self.spend_of(&all_streams(dir)?)));
        }
        let Some(mut stream) = self.wait_for_stream(dir)? else {
            return Ok((interrupted(), self.spend_of(&all_streams(dir)?)));
        };
        let mut current = self.current(dir)?;
        if current.end.is_none() && stream.metadata().map_err(FleetError::at(dir.path()))?.len() > 0 {
            // The run was killed.
            dir.set_aside_stream()?;
            let Some(new) = self.wait_for_stream(dir)? else {
                return Ok((interrupted(), self.spend_of(&all_streams(dir)?)));
            };
            stream = new;
            current = RunStream::default();
        }
        let mut exit = None;
        if current.end.is_none() {
            let (earlier, attempt) = (dir.earlier()?, dir.attempt());
            if attempt.streams(&earlier).last().is_some_and(RunStream::is_completed) {
                // Only its check is left.
                dir.take_back_stream()?;
                return self.finish(task, dir, &self.current(dir)?, None);
            }
            let failed = attempt.counted_streams(&earlier);
            if failed_runs(failed) >= self.max_runs {
                let cause = Cause::Runs(failed.len());
                // The next command has all runs again.
                dir.write_attempt(Attempt { counted: earlier.len(), ..attempt })?;
                return Ok((Conclusion::Undecided(cause), self.spend_of(&earlier)));
            }
            let workspace = match self.workspaces.prepare(&task.workspace, &dir.workspace()) {
                Ok(workspace) => workspace,
                Err(_) if self.stop.is_requested() => return Ok((interrupted(), self.spend_of(&earlier))),
                Err(WorkspaceError::Unavailable(message) | WorkspaceError::Undecided(message)) => {
                    let conclusion = self.repeat(dir, Cause::Workspace(message), Conclusion::Retry)?;
                    return Ok((conclusion, self.spend_of(&earlier)));
                }
                Err(error @ (WorkspaceError::NoCommit { .. } | WorkspaceError::NoStart(_))) => {
                    let message = error.to_string();
                    let failed = Failed { code: "workspace".to_owned(), message, exit_code: None };
                    return self.finish(task, dir, &RunStream::default(), Some(failed));
                }
            };
            if self.stop.is_requested() {
                return Ok((interrupted(), self.spend_of(&earlier)));
            }
            let session = resumable_session(attempt.streams(&earlier));
            let parking = self.program.parking.as_deref();
            let start = match (session, parking) {
                (None, _) => RunStart::New { prompt: &task.prompt },
                (Some(session), None) if dir.restored_session().as_deref() == Some(session) => {
                    RunStart::Copied { session, prompt: RESUME_PROMPT }
                }
                // The run itself goes on, so no answer that it has recorded is requested again.
                (Some(session), None) if was_killed(attempt.streams(&earlier), session) => {
                    RunStart::Continued { session }
                }
                (Some(session), None) => RunStart::Resumed { session, prompt: RESUME_PROMPT },
                (Some(session), Some(_)) => RunStart::Continued { session },
            };
            if parking.is_none() && matches!(start, RunStart::Continued { .. }) {
                // The run counts what it has consumed before. The governor alone keeps the budget.
                extra = ExtraLimits::default();
            }
            let inputs = TaskRunInputs {
                start,
                parking: parking.and_then(|parking| parking.directory_for(session)),
                extra,
                error_file: &dir.error_file(),
                governor: self.governor,
            };
            let mut command = self.program.run(task, &workspace, &inputs);
            if let Some(prompt) = start.prompt() {
                let path = dir.path().join("prompt.txt");
                fs::write(&path, prompt).map_err(FleetError::at(&path))?;
                command.stdin(stdin_from(&path).map_err(FleetError::at(&path))?);
            }
            // The run inherits the lock on its stream with its stdout.
            command.stdout(Stdio::from(stream)).stderr(Stdio::from(dir.open_log("stderr.log")?));
            let started = self.children.start(&mut command);
            // Closes the driver's descriptor of the stream.
            drop(command);
            let child = match started {
                Err(_) if self.stop.is_requested() => return Ok((interrupted(), self.spend_of(&earlier))),
                started => started.map_err(FleetError::at(&self.program.program))?,
            };
            dir.write_process(child.id())?;
            exit = exit_code(self.children.wait(child).map_err(FleetError::at(dir.path()))?);
            current = self.current(dir)?;
        }
        self.conclude(task, dir, current, exit, extra)
    }

    /// Returns what runs have consumed, as far as they reported it.
    fn spend_of(&self, streams: &[RunStream]) -> Spend {
        self.program.totals_scope().spend(streams)
    }

    /// Waits until no process writes to the stream; `None` if the driver is to end before.
    fn wait_for_stream(&self, dir: &TaskDir) -> Result<Option<fs::File>, FleetError> {
        let mut asked_to_end = false;
        loop {
            match dir.lock_stream()? {
                CurrentStream::Free(file) => return Ok(Some(file)),
                CurrentStream::InUse => {}
            }
            if self.stop.is_requested() && !asked_to_end {
                asked_to_end = true;
                let Some(pid) = dir.surviving_process() else { return Ok(None) };
                let _ = kill_process(pid, Signal::INT);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reads the stream of the current run. A run that was killed may have completed in its journal before it wrote its
    /// last line.
    fn current(&self, dir: &TaskDir) -> Result<RunStream, FleetError> {
        let mut current = dir.current()?;
        if current.end.is_none() {
            current.end = self.completed_in_journal(current.session_id.as_deref());
        }
        Ok(current)
    }

    /// Returns the end of the last run of a session, if the journal says that the run completed.
    fn completed_in_journal(&self, session: Option<&str>) -> Option<RunEnd> {
        let output = self.program.replay(session?).output().ok()?;
        let end = RunStream::read(output.stdout.as_slice()).ok()?.end?;
        end.failure.is_none().then_some(end)
    }

    /// Decides what becomes of a task whose current run has ended.
    fn conclude(
        &self,
        task: &Task,
        dir: &TaskDir,
        current: RunStream,
        exit: Option<i32>,
        extra: ExtraLimits,
    ) -> Result<(Conclusion, Spend), FleetError> {
        let failure = current.end.as_ref().map(|end| end.failure.clone());
        let again = |conclusion: Conclusion| {
            dir.set_aside_stream()?;
            Ok((conclusion, self.spend_of(&dir.earlier()?)))
        };
        let is_taken_over = exit.is_none();
        match failure {
            // Killed: the next claim resumes it, unless there were too many.
            None if self.stop.is_requested() => again(interrupted()),
            None => again(Conclusion::Retry(Duration::ZERO)),
            Some(Some(failure)) if failure.is_parked() => match (current.session_id, &self.program.parking) {
                (Some(session), Some(_)) => again(Conclusion::Wait { session }),
                (None, Some(_)) => again(Conclusion::Retry(Duration::ZERO)),
                // It waited for a driver, and now there is one.
                (_, None) if is_taken_over => again(Conclusion::Retry(Duration::ZERO)),
                (_, None) => again(Conclusion::Park {
                    reason: format!("{}: {}", failure.code, failure.message).into(),
                    halts: false,
                }),
            },
            Some(Some(failure)) if failure.code == "signal" => match self.stop.is_requested() {
                true => again(interrupted()),
                false => again(Conclusion::Retry(Duration::ZERO)),
            },
            // Maybe only a sub-agent was refused. What the run answered without it decides nothing.
            Some(_) if let Some(reason) = (self.refusal)(&task.id) => again(Conclusion::from_refusal(reason)),
            Some(None) => self.finish(task, dir, &current, None),
            Some(Some(failure)) if failure.is_exhausted() => again(Conclusion::ParkAccount {
                reason: format!("{}: {}", failure.code, failure.message).into(),
            }),
            Some(Some(failure)) if failure.code == "limit" && is_limit_of_fleet(task, extra, &current) => {
                again(Conclusion::Park { reason: Budget::SPENT.into(), halts: true })
            }
            Some(Some(failure)) => {
                let (earlier, attempt) = (dir.earlier()?, dir.attempt());
                let runs = failed_runs(attempt.counted_streams(&earlier)) + 1;
                // What a batch answers with has failed in several batches already.
                let parking = self.program.parking.as_ref();
                let is_parked = parking
                    .is_some_and(|parking| parking.directory_for(current.session_id.as_deref()).is_some());
                let is_repeated = is_parked && failure.code == "provider";
                let may_pass = failure.retryable && !is_repeated && runs < self.max_runs;
                match (may_pass, failure.is_outside_of_task()) {
                    (true, _) => again(Conclusion::Retry(pause(&failure, runs))),
                    (false, true) => {
                        // The next command has all runs again.
                        dir.write_attempt(Attempt { counted: earlier.len() + 1, ..attempt })?;
                        again(Conclusion::Park {
                            reason: format!("{}: {}", failure.code, failure.message).into(),
                            halts: !may_be_of_definition(task, &failure),
                        })
                    }
                    (false, false) => {
                        let RunFailure { code, message, exit_code, .. } = failure;
                        let exit_code = exit.or(Some(exit_code));
                        self.finish(task, dir, &current, Some(Failed { code, message, exit_code }))
                    }
                }
            }
        }
    }

    /// Collects the changes, runs the check and records the result.
    fn finish(
        &self,
        task: &Task,
        dir: &TaskDir,
        current: &RunStream,
        failed: Option<Failed>,
    ) -> Result<(Conclusion, Spend), FleetError> {
        let mut streams = dir.earlier()?;
        if *current != RunStream::default() {
            streams.push(current.clone());
        }
        let spend = self.spend_of(&streams);
        let mut result = summary(task, dir, &streams, self.program.totals_scope());
        let workspace = dir.workspace();
        let has_workspace = workspace.is_dir();
        if has_workspace {
            match self.changes(task, dir) {
                Ok(changes) => {
                    result.patch = changes.has_patch.then(|| dir.patch());
                    result.patch_omitted = changes.omission();
                    result.changed_files = changes.files;
                }
                Err(_) if self.stop.is_requested() => return Ok((interrupted(), spend)),
                Err(error @ WorkspaceError::Undecided(_)) => {
                    let cause = Cause::Changes(error.to_string());
                    return Ok((self.repeat(dir, cause, Conclusion::FinishAgain)?, spend));
                }
                Err(_) if is_full(dir.path()) => {
                    return Ok((self.repeat(dir, Cause::DiskFull, Conclusion::FinishAgain)?, spend));
                }
                Err(
                    error @ (WorkspaceError::NoCommit { .. }
                    | WorkspaceError::NoStart(_)
                    | WorkspaceError::Unavailable(_)),
                ) => {
                    result.message = Some(format!("the changes cannot be read: {error}"));
                }
            }
        }
        match failed {
            Some(Failed { code, message, exit_code }) => {
                (result.outcome, result.code) = (Outcome::Failed, Some(code));
                (result.message, result.exit_code) = (Some(message), exit_code);
            }
            None => {
                result.exit_code = Some(0);
                if let Some(command) = &task.check {
                    // The workspace exists: the directory of the run was prepared in it.
                    let start =
                        self.workspaces.prepare(&task.workspace, &workspace).unwrap_or(workspace.clone());
                    let started = Instant::now();
                    let check = match self.check(task, dir, &start, command)? {
                        CheckEnd::Decided(check) => check,
                        // The stream stays, so the next claim only repeats the check.
                        CheckEnd::Stopped => return Ok((interrupted(), spend)),
                        CheckEnd::Undecided(cause) => {
                            return Ok((self.repeat(dir, cause, Conclusion::FinishAgain)?, spend));
                        }
                    };
                    result.duration_ms = result.duration_ms.saturating_add(millis(started.elapsed()));
                    if !check.passed {
                        result.outcome = Outcome::CheckFailed;
                    }
                    result.check = Some(check);
                }
            }
        }
        dir.write_result(&result)?;
        dir.forget_answers()?;
        // Without a patch, the changes are nowhere else.
        discard(&workspace, self.discards_workspaces && result.patch_omitted.is_none());
        Ok((Conclusion::Finished(Box::new(result)), spend))
    }

    /// Returns the changes of the run. They are recorded before its check, which may add others.
    fn changes(&self, task: &Task, dir: &TaskDir) -> Result<Changes, WorkspaceError> {
        if let Some(changes) = dir.changes() {
            return Ok(changes);
        }
        let changes = self.workspaces.changes(&task.workspace, &dir.workspace(), &dir.patch())?;
        if task.check.is_some() {
            dir.write_changes(&changes).map_err(|error| WorkspaceError::Undecided(error.to_string()))?;
        }
        Ok(changes)
    }

    /// Decides what becomes of a task about whose work nothing is known: it is repeated `again`, but not forever.
    fn repeat(
        &self,
        dir: &TaskDir,
        cause: Cause,
        again: fn(Duration) -> Conclusion,
    ) -> Result<Conclusion, FleetError> {
        let attempt = dir.attempt();
        let undecided = attempt.undecided.saturating_add(1);
        if undecided < self.max_runs {
            dir.write_attempt(Attempt { undecided, ..attempt })?;
            return Ok(again(pause_after(undecided)));
        }
        // The next command has all runs again.
        dir.write_attempt(Attempt { undecided: 0, ..attempt })?;
        Ok(Conclusion::Undecided(cause))
    }
}

/// A failure that ends a task.
struct Failed {
    code: String,
    message: String,
    exit_code: Option<i32>,
}

fn interrupted() -> Conclusion {
    Conclusion::Park { reason: "the fleet was stopped".into(), halts: false }
}

/// Returns the streams of the earlier runs and of the current one, if it has written something.
fn all_streams(dir: &TaskDir) -> Result<Vec<RunStream>, FleetError> {
    let mut streams = dir.earlier()?;
    if dir.path().join("stream.ndjson").exists() {
        streams.push(dir.current()?);
    }
    Ok(streams)
}

/// Whether the last of these streams is that of a killed process in the session.
fn was_killed(streams: &[RunStream], session: &str) -> bool {
    let last = streams.last();
    last.is_some_and(|last| last.end.is_none() && last.session_id.as_deref() == Some(session))
}

/// Returns the number of runs that were killed, or failed in a way that may pass.
fn failed_runs(streams: &[RunStream]) -> u32 {
    let is_failed = |stream: &&RunStream| match stream.end.as_ref().map(|end| &end.failure) {
        None => true,
        Some(Some(failure)) => failure.retryable && !failure.is_exhausted(),
        Some(None) => false,
    };
    u32::try_from(streams.iter().filter(is_failed).count()).unwrap_or(u32::MAX)
}

/// Whether what the definition of the task states may be the cause of a failure, so that other tasks can pass.
fn may_be_of_definition(task: &Task, failure: &RunFailure) -> bool {
    let may_be = match failure.code.as_str() {
        "model" => task.model.is_some(),
        "noinput" => !task.files.is_empty(),
        "usage" | "config" => task.model.is_some() || task.limits.max_cost_micros.is_some(),
        _ => false,
    };
    may_be || !task.env.is_empty()
}

/// Returns the result of a completed task without changes and check.
fn summary(task: &Task, dir: &TaskDir, streams: &[RunStream], totals: TotalsScope) -> TaskResult {
    let ends: Vec<&RunEnd> = streams.iter().filter_map(|stream| stream.end.as_ref()).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    TaskResult {
        id: task.id.clone(),
        outcome: Outcome::Passed,
        code: None,
        message: None,
        exit_code: None,
        session_id: streams.iter().rev().find_map(|stream| stream.session_id.clone()),
        model: task.model.clone().or_else(|| ends.iter().rev().find_map(|end| end.model.clone())),
        usage: totals.usage(streams),
        cost_usd: totals.cost_micros(streams).map(micros_to_usd),
        duration_ms: ends.iter().map(|end| end.duration_ms).sum(),
        runs: count(streams.len()),
        interrupted_runs: count(streams.len() - ends.len()),
        changed_files: Vec::new(),
        patch: None,
        patch_omitted: None,
        check: None,
        directory: Some(dir.path().to_owned()),
    }
}

/// Whether a run ended at a limit that the budget of the fleet set, rather than at one of its own.
fn is_limit_of_fleet(task: &Task, extra: ExtraLimits, current: &RunStream) -> bool {
    let Some(end) = &current.end else { return false };
    let is_tighter =
        |fleet: Option<u64>, own: Option<u64>| fleet.filter(|fleet| own.is_none_or(|own| *fleet < own));
    let cost = is_tighter(extra.cost_micros, task.limits.max_cost_micros);
    let tokens = is_tighter(extra.tokens, task.limits.max_tokens);
    cost.is_some_and(|limit| end.cost_micros.unwrap_or_default() >= limit)
        || tokens.is_some_and(|limit| end.usage.total() >= limit)
}

/// Returns the pause after this number of runs.
fn pause_after(runs: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << runs.saturating_sub(1).min(6)).min(LONGEST_PAUSE)
}

/// Returns the pause before the next run.
fn pause(failure: &RunFailure, runs: u32) -> Duration {
    pause_after(runs).max(Duration::from_millis(failure.retry_after_ms.unwrap_or_default()))
}
