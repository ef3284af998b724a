//! The queue as a worker sees it: it only claims tasks, and none that asks for more than the worker grants.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{
    Claim, EventSink, Finished, Lease, NextTask, QueueError, Release, Renewal, SharedLimits, SnapshotStore,
    Spend, StopFlag, Task, TaskFile, TaskLimits, TaskMode, TaskQueue, TaskResult, WorkspaceSource,
};

use ibeam_protocol::{Sentence, sentence};

use crate::control::ControlWatch;
use crate::nats_queue::{NatsQueue, OUTAGE_TIMEOUT, now_ms};
use crate::refusals::{RefusalRounds, WorkerName};
use crate::workers::Announcement;

/// The time between two requests to servers that do not answer.
const REPEAT_PAUSE: Duration = Duration::from_millis(500);

/// The time after which an empty queue is drained.
const EMPTY_TIME: Duration = Duration::from_millis(300);
/// The time after which a worker that refuses tasks does something else in between.
const LONGEST_CLAIM: Duration = Duration::from_secs(1);

/// The rights that a worker grants to tasks from a queue.
#[derive(Clone, Debug, Default)]
pub struct WorkerPolicy {
    /// The directories below which local workspaces and attached files may be.
    pub directories: Vec<PathBuf>,
    /// The highest limits of a task.
    pub limits: TaskLimits,
    /// Whether the worker has a mode that only reads.
    pub is_read_only: bool,
    /// Whether tasks may have a check, which is a command of its submitter.
    pub allows_checks: bool,
    /// Whether files and transcripts stay on the machine.
    pub keeps_content: bool,
    /// The file with the key of the worker, which no task gets.
    pub key_file: Option<PathBuf>,
}

impl WorkerPolicy {
    /// Returns the task with its limits lowered to those of the worker.
    ///
    /// # Errors
    /// The reason for which the worker does not execute it.
    pub(crate) fn admitted(&self, mut task: Task, id: &str) -> Result<Task, Sentence> {
        if task.id != id {
            return Err("the definition of the task is damaged".into());
        }
        // Anybody with access to the queue may have written the definition.
        let alone = Task { needs: Vec::new(), ..task.clone() };
        let line = serde_json::to_string(&alone).map_err(|error| Sentence::from(error.to_string()))?;
        if let Some(invalid) = TaskFile::parse(&line, Path::new("/")).invalid.into_iter().next() {
            return Err(invalid.detail);
        }
        if let Some(reason) = self.refusal(&task) {
            return Err(reason);
        }
        let (limits, most) = (&mut task.limits, &self.limits);
        limits.max_turns = lower(limits.max_turns, most.max_turns);
        limits.max_tokens = lower(limits.max_tokens, most.max_tokens);
        limits.max_cost_micros = lower(limits.max_cost_micros, most.max_cost_micros);
        limits.max_tool_calls = lower(limits.max_tool_calls, most.max_tool_calls);
        limits.timeout_s = lower(limits.timeout_s, most.timeout_s);
        limits.check_timeout_s = lower(limits.check_timeout_s, most.check_timeout_s);
        Ok(task)
    }

    fn refusal(&self, task: &Task) -> Option<Sentence> {
        if self.is_read_only && task.mode == Some(TaskMode::Agent) {
            return Some(sentence!("the worker only reads"));
        }
        if !task.env.is_empty() {
            return Some("a task of a queue cannot have `env`".into());
        }
        if task.check.is_some() && !self.allows_checks {
            return Some(sentence!("the worker does not allow checks"));
        }
        let local = match &task.workspace {
            WorkspaceSource::Path(path) => Some(path.as_path()),
            WorkspaceSource::Git(source) => match is_remote(&source.git) {
                true => None,
                false => Some(Path::new(&source.git)),
            },
            WorkspaceSource::Result(_) => {
                return Some("a task of a queue cannot start from the result of another one".into());
            }
        };
        let outside = local
            .into_iter()
            .chain(task.files.iter().map(PathBuf::as_path))
            .chain(task.check_sources())
            .find(|path| !self.allows_path(path) || self.is_key_file(path))?;
        Some(sentence!("the worker does not allow `{path}`", path = outside.display()))
    }

    /// Whether a path leads to the file with the key of the worker.
    fn is_key_file(&self, path: &Path) -> bool {
        let number = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
        self.key_file.as_deref().and_then(number).is_some_and(|key| number(path) == Some(key))
    }

