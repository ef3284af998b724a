//! Stores snapshots of the tasks that a driver executes, and restores those of other machines.
//!
//! A snapshot is stored at the end of a run without a result, and now and then between the tool calls of a long run. The
//! journal is exported before the workspace is read: so a call that changes files meanwhile is at worst an open call, as
//! after a kill. A task is restored only where this machine has nothing of it, or something of an earlier lease.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::child::RunProgram;
use crate::error::FleetError;
use crate::queue::{Claim, Lease, SnapshotStore};
use crate::run_stream::{RunStream, resumable_session};
use crate::snapshot::{
    CHANGES_FILE, MAX_SNAPSHOT_BYTES, SESSION_FILE, SnapshotHead, condense_stream, extract, write,
};
use crate::stream_tail::StreamTail;
use crate::task::WorkspaceSource;
use crate::task_dir::{CurrentStream, TaskDir, has_changes};
use crate::workspace::{Workspaces, recorded_base};
use ibeam_governor::task_directory;

/// The age of a run before its first snapshot, and the shortest time between two of them.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);
/// The time between two snapshots of a task is at least that of the last one, times this.
const COST_FACTOR: u32 = 20;
/// The time until the next attempt after a snapshot that could not be stored.
const FAILURE_PAUSE: Duration = Duration::from_secs(60);
/// The number of snapshots that a working run may spoil. The next one is stored, with a workspace that is newer than the
/// journal.
const MAX_SPOILED: u32 = 3;

/// The use of a snapshot or of the events of a task, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharingNote {
    /// The task continues where another machine stopped.
    Restored,
    /// The task of another machine begins anew, or with what this machine has of it.
    NotRestored(String),
    /// Another machine would begin anew.
    NotStored(String),
    /// The events of runs cannot be published now.
    NotPublished(String),
}

/// The snapshots of the tasks of a driver.
#[derive(Debug)]
pub(crate) struct Snapshots<'a> {
    pub(crate) store: Arc<dyn SnapshotStore>,
    pub(crate) program: &'a RunProgram,
    pub(crate) workspaces: &'a Workspaces,
    pub(crate) fleet: &'a Path,
    pub(crate) watched: Mutex<HashMap<String, Arc<Mutex<Watched>>>>,
}

/// A task that is executed.
#[derive(Debug)]
pub(crate) struct Watched {
    lease: Lease,
    source: WorkspaceSource,
    /// The part of the stream of the current run that was read.
    tail: StreamTail,
    /// The end of the stream at the last snapshot.
    stored_offset: u64,
    /// The time of the next snapshot.
    due_at: Instant,
    spoiled: u32,
    /// Whether the run has ended, and only its check works in the workspace.
    is_checked: bool,
    /// The reason for which the last snapshot was not stored.
    failure: Option<String>,
    /// Whether the execution has ended.
    is_ended: bool,
}

