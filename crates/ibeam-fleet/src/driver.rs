//! The driver of a fleet: claims tasks, executes them on some threads, and reports what happens.
//!
//! Each thread works on one task at a time and waits for its process. The calling thread reports events, renews leases
//! and passes a requested end on to the processes.

mod event;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::event::Event;
use crate::budget::{Budget, ExtraLimits, RateLimits};
use crate::child::{Children, RunProgram};
use crate::clock::{millis, now_ms};
use crate::error::FleetError;
use crate::event_publisher::EventPublisher;
use crate::fleet_directory::FleetDirectory;
use crate::governor::Governor;
use crate::governor_server::{SharedGovernor, socket_path};
use crate::queue::{Claim, Finished, Lease, NextTask, Release, TaskQueue};
use crate::retry::begin_numbered_attempt;
use crate::snapshots::{SharingNote, Snapshots};
use crate::stop::StopFlag;
use crate::task_account::TaskAccount;
use crate::task_dir::{Attempt, TaskDir};
use crate::task_files::{self, recorded_files};
use crate::task_result::TaskResult;
use crate::task_run::{Conclusion, TaskRunner};
use crate::task_totals::TotalsScope;
use crate::workspace::Workspaces;
use ibeam_governor::{Spend, task_directory};
use ibeam_protocol::Sentence;

/// The time between two looks for a requested end.
const TICK: Duration = Duration::from_millis(100);
/// The longest wait for a change of the queue.
const QUEUE_WAIT: Duration = Duration::from_millis(200);
/// The time between two looks whether the socket of the governor is there.
const SOCKET_INTERVAL: Duration = Duration::from_secs(1);
/// The time that processes have to end when they are asked to.
const END_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug)]
pub struct DriverOptions {
    /// The duration of a lease. The driver renews it in a third of this time.
    pub lease: Duration,
    /// The number of tasks that run at the same time.
    pub jobs: NonZeroUsize,
    /// The number of runs of a task that may be killed, or fail in a way that may pass.
    pub max_runs: u32,
    /// The budget of all tasks together.
    pub budget: Budget,
    /// The requests of all runs together.
    pub rates: RateLimits,
    /// Whether a workspace is deleted when its task is finished.
    pub discards_workspaces: bool,
}

impl DriverOptions {
    /// The usual duration of a lease.
    pub const LEASE: Duration = Duration::from_secs(60);
}

/// Receives the events of a fleet, in their order.
pub trait FleetObserver {
    /// A task has a result.
    ///
    /// # Errors
    /// The error ends the fleet.
    fn finished(&mut self, result: &TaskResult) -> io::Result<()>;

    /// A run of a task starts, or an earlier one is taken over.
    fn started(&mut self, task: &str);

    /// A task will be run again after a pause.
    fn retried(&mut self, task: &str, pause: Duration);

    /// A task waits until the fleet is started again.
    fn parked(&mut self, task: &str, reason: &Sentence);

    /// The work of a task is not decided. The task waits until the fleet is started again.
    fn undecided(&mut self, task: &str, reason: &Sentence);

    /// The tasks that run now, on other machines.
    fn running(&mut self, _tasks: &BTreeSet<String>) {}

    /// A task was left to other drivers.
    fn refused(&mut self, _task: &str, _reason: &Sentence) {}

    /// A task waits for the answer to a request, without a process.
    fn waiting(&mut self, _task: &str) {}

    /// Something of a task was received from another machine, or cannot be sent to others.
    fn sharing(&mut self, _task: &str, _note: &SharingNote) {}

    /// Some time has passed. Called several times per second.
    fn tick(&mut self) {}
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetEnd {
    /// The number of tasks that passed.
    pub passed: u64,
    /// The number of tasks with another result.
    pub failed: u64,
    /// The number of tasks without a result.
    pub unfinished: u64,
    /// The reason for which no further task was started.
    pub halt: Option<HaltReason>,
    /// The first reason for which a task was parked that did not concern the others.
    pub parked: Option<Sentence>,
}

/// The reason for which no further task is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HaltReason {
    /// The end was requested.
    Stopped,
    /// A limit of the budget was reached.
    BudgetSpent,
    /// A run failed in a way in which the others would fail too.
    Exhausted(Sentence),
}