    /// Whether a path, with its links resolved, is below an allowed directory.
    fn allows_path(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        self.directories
            .iter()
            .any(|directory| directory.canonicalize().is_ok_and(|directory| path.starts_with(directory)))
    }
}

/// Returns the lower one of two limits.
fn lower<T: Ord>(limit: Option<T>, most: Option<T>) -> Option<T> {
    [limit, most].into_iter().flatten().min()
}

/// Whether git connects to another machine for a repository. Transports that run a command are not remote.
fn is_remote(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => ["https", "ssh"].contains(&scheme),
        None => url.split_once(':').is_some_and(|(host, path)| !host.contains('/') && !path.starts_with(':')),
    }
}

pub struct WorkerQueue {
    queue: NatsQueue,
    policy: WorkerPolicy,
    control: ControlWatch,
    limits: Option<Arc<dyn SharedLimits>>,
    name: WorkerName,
    pub(crate) rounds: RefusalRounds,
    /// The models for which the key of the worker is refused or its quota exhausted, and why.
    exhausted: HashMap<Option<String>, Sentence>,
    /// The models of the tasks that are executed here.
    models: HashMap<String, Option<String>>,
    /// The start of the fleet for which `exhausted` holds.
    revision: u64,
    /// The time since which the queue has been empty.
    empty_since: Option<Instant>,
    stop: StopFlag,
    ends_when_drained: bool,
    announcement: Option<Announcement>,
}

impl WorkerQueue {
    /// Returns the queue of a worker. After a request to end, its tasks return to the queue at once. Unless
    /// `ends_when_drained`, the worker waits for tasks until then. A cancelled fleet has none.
    pub fn new(
        queue: NatsQueue,
        policy: WorkerPolicy,
        control: ControlWatch,
        stop: StopFlag,
        ends_when_drained: bool,
    ) -> Self {
        Self {
            queue,
            policy,
            control,
            limits: None,
            name: WorkerName::default(),
            rounds: RefusalRounds::default(),
            exhausted: HashMap::new(),
            models: HashMap::new(),
            revision: 0,
            empty_since: None,
            stop,
            ends_when_drained,
            announcement: None,
        }
    }

    /// Returns the queue with the name of the worker, under which it refuses tasks.
    #[cfg(test)]
    pub(crate) fn with_name(self, name: WorkerName) -> Self {
        Self { name, ..self }
    }

    /// Returns the queue with the limits that all workers share.
    #[must_use]
    pub fn with_limits(self, limits: Arc<dyn SharedLimits>) -> Self {
        Self { limits: Some(limits), ..self }
    }

    /// Returns the queue of a worker that has the name of its directory, and announces itself and the tasks that it holds.
    ///
    /// # Errors
    /// The system's error for a file of the directory.
    pub fn announced(self, directory: &Path, slots: usize) -> io::Result<Self> {
        let name = WorkerName::for_directory(directory)?;
        let announcement = Some(Announcement::new(&self.queue, &name, slots));
        Ok(Self { name, announcement, ..self })
    }

    /// Announces the worker, if the tasks that it holds have changed by `change`, or if this is due.
    fn announce(&mut self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        if let Some(announcement) = &mut self.announcement {
            announcement.update(change);
        }
    }

    /// Leaves a task that the worker does not execute to others.
    fn refuse(
        &mut self,
        lease: &Lease,
        spend: Spend,
        reason: Sentence,
        is_exhausted: bool,
    ) -> Result<AfterRefusal, QueueError> {
        let is_round_over = self.rounds.refuse(&lease.task, Instant::now());
        let counts_again = self.rounds.counts_again && !is_round_over;
        let mut is_left_to_others = false;
        if is_round_over {
            let own = self.queue.held.len();
            let others_work = self.queue.held_count()? > own;
            self.rounds.pause(Instant::now(), others_work);
            // This task is the only one here.
            is_left_to_others = others_work && own == 1;
        }
        let is_first =
            self.queue.refuse(lease, self.name.refusal(reason.clone(), is_exhausted), counts_again, spend)?;
        Ok(match (is_first, is_round_over) {
            (true, _) => AfterRefusal::Report(reason),
            (false, true) if is_left_to_others => AfterRefusal::OthersGoOn,
            (false, true) => AfterRefusal::Pause,
            (false, false) => AfterRefusal::Next,
        })
    }

