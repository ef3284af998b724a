//! Publishes the lines of the streams of runs, once they are on the disk.
//!
//! Each line has an id that depends on its place alone, and a file in the directory of the task says up to where the lines
//! were accepted. So a line is published at least once, whatever was killed, and the receiver drops what has the same id.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::queue::{EventSink, StreamEvent};
use crate::snapshots::SharingNote;
use crate::stream_tail::StreamTail;
use crate::task_dir::TaskDir;
use ibeam_governor::task_directory;

/// The number of bytes of the largest line that is published. The server allows messages of 1 MiB.
const MAX_LINE_BYTES: usize = 900 << 10;
/// The number of bytes after which a batch is published.
const BATCH_BYTES: usize = 1 << 20;
/// The time until the next attempt after lines that were not accepted.
const FAILURE_PAUSE: Duration = Duration::from_secs(10);

/// The publication of the streams of a driver.
#[derive(Debug)]
pub(crate) struct EventPublisher<'a> {
    sink: Arc<dyn EventSink>,
    /// The id of the directory of the fleet.
    worker: String,
    tasks: &'a Path,
    watched: Mutex<HashMap<String, Arc<Mutex<Published>>>>,
    /// The end of the pause after a failure; `None` after a success.
    paused_until: Mutex<Option<Instant>>,
}

/// The published part of the streams of a task.
#[derive(Debug, PartialEq, Eq)]
struct Published {
    task: String,
    /// The number of the run, from 1.
    run: u32,
    tail: StreamTail,
    /// Whether the task is no longer executed.
    is_ended: bool,
}

impl<'a> EventPublisher<'a> {
    /// Returns the publication of the streams below the directory `fleet`.
    ///
    /// # Errors
    /// The system's error for the file with the id of the directory.
    pub(crate) fn new(sink: Arc<dyn EventSink>, fleet: &Path, tasks: &'a Path) -> io::Result<Self> {
        let worker = worker_id(fleet)?;
        Ok(Self { sink, worker, tasks, watched: Mutex::default(), paused_until: Mutex::default() })
    }

    /// Publishes the streams of a task from now on.
    pub(crate) fn watch(&self, task: &str) {
        let dir = task_directory(self.tasks, task);
        let (run, offset) = recorded(&dir).unwrap_or_else(|| {
            let run = first_run(self.tasks, task);
            // Otherwise the next driver finds the place again, before the task has other runs.
            drop(record(&dir, run, 0));
            (run, 0)
        });
        let tail = StreamTail::from_offset(offset);
        let published = Published { task: task.to_owned(), run, tail, is_ended: false };
        lock(&self.watched).insert(task.to_owned(), Arc::new(Mutex::new(published)));
    }

    /// Publishes the rest of the streams of a task whose execution has ended. What is not accepted now is published later.
    pub(crate) fn end(&self, task: &str) {
        let Some(published) = lock(&self.watched).get(task).cloned() else { return };
        let mut state = lock(&published);
        state.is_ended = true;
        if !self.is_paused() && self.publish_all(&mut state).is_ok() {
            drop(state);
            lock(&self.watched).remove(task);
        }
    }

    /// Publishes what the streams have. Returns what is to be reported: the first failure after a success.
    pub(crate) fn publish_new(&self) -> Vec<(String, SharingNote)> {
        if self.is_paused() {
            return Vec::new();
        }
        let all: Vec<_> = lock(&self.watched).values().cloned().collect();
        for published in all {
            let mut state = lock(&published);
            let (task, is_ended) = (state.task.clone(), state.is_ended);
            if let Err(detail) = self.publish_all(&mut state) {
                let earlier = lock(&self.paused_until).replace(Instant::now() + FAILURE_PAUSE);
                let note = (task, SharingNote::NotPublished(detail));
                return if earlier.is_none() { vec![note] } else { Vec::new() };
            }
            drop(state);
            if is_ended {
                let mut watched = lock(&self.watched);
                // The task may be executed again already.
                if watched.get(&task).is_some_and(|current| Arc::ptr_eq(current, &published)) {
                    watched.remove(&task);
                }
            }
        }
        *lock(&self.paused_until) = None;
        Vec::new()
    }