impl Snapshots<'_> {
    /// Restores a claimed task from its snapshot, if that is newer than what this machine has of the task.
    pub(crate) fn restore(&self, claim: &Claim) -> Option<SharingNote> {
        let task = &claim.task.id;
        let stored = match self.store.stored_lease(task) {
            Ok(stored) => stored?,
            Err(error) => return Some(SharingNote::NotRestored(error.to_string())),
        };
        let dir = task_directory(&self.fleet.join("tasks"), task);
        if !is_older(&dir, stored) {
            return None;
        }
        let new = self.fleet.join("restored").join(task);
        let restored = self.build(claim, &new).and_then(|()| self.replace(&dir, &new));
        // What is left of a failure; nothing after a success.
        drop(fs::remove_dir_all(&new));
        Some(match restored {
            Ok(()) => SharingNote::Restored,
            Err(detail) => SharingNote::NotRestored(detail),
        })
    }

    /// Creates the directory of a task from its snapshot.
    fn build(&self, claim: &Claim, new: &Path) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        drop(fs::remove_dir_all(new));
        let dir = TaskDir::at(new.to_owned()).map_err(|error| error.to_string())?;
        let (snapshot, files) = (new.join("snapshot"), snapshot_files(new));
        let mut file = File::options().write(true).create_new(true).open(&snapshot).map_err(failed)?;
        self.store.fetch(&claim.task.id, &mut file).map_err(|error| error.to_string())?;
        drop(file);
        fs::create_dir(&files).map_err(failed)?;
        let head = extract(&snapshot, &claim.task.id, &files)?;
        let patch = files.join(CHANGES_FILE);
        self.workspaces.restore(&claim.task.workspace, &dir.workspace(), &head.base, &patch)?;
        self.import(&head.session_id, &files.join(SESSION_FILE))?;
        for entry in fs::read_dir(&files).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name != SESSION_FILE && name != CHANGES_FILE {
                fs::rename(entry.path(), new.join(name)).map_err(failed)?;
            }
        }
        dir.write_restored_session(&head.session_id).map_err(|error| error.to_string())?;
        fs::remove_dir_all(&files).and_then(|()| fs::remove_file(&snapshot)).map_err(failed)
    }

    /// Stores the session of a snapshot, unless this machine has it.
    fn import(&self, session: &str, file: &Path) -> Result<(), String> {
        let Err(detail) = run(&mut self.program.import_session(file)) else { return Ok(()) };
        // It is only appended to where it was created; here it was copied, so it is at least as old as the snapshot.
        run(&mut self.program.check_session(session)).map_err(|_| detail)
    }

    /// Moves the restored directory of a task to its place. What was there is kept in `superseded`.
    fn replace(&self, dir: &Path, new: &Path) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        if dir.exists() {
            let kept = self.fleet.join("superseded");
            fs::create_dir_all(&kept).map_err(failed)?;
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut paths = (1..).map(|number: u32| kept.join(format!("{name}.{number}")));
            let path = paths.find(|path| !path.exists()).unwrap_or(kept);
            fs::rename(dir, path).map_err(failed)?;
        } else if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::rename(new, dir).map_err(failed)
    }

    /// Watches a task that is being executed.
    pub(crate) fn watch(&self, claim: &Claim) {
        let watched = Watched {
            lease: claim.lease.clone(),
            source: claim.task.workspace.clone(),
            tail: StreamTail::default(),
            stored_offset: 0,
            due_at: Instant::now() + SHORTEST_INTERVAL,
            spoiled: 0,
            is_checked: false,
            failure: None,
            is_ended: false,
        };
        lock(&self.watched).insert(claim.task.id.clone(), Arc::new(Mutex::new(watched)));
    }

    /// Replaces the lease of a task that is being executed by that of a later claim.
    pub(crate) fn take_over(&self, claim: &Claim) -> Result<(), FleetError> {
        let watched = lock(&self.watched).get(&claim.task.id).cloned();
        let Some(watched) = watched else { return Ok(()) };
        TaskDir::open(&self.fleet.join("tasks"), &claim.task.id)?.write_lease(claim.lease.number)?;
        lock(&watched).lease = claim.lease.clone();
        Ok(())
    }

    /// Ends the watch of a task, and stores a last snapshot if the task goes on later.
    pub(crate) fn end(&self, task: &str, goes_on: bool) -> Option<SharingNote> {
        let watched = lock(&self.watched).remove(task)?;
        let mut watched = lock(&watched);
        watched.is_ended = true;
        let stored = if goes_on { self.store(&watched) } else { Ok(()) };
        // What is left of a snapshot that was not stored.
        drop(fs::remove_dir_all(snapshot_files(&task_directory(&self.fleet.join("tasks"), task))));
        stored.err().map(SharingNote::NotStored)
    }

    /// Stores the snapshots that are due. Returns what could not be stored.
    pub(crate) fn store_due(&self) -> Vec<(String, SharingNote)> {
        let all: Vec<_> = lock(&self.watched).values().cloned().collect();
        all.iter()
            .filter_map(|watched| {
                let (mut watched, start) = (lock(watched), Instant::now());
                let detail = self.store_if_due(&mut watched).err()?;
                watched.due_at = Instant::now() + FAILURE_PAUSE.max(start.elapsed() * COST_FACTOR);
                let is_new = watched.failure.replace(detail.clone()).as_ref() != Some(&detail);
                is_new.then(|| (watched.lease.task.clone(), SharingNote::NotStored(detail)))
            })
            .collect()
    }

    fn store_if_due(&self, watched: &mut Watched) -> Result<(), String> {
        let start = Instant::now();
        let directory = task_directory(&self.fleet.join("tasks"), &watched.lease.task);
        if !watched.is_checked && has_changes(&directory) {
            // With this snapshot, another machine repeats nothing but the check.
            (watched.is_checked, watched.due_at) = (true, start);
        }
        if watched.is_ended || start < watched.due_at {
            return Ok(());
        }
        let stream = directory.join("stream.ndjson");
        let advance = |tail: &mut StreamTail| {
            tail.read(&stream, |_, _| Ok(())).map_err(|error| error.to_string()).map(|()| tail.offset)
        };
        let offset = advance(&mut watched.tail)?;
        if offset == watched.stored_offset || !watched.is_checked && !watched.tail.is_quiet() {
            return Ok(());
        }
        let Some(snapshot) = self.capture(watched)? else { return Ok(()) };
        if advance(&mut watched.tail)? != offset && watched.spoiled < MAX_SPOILED {
            watched.spoiled += 1;
            return Ok(());
        }
        self.send(watched, &snapshot)?;
        (watched.stored_offset, watched.spoiled, watched.failure) = (offset, 0, None);
        watched.due_at = Instant::now() + SHORTEST_INTERVAL.max(start.elapsed() * COST_FACTOR);
        Ok(())
    }

    /// Stores a snapshot of a task whose run has ended.
    fn store(&self, watched: &Watched) -> Result<(), String> {
        match self.capture(watched)? {
            Some(snapshot) => self.send(watched, &snapshot),
            None => Ok(()),
        }
    }

    fn send(&self, watched: &Watched, snapshot: &Path) -> Result<(), String> {
        let mut file = File::open(snapshot).map_err(|error| error.to_string())?;
        self.store.store(&watched.lease, &mut file).map_err(|error| error.to_string())?;
        if let Some(files) = snapshot.parent() {
            drop(fs::remove_dir_all(files));
        }
        Ok(())
    }

    /// Writes a snapshot to a file; `None` if there is no session yet.
    fn capture(&self, watched: &Watched) -> Result<Option<PathBuf>, String> {
        let failed = |error: io::Error| error.to_string();
        let task = &watched.lease.task;
        let dir = TaskDir::open(&self.fleet.join("tasks"), task).map_err(|error| error.to_string())?;
        let files = snapshot_files(dir.path());
        drop(fs::remove_dir_all(&files));
        fs::create_dir(&files).map_err(failed)?;
        let mut parts = Vec::new();
        let mut summaries = Vec::new();
        for (index, (stream, error)) in dir.streams().into_iter().enumerate() {
            let number = index + 1;
            let condensed = files.join(format!("stream.{number}.ndjson"));
            condense_stream(&stream, &condensed).map_err(failed)?;
            summaries.push(File::open(&condensed).and_then(RunStream::read).map_err(failed)?);
            parts.push((format!("stream.{number}.ndjson"), condensed));
            parts.push((format!("error.{number}.json"), error));
        }
        let Some(session) = resumable_session(&summaries).filter(|_| dir.workspace().exists()) else {
            return Ok(None);
        };
        let (exported, patch) = (files.join(SESSION_FILE), files.join(CHANGES_FILE));
        run(&mut self.program.export_session(session, &exported))?;
        let (base, patch) = match dir.changes() {
            // The workspace may have files of the check, too.
            Some(changes) => match (changes.omission(), changes.has_patch) {
                (Some(omission), _) => return Err(omission),
                (None, true) => (recorded_base(&dir.workspace())?, Some(dir.patch())),
                (None, false) => (recorded_base(&dir.workspace())?, None),
            },
            None => (self.workspaces.write_patch(&watched.source, &dir.workspace(), &patch)?, Some(patch)),
        };
        parts.push((SESSION_FILE.to_owned(), exported));
        parts.extend(patch.map(|patch| (CHANGES_FILE.to_owned(), patch)));
        let parts: Vec<(String, &Path)> =
            parts.iter().map(|(name, path)| (name.clone(), path.as_path())).collect();
        let snapshot = files.join("snapshot");
        let size = write(&snapshot, &SnapshotHead::new(task, session, &base), &parts).map_err(failed)?;
        if size > MAX_SNAPSHOT_BYTES {
            return Err(format!("it has {} MiB, and {} are allowed", size >> 20, MAX_SNAPSHOT_BYTES >> 20));
        }
        Ok(Some(snapshot))
    }
}