    /// Whether no task has been there for a moment: one that a worker refuses is not there until it is back.
    fn is_drained(&mut self) -> bool {
        self.empty_since.get_or_insert_with(Instant::now).elapsed() >= EMPTY_TIME
    }
}

/// The next step of a worker after the refusal of a task.
enum AfterRefusal {
    /// Reports the first refusal of a task.
    Report(Sentence),
    /// Asks for the next task.
    Next,
    /// Pauses: it refuses all that is left.
    Pause,
    /// Like [`Self::Pause`], while others execute tasks and this worker does not.
    OthersGoOn,
}

impl WorkerQueue {
    /// Repeats a request until the servers answer, so that the queue gets what the directory has. A worker that is to end
    /// leaves it to the next one in its directory.
    fn repeat<T>(
        &mut self,
        request: impl Fn(&mut NatsQueue) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        let start = Instant::now();
        loop {
            match request(&mut self.queue) {
                Err(QueueError::Service { .. })
                    if start.elapsed() < OUTAGE_TIMEOUT && !self.stop.is_requested() =>
                {
                    thread::sleep(REPEAT_PAUSE);
                }
                result => return result,
            }
        }
    }
}

impl TaskQueue for WorkerQueue {
    fn submit(&mut self, _tasks: &[Task]) -> Result<(), QueueError> {
        Err(QueueError::Service { detail: "a worker submits no tasks".to_owned() })
    }

    fn claim(&mut self, now: u64, lease_ms: u64) -> Result<NextTask, QueueError> {
        self.announce(|_| false);
        let started = Instant::now();
        loop {
            let control = self.control.current();
            if control.revision != self.revision {
                // The fleet was started again: the account may have credit now.
                self.revision = control.revision;
                self.exhausted.clear();
                self.rounds.reset();
            }
            if control.is_cancelled || self.rounds.is_paused(Instant::now()) {
                return Ok(NextTask::NotReady);
            }
            let claim = match self.queue.claim(now, lease_ms)? {
                NextTask::Drained if self.ends_when_drained && self.is_drained() => {
                    return Ok(NextTask::Drained);
                }
                NextTask::Drained => return Ok(NextTask::NotReady),
                next @ (NextTask::NotReady | NextTask::Refused { .. }) => return Ok(next),
                NextTask::Claimed(claim) => *claim,
            };
            self.empty_since = None;
            let Claim { lease, task, spend, attempt } = claim;
            let (reason, is_exhausted) = match self.policy.admitted(task, &lease.task) {
                Ok(task) => match self.exhausted.get(&task.model) {
                    Some(reason) => (reason.clone(), true),
                    None => {
                        self.rounds.served();
                        self.models.insert(lease.task.clone(), task.model.clone());
                        self.announce(|tasks| tasks.insert(task.id.clone()));
                        return Ok(NextTask::Claimed(Box::new(Claim { lease, task, spend, attempt })));
                    }
                },
                Err(reason) => (reason, false),
            };
            match self.refuse(&lease, spend, reason, is_exhausted)? {
                AfterRefusal::Report(reason) => {
                    return Ok(NextTask::Refused { task: lease.task, reason });
                }
                AfterRefusal::OthersGoOn if self.ends_when_drained => return Ok(NextTask::Drained),
                AfterRefusal::OthersGoOn | AfterRefusal::Pause => return Ok(NextTask::NotReady),
                // The driver renews its leases in between.
                AfterRefusal::Next if started.elapsed() > LONGEST_CLAIM => return Ok(NextTask::NotReady),
                AfterRefusal::Next => {}
            }
        }
    }

    fn renew(&mut self, lease: &Lease, now_ms: u64, lease_ms: u64) -> Result<Renewal, QueueError> {
        self.announce(|_| false);
        self.queue.renew(lease, now_ms, lease_ms)
    }

    fn finish(&mut self, lease: &Lease, result: &TaskResult, spend: Spend) -> Result<Finished, QueueError> {
        self.models.remove(&lease.task);
        let finished = self.repeat(|queue| queue.finish(lease, result, spend));
        self.announce(|tasks| tasks.remove(&lease.task));
        finished
    }