/// A step that a thread repeats while tasks are executed. Returns what there is to report.
type Helper<'a> = Box<dyn Fn() -> Vec<(String, SharingNote)> + Send + 'a>;

/// The state that the threads share.
struct Shared<'a, Q> {
    queue: Mutex<Q>,
    /// The signal that a task became ready, or that there is none any more.
    changed: Condvar,
    state: Mutex<State>,
    governor: &'a Arc<SharedGovernor>,
    /// The snapshots, if other machines may execute the tasks.
    snapshots: Option<&'a Snapshots<'a>>,
    /// The publication of the streams of runs, if there is one.
    publisher: Option<&'a EventPublisher<'a>>,
    directory: &'a Path,
    budget: Budget,
    lease: Duration,
    stop: &'a StopFlag,
}

#[derive(Default)]
struct State {
    halt: Option<HaltReason>,
    parked: Option<Sentence>,
    /// The first reason for which a task was left to drivers with another key.
    unserved: Option<Sentence>,
    error: Option<FleetError>,
    /// The leases of the tasks that are executed here.
    held: HashMap<String, HeldTask>,
    /// The accounts with a refused key or an exhausted quota, and why.
    exhausted: Vec<(TaskAccount, Sentence)>,
}

/// A task that is executed here.
struct HeldTask {
    /// The last lease: a queue may deliver a task again whose lease it could not renew.
    lease: Lease,
    attempt: u32,
}