/// Returns the directory for the parts of a snapshot.
fn snapshot_files(dir: &Path) -> PathBuf {
    dir.join("snapshot.files")
}

/// Whether the directory of a task has nothing, or only what was done before the lease `stored`.
fn is_older(dir: &Path, stored: u64) -> bool {
    if !dir.exists() {
        return true;
    }
    let Ok(local) = TaskDir::at(dir.to_owned()) else { return false };
    if local.result().is_some() {
        return false;
    }
    // A run of an earlier driver may still be alive.
    let is_free = matches!(local.lock_stream(), Ok(CurrentStream::Free(_)));
    is_free && (local.streams().is_empty() || local.lease().is_some_and(|lease| lease < stored))
}

/// Runs a command to its end.
///
/// # Errors
/// Its message.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use ibeam_git::Git;
    use ibeam_governor::Spend;

    use super::*;
    use crate::queue::QueueError;
    use crate::task::Task;

    const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

    /// Has the snapshot of lease 5.
    #[derive(Debug, Default)]
    struct Stored(Mutex<Vec<u8>>);

    impl SnapshotStore for Stored {
        fn store(&self, _lease: &Lease, snapshot: &mut File) -> Result<(), QueueError> {
            use std::io::Read as _;
            snapshot.read_to_end(&mut lock(&self.0)).unwrap();
            Ok(())
        }

        fn stored_lease(&self, _task: &str) -> Result<Option<u64>, QueueError> {
            Ok(Some(5))
        }

        fn fetch(&self, _task: &str, file: &mut File) -> Result<(), QueueError> {
            use std::io::Write as _;
            file.write_all(&lock(&self.0)).unwrap();
            Ok(())
        }
    }

    /// Returns a program that accepts every session, and git.
    fn program(views: PathBuf) -> RunProgram {
        RunProgram {
            program: "true".into(),
            git: Git::from_system(views),
            sandbox_flags: Vec::new(),
            run_flags: Vec::new(),
            key_file: None,
            hidden: crate::FileFilter::default(),
            parking: None,
        }
    }

    /// Returns the claim of a task with a directory as the source of its workspace.
    fn claim(source: &Path) -> Claim {
        let line = format!(r#"{{"id":"a","prompt":"p","workspace":"{}"}}"#, source.display());
        let task: Task = serde_json::from_str(&line).unwrap();
        let lease = Lease { task: "a".to_owned(), number: 6 };
        Claim { lease, task, spend: Spend::default(), attempt: 0 }
    }

    #[test]
    fn a_run_that_has_ended_is_stored_when_its_check_begins_without_the_files_of_the_check() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().canonicalize().unwrap().join(path);
        for directory in ["source", "fleet/tasks", "other/tasks"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let (claim, program, store) =
            (claim(&at("source")), program(at("views")), Arc::new(Stored::default()));
        let [fleet, other] = ["fleet", "other"].map(at);
        let [first, second] =
            [&fleet, &other].map(|fleet| Workspaces::new(program.git.clone(), fleet.clone()));
        let snapshots = |workspaces, fleet| Snapshots {
            store: Arc::clone(&store) as _,
            program: &program,
            workspaces,
            fleet,
            watched: Mutex::default(),
        };
        let (snapshots, restoring) = (snapshots(&first, &fleet), snapshots(&second, &other));
        let dir = TaskDir::open(&fleet.join("tasks"), "a").unwrap();
        first.prepare(&claim.task.workspace, &dir.workspace()).unwrap();
        fs::write(dir.workspace().join("new.txt"), "new\n").unwrap();
        let lines = [
            format!(r#"{{"type":"system","session_id":"{SESSION}"}}"#),
            r#"{"type":"user","message":{}}"#.to_owned(),
            r#"{"type":"result","duration_ms":1}"#.to_owned(),
        ];
        fs::write(dir.stream(), lines.join("\n") + "\n").unwrap();
        snapshots.watch(&claim);
        assert_eq!((snapshots.store_due(), lock(&store.0).len()), (Vec::new(), 0), "the run is short");

        let changes = first.changes(&claim.task.workspace, &dir.workspace(), &dir.patch()).unwrap();
        dir.write_changes(&changes).unwrap();
        fs::write(dir.workspace().join("of-check.txt"), "").unwrap();
        assert_eq!(snapshots.store_due(), []);
        let stored = lock(&store.0).clone();
        assert!(!stored.is_empty());
        assert_eq!((snapshots.store_due(), lock(&store.0).len()), (Vec::new(), stored.len()), "once");

        assert_eq!(restoring.restore(&claim), Some(SharingNote::Restored));
        let restored = TaskDir::open(&other.join("tasks"), "a").unwrap();
        assert!(restored.earlier().unwrap().last().is_some_and(RunStream::is_completed));
        assert!(restored.workspace().join("new.txt").exists());
        assert!(!restored.workspace().join("of-check.txt").exists());
    }

    #[test]
    fn a_torn_snapshot_or_a_newer_local_state_leaves_what_is_there_and_an_older_one_is_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().canonicalize().unwrap().join(path);
        fs::create_dir(at("source")).unwrap();
        fs::write(at("source/a.txt"), "a\n").unwrap();
        let fleet = at("fleet");
        fs::create_dir_all(fleet.join("tasks")).unwrap();
        let (claim, program) = (claim(&at("source")), program(at("views")));
        let workspaces = Workspaces::new(Git::from_system(at("views")), fleet.clone());
        // The snapshot of another machine.
        let (workspace, patch) = (at("other/workspace"), at("patch"));
        workspaces.prepare(&claim.task.workspace, &workspace).unwrap();
        fs::write(workspace.join("a.txt"), "b\n").unwrap();
        let base = workspaces.write_patch(&claim.task.workspace, &workspace, &patch).unwrap();
        fs::write(at("stream"), "{\"session_id\":\"s\"}\n").unwrap();
        let parts = [(CHANGES_FILE.to_owned(), patch), ("stream.1.ndjson".to_owned(), at("stream"))];
        let parts: Vec<(String, &Path)> =
            parts.iter().map(|(name, path)| (name.clone(), path.as_path())).collect();
        write(&at("snapshot"), &SnapshotHead::new("a", SESSION, &base), &parts).unwrap();
        let whole = fs::read(at("snapshot")).unwrap();

        let store = Arc::new(Stored(Mutex::new(whole[..whole.len() - 4].to_vec())));
        let snapshots = Snapshots {
            store: Arc::clone(&store) as _,
            program: &program,
            workspaces: &workspaces,
            fleet: &fleet,
            watched: Mutex::default(),
        };
        let torn = snapshots.restore(&claim);
        assert!(
            matches!(&torn, Some(SharingNote::NotRestored(detail)) if detail.contains("too early")),
            "{torn:?}"
        );
        assert!(!task_directory(&fleet.join("tasks"), "a").exists() && !fleet.join("restored/a").exists());
        *lock(&store.0) = whole;

        let dir = TaskDir::open(&fleet.join("tasks"), "a").unwrap();
        fs::write(dir.stream(), "local\n").unwrap();
        for lease in [None, Some(5), Some(7)] {
            lease.into_iter().for_each(|lease| dir.write_lease(lease).unwrap());
            assert_eq!(snapshots.restore(&claim), None, "{lease:?}");
            assert_eq!(fs::read_to_string(dir.stream()).unwrap(), "local\n");
        }
        dir.write_lease(4).unwrap();
        let CurrentStream::Free(running) = dir.lock_stream().unwrap() else { panic!("the stream is free") };
        assert_eq!(snapshots.restore(&claim), None, "a run of an earlier driver is alive");
        drop(running);
        assert_eq!(snapshots.restore(&claim), Some(SharingNote::Restored));
        assert_eq!(fs::read_to_string(fleet.join("superseded/a.1/stream.ndjson")).unwrap(), "local\n");
        assert_eq!(fs::read_to_string(dir.workspace().join("a.txt")).unwrap(), "b\n");
        assert_eq!(dir.restored_session().as_deref(), Some(SESSION));
        assert_eq!(dir.streams().len(), 1);
    }
}