    fn release(&mut self, lease: &Lease, release: Release, spend: Spend) -> Result<(), QueueError> {
        self.announce(|tasks| tasks.remove(&lease.task));
        let model = self.models.remove(&lease.task).flatten();
        let release = match release {
            // Another worker goes on.
            Release::Park { .. } | Release::Exhausted { .. } | Release::Undecided { .. }
                if self.stop.is_requested() =>
            {
                Release::Retry { at_ms: now_ms() }
            }
            Release::Exhausted { reason } => {
                self.exhausted.insert(model, reason.clone());
                let refusal = self.name.refusal(reason, true);
                return self.repeat(|queue| queue.refuse(lease, refusal.clone(), false, spend)).map(drop);
            }
            release @ (Release::Park { .. }
            | Release::Undecided { .. }
            | Release::Retry { .. }
            | Release::Wait { .. }) => release,
        };
        self.repeat(|queue| queue.release(lease, release.clone(), spend))
    }

    /// Has no effect: the submitter unparks tasks.
    fn unpark(&mut self) -> Result<(), QueueError> {
        Ok(())
    }

    fn spend(&mut self) -> Result<Spend, QueueError> {
        self.queue.spend()
    }

    /// Returns nothing: a worker reports the tasks that it executes.
    fn results(&mut self) -> Result<Vec<TaskResult>, QueueError> {
        Ok(Vec::new())
    }

    /// Returns 0: a worker leaves no task unfinished that the queue does not have.
    fn unfinished(&mut self) -> Result<u64, QueueError> {
        Ok(0)
    }

    fn limits(&self) -> Option<Arc<dyn SharedLimits>> {
        self.limits.clone()
    }

    fn events(&self) -> Option<Arc<dyn EventSink>> {
        self.queue.events().filter(|_| !self.policy.keeps_content)
    }

    fn snapshots(&self) -> Option<Arc<dyn SnapshotStore>> {
        self.queue.snapshots().filter(|_| !self.policy.keeps_content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_of_other_machines_are_remote_and_commands_are_not() {
        for (url, expected) in [
            ("https://example.com/a.git", true),
            ("ssh://git@example.com/a.git", true),
            ("git@example.com:a.git", true),
            ("/srv/a.git", false),
            ("./a:b", false),
            ("file:///etc", false),
            ("ext::sh -c id", false),
            ("ext::https://example.com", false),
        ] {
            assert_eq!(is_remote(url), expected, "{url}");
        }
    }

    /// Returns the task of this line under a policy.
    fn admitted(policy: &WorkerPolicy, line: &str) -> Result<Task, Sentence> {
        policy.admitted(serde_json::from_str(line).unwrap(), "a")
    }

    #[test]
    fn a_task_gets_no_more_than_the_worker_grants() {
        let home = tempfile::tempdir().unwrap();
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let policy = WorkerPolicy {
            directories: vec![inside.clone()],
            limits: TaskLimits { max_turns: Some(5), ..TaskLimits::default() },
            ..WorkerPolicy::default()
        };
        let line = |workspace: &Path, rest: &str| {
            format!(r#"{{"id":"a","prompt":"p","workspace":"{}"{rest}}}"#, workspace.display())
        };
        for (workspace, rest, reason) in [
            (outside.as_path(), "", "does not allow"),
            (inside.join("link").as_path(), "", "does not allow"),
            (inside.join("../out").as_path(), "", "does not allow"),
            (inside.join("gone").as_path(), "", "no directory"),
            (inside.as_path(), r#","check":"true""#, "checks"),
            (inside.as_path(), r#","env":{"A":"b"}"#, "`env`"),
            (inside.as_path(), r#","files":["/etc/passwd"]"#, "`/etc/passwd`"),
            (inside.as_path(), r#","check":"true","check_dir":"/etc""#, "checks"),
        ] {
            let error = admitted(&policy, &line(workspace, rest)).unwrap_err();
            assert!(error.contains(reason), "{rest}: {error}");
        }
        let task = admitted(&policy, &line(&inside, r#","limits":{"max_turns":9,"max_tokens":7}"#)).unwrap();
        assert_eq!((task.limits.max_turns, task.limits.max_tokens), (Some(5), Some(7)));
        assert_eq!(admitted(&policy, &line(&inside, "")).unwrap().limits.max_turns, Some(5));
        let reader = WorkerPolicy { is_read_only: true, ..policy };
        admitted(&reader, &line(&inside, r#","mode":"ask""#)).unwrap();
        admitted(&reader, &line(&inside, r#","mode":"agent""#)).unwrap_err();
        let escape = r#"{"id":"../a","prompt":"p","workspace":{"git":"https://example.com/a.git"}}"#;
        let task = serde_json::from_str(escape).unwrap();
        assert!(reader.admitted(task, "../a").unwrap_err().contains("letters"));
    }
}