    fn is_paused(&self) -> bool {
        lock(&self.paused_until).is_some_and(|until| Instant::now() < until)
    }

    /// Publishes the streams of a task up to their ends.
    fn publish_all(&self, state: &mut Published) -> Result<(), String> {
        let dir = task_directory(self.tasks, &state.task);
        loop {
            let numbered = |number: u32| dir.join(format!("stream.{number}.ndjson"));
            let earlier = numbered(state.run);
            let is_earlier = earlier.exists();
            if !is_earlier && state.run > 1 && !numbered(state.run - 1).exists() {
                // The current stream is that of a run of another machine, which was taken back for its check.
                return Ok(());
            }
            let current = dir.join("stream.ndjson");
            let mut tail = state.tail;
            let mut events = Vec::new();
            let mut bytes = 0;
            let read = tail.read(if is_earlier { &earlier } else { &current }, |offset, line| {
                if bytes > BATCH_BYTES {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                bytes += line.len();
                events.push(self.event(&state.task, state.run, offset, line));
                Ok(())
            });
            let is_complete = match read {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => false,
                Err(error) => return Err(error.to_string()),
            };
            if !is_earlier && earlier.exists() {
                // The run has ended meanwhile, and these may be lines of the next one.
                continue;
            }
            if !events.is_empty() {
                self.sink.publish(&events).map_err(|error| error.to_string())?;
                state.tail = tail;
                record(&dir, state.run, tail.offset).map_err(|error| error.to_string())?;
            }
            match (is_complete, is_earlier) {
                (false, _) => {}
                (true, true) => (state.run, state.tail) = (state.run + 1, StreamTail::default()),
                (true, false) => return Ok(()),
            }
        }
    }

    fn event(&self, task: &str, run: u32, offset: u64, line: &[u8]) -> StreamEvent {
        let worker = &self.worker;
        let place = format!(r#"{{"task":"{task}","worker":"{worker}","run":{run},"offset":{offset}"#);
        let object = match std::str::from_utf8(line).ok().filter(|line| line.len() <= MAX_LINE_BYTES) {
            Some(line) => format!(r#"{place},"event":{line}}}"#),
            None => format!(r#"{place},"omitted_bytes":{}}}"#, line.len()),
        };
        let id = format!("{worker}:{task}:{run}:{offset}");
        StreamEvent { task: task.to_owned(), id, object }
    }
}

/// Returns the number of the first run of a task that is not that of another machine.
fn first_run(tasks: &Path, task: &str) -> u32 {
    let dir = TaskDir::open(tasks, task).ok().filter(|dir| dir.restored_session().is_some());
    dir.map_or(1, |dir| u32::try_from(dir.streams().len()).unwrap_or(u32::MAX).saturating_add(1))
}

/// Returns up to where the streams of a task were published.
fn recorded(dir: &Path) -> Option<(u32, u64)> {
    let text = fs::read_to_string(published_file(dir)).ok()?;
    let (run, offset) = text.split_once(' ')?;
    Some((run.parse().ok()?, offset.parse().ok()?))
}

fn record(dir: &Path, run: u32, offset: u64) -> io::Result<()> {
    let (path, new) = (published_file(dir), dir.join("published.new"));
    fs::write(&new, format!("{run} {offset}"))?;
    fs::rename(new, path)
}

fn published_file(dir: &Path) -> PathBuf {
    dir.join("published")
}

/// Returns the id of the directory of a fleet, which is created once.
pub fn worker_id(fleet: &Path) -> io::Result<String> {
    let path = &fleet.join("worker-id");
    if let Ok(id) = fs::read_to_string(path)
        && id.len() == 16
    {
        return Ok(id);
    }
    let id = random_id()?;
    fs::write(path, &id)?;
    Ok(id)
}

/// Returns an id that no other call returns: 16 hexadecimal digits.
pub fn random_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueError;

    /// Accepts events, or refuses them.
    #[derive(Debug, Default)]
    struct Receiver {
        accepted: Mutex<Vec<StreamEvent>>,
        refuses: Mutex<bool>,
    }

    impl EventSink for Receiver {
        fn publish(&self, events: &[StreamEvent]) -> Result<(), QueueError> {
            if *lock(&self.refuses) {
                return Err(QueueError::Service { detail: "no".to_owned() });
            }
            lock(&self.accepted).extend_from_slice(events);
            Ok(())
        }
    }

    #[test]
    fn every_line_of_every_run_is_published_in_its_order_across_restarts_of_the_driver() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path().join("tasks");
        let dir = TaskDir::open(&tasks, "a").unwrap();
        let receiver = Arc::new(Receiver::default());
        let publisher = || EventPublisher::new(Arc::clone(&receiver) as _, home.path(), &tasks).unwrap();
        let lines = || {
            let value =
                |event: &StreamEvent| serde_json::from_str::<serde_json::Value>(&event.object).unwrap();
            let all = lock(&receiver.accepted);
            all.iter().map(|event| value(event)["event"]["n"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        let first = publisher();
        first.watch("a");
        fs::write(dir.stream(), "{\"n\":1}\n{\"n\":2}\n{\"n\"").unwrap();
        assert_eq!(first.publish_new(), []);
        assert_eq!(lines(), [1, 2]);
        fs::write(dir.stream(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n").unwrap();
        drop(first);
        dir.set_aside_stream().unwrap();
        fs::write(dir.stream(), "{\"n\":4}\n").unwrap();
        let second = publisher();
        second.watch("a");
        *lock(&receiver.refuses) = true;
        assert_eq!(
            second.publish_new(),
            [("a".to_owned(), SharingNote::NotPublished("the queue cannot be used: no".to_owned()))]
        );
        *lock(&receiver.refuses) = false;
        *lock(&second.paused_until) = None;
        second.end("a");
        assert_eq!(lines(), [1, 2, 3, 4]);
        assert!(lock(&second.watched).is_empty());
        let ids: std::collections::HashSet<_> =
            lock(&receiver.accepted).iter().map(|event| event.id.clone()).collect();
        assert_eq!(ids.len(), 4);
    }

    /// Returns the directory of a task whose first run was restored from a snapshot of another machine.
    fn restored_task(tasks: &Path) -> TaskDir {
        let dir = TaskDir::open(tasks, "a").unwrap();
        fs::write(dir.path().join("stream.1.ndjson"), "{\"n\":1}\n").unwrap();
        dir.write_restored_session("s").unwrap();
        dir
    }

    #[test]
    fn a_line_that_is_too_large_is_counted_and_the_runs_of_another_machine_are_not_published() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path().join("tasks");
        let dir = restored_task(&tasks);
        let receiver = Arc::new(Receiver::default());
        let publisher = EventPublisher::new(Arc::clone(&receiver) as _, home.path(), &tasks).unwrap();
        publisher.watch("a");
        let large = format!("{{\"n\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES));
        fs::write(dir.stream(), format!("{large}\n{{\"n\":2}}\n")).unwrap();
        assert_eq!(publisher.publish_new(), []);
        let events = lock(&receiver.accepted);
        assert!(
            events[0].object.ends_with(&format!(r#","run":2,"offset":0,"omitted_bytes":{}}}"#, large.len()))
        );
        assert!(events[1].object.ends_with(r#""event":{"n":2}}"#) && events.len() == 2);
    }

    #[test]
    fn the_run_of_another_machine_is_not_published_when_only_its_check_is_left() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path().join("tasks");
        let dir = restored_task(&tasks);
        let receiver = Arc::new(Receiver::default());
        let publisher = EventPublisher::new(Arc::clone(&receiver) as _, home.path(), &tasks).unwrap();
        publisher.watch("a");
        dir.take_back_stream().unwrap();
        assert_eq!(publisher.publish_new(), []);
        publisher.end("a");
        assert_eq!(*lock(&receiver.accepted), []);
    }
}