/// Executes the tasks of a queue until all have a result, or no further one may start.
///
/// The results of earlier drivers are reported first, so the observer receives the result of every finished task.
///
/// # Errors
/// `Queue`, `Io`, `Output`. The tasks that ran then can be run again.
pub fn run_fleet<Q: TaskQueue>(
    directory: &FleetDirectory,
    mut queue: Q,
    program: &RunProgram,
    options: &DriverOptions,
    stop: &StopFlag,
    observer: &mut dyn FleetObserver,
) -> Result<FleetEnd, FleetError> {
    queue.unpark()?;
    let mut end = FleetEnd::default();
    for result in queue.results()? {
        end.count(&result);
        observer.finished(&result).map_err(FleetError::Output)?;
    }
    let governor = Governor::new(options.budget, options.rates);
    // Other machines may have recorded more than this one has logged.
    let recorded = if queue.limits().is_some() { Spend::default() } else { queue.spend()? };
    let governor = SharedGovernor::open(directory.path(), governor, recorded, queue.limits());
    let governor = Arc::new(governor.map_err(FleetError::at(directory.path()))?);
    let _socket = governor.serve(directory.path()).map_err(FleetError::at(&socket_path(directory.path())))?;
    let children = Children::default();
    let workspaces = Workspaces::new(program.git.clone(), directory.path().to_owned())
        .without_files(program.key_file.iter().cloned().chain(recorded_files(directory.path())))
        .without_hidden(program.hidden.clone())
        .ended_by(stop.clone());
    let snapshots = queue.snapshots().map(|store| Snapshots {
        store,
        program,
        workspaces: &workspaces,
        fleet: directory.path(),
        watched: Mutex::default(),
    });
    let tasks = directory.path().join("tasks");
    let publisher = queue.events().map(|sink| EventPublisher::new(sink, directory.path(), &tasks));
    let publisher = publisher.transpose().map_err(FleetError::at(directory.path()))?;
    let shared = Shared {
        queue: Mutex::new(queue),
        changed: Condvar::new(),
        state: Mutex::default(),
        governor: &governor,
        snapshots: snapshots.as_ref(),
        publisher: publisher.as_ref(),
        directory: directory.path(),
        budget: options.budget,
        lease: options.lease,
        stop,
    };
    let runner = TaskRunner {
        program,
        workspaces: &workspaces,
        children: &children,
        governor: &socket_path(directory.path()),
        // Where an account is refused, the run may have used another model.
        refusal: &|task| governor.refusal(task).filter(|reason| reason == Budget::SPENT),
        stop,
        max_runs: options.max_runs,
        keeps_ended_runs: governor.is_shared(),
        discards_workspaces: options.discards_workspaces,
    };
    let (events, receiver) = mpsc::channel();
    let reported = thread::scope(|scope| {
        // Held by the threads that execute tasks.
        let working = Arc::new(());
        for number in 0..options.jobs.get() {
            let (events, shared, runner) = (events.clone(), &shared, &runner);
            let working = Arc::clone(&working);
            let builder = thread::Builder::new().name(format!("fleet-{number}"));
            let started = builder.spawn_scoped(scope, move || {
                work(shared, runner, &events);
                drop(working);
            });
            if let Err(error) = started {
                shared.fail(FleetError::at(shared.directory)(error));
                break;
            }
        }
        let (store, publish) = (snapshots.as_ref(), publisher.as_ref());
        let governor = &shared.governor;
        let helpers: [(&str, Option<Helper<'_>>); 3] = [
            (
                "limits",
                governor.is_shared().then(|| {
                    Box::new(|| {
                        governor.report(false);
                        Vec::new()
                    }) as _
                }),
            ),
            ("snapshots", store.map(|snapshots| Box::new(|| snapshots.store_due()) as _)),
            ("events", publish.map(|publisher| Box::new(|| publisher.publish_new()) as _)),
        ];
        for (name, help) in helpers {
            let Some(help) = help else { continue };
            let (events, working) = (events.clone(), Arc::downgrade(&working));
            let repeat = move || {
                while working.strong_count() > 0 {
                    for (task, note) in help() {
                        // The receiver outlives the threads.
                        let _ = events.send(Event::Sharing(task, note));
                    }
                    thread::sleep(TICK);
                }
            };
            let started = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, repeat);
            if let Err(error) = started {
                shared.fail(FleetError::at(shared.directory)(error));
            }
        }
        drop(working);
        drop(events);
        let mut reported = Ok(());
        let mut asked_at = None;
        let (mut renewed_at, mut restored_at) = (Instant::now(), Instant::now());
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(event) if reported.is_ok() => {
                    reported = event.report(&mut end, observer);
                    if reported.is_err() {
                        stop.request();
                    }
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => observer.tick(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.is_requested() {
                match asked_at {
                    None => {
                        asked_at = Some(Instant::now());
                        shared.halt(HaltReason::Stopped);
                        children.end_all();
                    }
                    Some(asked) if asked.elapsed() > END_TIMEOUT => children.kill_all(),
                    Some(_) => {}
                }
            }
            if restored_at.elapsed() > SOCKET_INTERVAL {
                restored_at = Instant::now();
                // It is tried again.
                drop(shared.governor.restore(directory.path()));
            }
            if renewed_at.elapsed() > options.lease / 3 {
                renewed_at = Instant::now();
                shared.renew();
            }
        }
        if stop.is_requested() {
            // The threads may have noticed first.
            shared.halt(HaltReason::Stopped);
        }
        reported
    });
    governor.report(true);
    let State { halt, parked, unserved, error, .. } =
        shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    reported.map_err(FleetError::Output)?;
    if let Some(error) = error {
        return Err(error);
    }
    let mut queue = shared.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    let halt = halt.or(unserved.map(HaltReason::Exhausted));
    Ok(FleetEnd { unfinished: queue.unfinished()?, halt, parked, ..end })
}

/// Works on one task after the other.
fn work<Q: TaskQueue>(shared: &Shared<'_, Q>, runner: &TaskRunner<'_>, events: &Sender<Event>) {
    loop {
        match shared.next(events) {
            Ok(Some((claim, extra))) => {
                match shared.park_exhausted(&claim, events) {
                    Ok(false) => {}
                    Ok(true) => continue,
                    Err(error) => return shared.fail(error),
                }
                // The receiver outlives the threads.
                let _ = events.send(Event::Started(claim.task.id.clone()));
                if let Err(error) = shared.execute(runner, &claim, extra, events) {
                    return shared.fail(error);
                }
            }
            Ok(None) => return,
            Err(error) => return shared.fail(error),
        }
    }
}

impl<Q: TaskQueue> Shared<'_, Q> {
    /// Waits for a task and claims it; `None` if no further one may start.
    fn next(&self, events: &Sender<Event>) -> Result<Option<(Claim, ExtraLimits)>, FleetError> {
        let mut queue = lock(&self.queue);
        loop {
            if self.stop.is_requested() {
                return Ok(None);
            }
            let mut state = lock(&self.state);
            if state.halt.is_some() || state.error.is_some() {
                return Ok(None);
            }
            let left = self.governor.left(self.budget);
            match queue.claim(now_ms(), millis(self.lease))? {
                NextTask::Drained => return Ok(None),
                NextTask::NotReady => {}
                NextTask::Refused { task, reason } => {
                    // The receiver outlives the threads.
                    let _ = events.send(Event::Refused(task, reason));
                    continue;
                }
                NextTask::Claimed(claim) if state.held.contains_key(&claim.task.id) => {
                    self.take_over(&mut *queue, &mut state, &claim)?;
                }
                NextTask::Claimed(claim) => match left {
                    Some(extra) => {
                        let held = HeldTask { lease: claim.lease.clone(), attempt: claim.attempt };
                        state.held.insert(claim.task.id.clone(), held);
                        return Ok(Some((*claim, extra)));
                    }
                    None => {
                        state.halt = Some(HaltReason::BudgetSpent);
                        let reason = Budget::SPENT.into();
                        queue.release(&claim.lease, Release::Park { reason }, claim.spend)?;
                        return Ok(None);
                    }
                },
            }
            drop(state);
            queue = self.changed.wait_timeout(queue, QUEUE_WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes over the lease of a task that is executed here already: no directory has two runs. An execution of an earlier
    /// attempt ends first.
    fn take_over(&self, queue: &mut Q, state: &mut State, claim: &Claim) -> Result<(), FleetError> {
        let Some(held) = state.held.get_mut(&claim.task.id) else { return Ok(()) };
        if held.attempt == claim.attempt {
            held.lease = claim.lease.clone();
            if let Some(snapshots) = self.snapshots {
                snapshots.take_over(claim)?;
            }
        } else {
            let at_ms = now_ms().saturating_add(millis(self.lease / 4));
            queue.release(&claim.lease, Release::Retry { at_ms }, claim.spend)?;
        }
        Ok(())
    }

    /// Parks a claimed task if its account is known to be exhausted. Returns whether it is.
    fn park_exhausted(&self, claim: &Claim, events: &Sender<Event>) -> Result<bool, FleetError> {
        let account = TaskAccount::new(&claim.task);
        let mut queue = lock(&self.queue);
        let mut state = lock(&self.state);
        let Some(reason) =
            state.exhausted.iter().find(|(other, _)| *other == account).map(|(_, reason)| reason.clone())
        else {
            return Ok(false);
        };
        let held = state.held.remove(&claim.task.id);
        drop(state);
        let lease = held.map_or_else(|| claim.lease.clone(), |held| held.lease);
        queue.release(&lease, Release::Park { reason: reason.clone() }, claim.spend)?;
        // The receiver outlives the threads.
        let _ = events.send(Event::Parked(claim.task.id.clone(), reason));
        Ok(true)
    }

    /// Executes a claimed task, and records what became of it.
    fn execute(
        &self,
        runner: &TaskRunner<'_>,
        claim: &Claim,
        extra: ExtraLimits,
        events: &Sender<Event>,
    ) -> Result<(), FleetError> {
        let Claim { lease, task, spend: before, attempt } = claim;
        let id = task.id.clone();
        let tasks = self.directory.join("tasks");
        // A worker learns of them with the task.
        task_files::record(self.directory, task.check_sources())?;
        if task_directory(&tasks, &task.id).is_dir() {
            begin_numbered_attempt(&TaskDir::open(&tasks, &task.id)?, *attempt)?;
        }
        // The receiver outlives the threads.
        let note = |note: Option<SharingNote>| {
            note.into_iter().for_each(|note| drop(events.send(Event::Sharing(task.id.clone(), note))));
        };
        note(self.snapshots.and_then(|snapshots| snapshots.restore(claim)));
        let dir = TaskDir::open(&tasks, &task.id)?;
        let Some(guard) = dir.hold()? else { return self.postpone(claim) };
        if dir.attempt().number != *attempt {
            // What there is came from another machine, which works on this attempt.
            dir.write_attempt(Attempt { number: *attempt, ..dir.attempt() })?;
        }
        if let Some(snapshots) = self.snapshots {
            dir.write_lease(lease.number)?;
            snapshots.watch(claim);
        }
        if let Some(publisher) = self.publisher {
            publisher.watch(&task.id);
        }
        let extra = match runner.program.totals_scope() {
            TotalsScope::Process => extra,
            TotalsScope::Run => extra.after(*before),
        };
        let (conclusion, known) = runner.execute(task, &dir, extra)?;
        let settled = self.governor.settle(&task.id, *before, known);
        let (spend, refused) = settled.map_err(FleetError::at(self.directory))?;
        let conclusion = match (conclusion, refused) {
            // It failed because the governor refused a request.
            (Conclusion::Park { .. } | Conclusion::ParkAccount { .. }, Some(reason)) => {
                Conclusion::from_refusal(reason)
            }
            (conclusion, _) => conclusion,
        };
        if let Some(publisher) = self.publisher {
            publisher.end(&task.id);
        }
        let is_finished = matches!(conclusion, Conclusion::Finished(_));
        note(self.snapshots.and_then(|snapshots| snapshots.end(&task.id, !is_finished)));
        drop(guard);
        let mut queue = lock(&self.queue);
        let held = lock(&self.state).held.remove(&id);
        let lease = &held.map_or_else(|| lease.clone(), |held| held.lease);
        match conclusion {
            Conclusion::Finished(result) => {
                match queue.finish(lease, &result, spend)? {
                    Finished::Recorded { skipped } => {
                        let _ = events.send(Event::Finished(result));
                        for result in skipped {
                            let _ = events.send(Event::Finished(Box::new(result)));
                        }
                    }
                    // Another worker was first: the directory has no other result than the queue.
                    Finished::AlreadyFinished => dir.supersede_result()?,
                }
            }
            Conclusion::Retry(pause) | Conclusion::FinishAgain(pause) => {
                let at_ms = now_ms().saturating_add(millis(pause));
                queue.release(lease, Release::Retry { at_ms }, spend)?;
                let _ = events.send(Event::Retried(id, pause));
            }
            Conclusion::ParkAccount { reason } if self.governor.is_shared() => {
                queue.release(lease, Release::Exhausted { reason: reason.clone() }, spend)?;
                lock(&self.state).unserved.get_or_insert_with(|| reason.clone());
                let _ = events.send(Event::Refused(id, reason));
            }
            Conclusion::ParkAccount { reason } => {
                lock(&self.state).exhausted.push((TaskAccount::new(task), reason.clone()));
                queue.release(lease, Release::Park { reason: reason.clone() }, spend)?;
                lock(&self.state).parked.get_or_insert_with(|| reason.clone());
                let _ = events.send(Event::Parked(id, reason));
            }
            Conclusion::Park { reason, halts } => {
                queue.release(lease, Release::Park { reason: reason.clone() }, spend)?;
                if halts {
                    self.halt(match reason.as_str() {
                        Budget::SPENT => HaltReason::BudgetSpent,
                        _ => HaltReason::Exhausted(reason.clone()),
                    });
                } else {
                    lock(&self.state).parked.get_or_insert_with(|| reason.clone());
                }
                let _ = events.send(Event::Parked(id, reason));
            }
            Conclusion::Undecided(cause) => {
                let reason = cause.sentence();
                queue.release(lease, Release::Undecided { reason: reason.clone() }, spend)?;
                lock(&self.state).parked.get_or_insert_with(|| reason.clone());
                let _ = events.send(Event::Undecided(id, reason));
            }
            Conclusion::Wait { session } => {
                queue.release(lease, Release::Wait { session }, spend)?;
                let _ = events.send(Event::Waiting(id));
            }
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Returns a task to the queue whose directory another process holds.
    fn postpone(&self, claim: &Claim) -> Result<(), FleetError> {
        let at_ms = now_ms().saturating_add(millis(self.lease / 4));
        let mut queue = lock(&self.queue);
        lock(&self.state).held.remove(&claim.task.id);
        Ok(queue.release(&claim.lease, Release::Retry { at_ms }, claim.spend)?)
    }

    /// Starts no further task. The first reason is kept.
    fn halt(&self, reason: HaltReason) {
        lock(&self.state).halt.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Starts no further task. The first error is kept.
    fn fail(&self, error: FleetError) {
        lock(&self.state).error.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Renews the leases of the running tasks.
    fn renew(&self) {
        let mut queue = lock(&self.queue);
        let leases: Vec<Lease> = lock(&self.state).held.values().map(|held| held.lease.clone()).collect();
        for lease in leases {
            // With a lost lease, the first result counts.
            if let Err(error) = queue.renew(&lease, now_ms(), millis(self.lease)) {
                drop(queue);
                return self.fail(error.into());
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
