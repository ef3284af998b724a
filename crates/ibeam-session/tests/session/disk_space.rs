//! Reserved space, and a disk that fills up.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
#[allow(clippy::disallowed_types, reason = "a test mounts a small disk")]
use std::process::Command;

use ibeam_protocol::SessionId;
use ibeam_session::{Durability, SessionError, SessionOptions};

use super::store::{Store, prompt, text, texts, write};

#[test]
fn space_is_reserved_while_a_session_is_open_and_released_at_its_end() {
    let store = Store::new();
    let allocated = || fs::metadata(store.journal()).unwrap().blocks() * 512;
    let mut session = store.create().unwrap();
    write(&mut session, &[prompt(0, "x")]);
    if allocated() < store.options.reserve_bytes {
        eprintln!("SKIP: the file system of {} cannot reserve space", store.home.path().display());
        return;
    }
    assert!(
        fs::metadata(store.journal()).unwrap().len() < 1000,
        "the length does not include the reserved space"
    );
    session.sync_to_disk().unwrap();
    assert!(allocated() < 100_000);
    write(&mut session, &[text(1, "the next run")]);
    assert!(allocated() >= store.options.reserve_bytes);
    drop(session);
    assert!(allocated() < 100_000);
}

#[test]
fn space_that_a_killed_process_reserved_is_released() {
    let store = Store::new();
    let mut session = store.create().unwrap();
    write(&mut session, &[prompt(0, "x")]);
    std::mem::forget(session);
    // The lease is still held, so a copy of the files takes the place of the files of a killed process.
    let copy = Store { id: SessionId::random(), ..Store::new() };
    fs::create_dir(copy.directory()).unwrap();
    fs::copy(store.journal(), copy.journal()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(copy.journal()).unwrap();
    let length = file.metadata().unwrap().len();
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, length, 4 << 20).is_err() {
        eprintln!("SKIP: the file system of {} cannot reserve space", copy.home.path().display());
        return;
    }
    drop(copy.open().unwrap());
    assert!(fs::metadata(copy.journal()).unwrap().blocks() * 512 < 100_000);
}

/// A mounted disk of a few megabytes, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test mounts a small disk")]
impl SmallDisk {
    fn new(megabytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
            .arg(directory.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(directory)),
            other => {
                eprintln!("SKIP: no small disk can be mounted here: {other:?}");
                None
            }
        }
    }

    /// Fills the remaining space, as a command of the model may do.
    fn fill(&self) {
        let mut file = File::create(self.0.path().join("filler")).unwrap();
        for block in [1 << 20, 4096, 1] {
            let bytes = vec![b'x'; block];
            while match file.write(&bytes) {
                Ok(_) => true,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::StorageFull);
                    false
                }
            } {}
        }
    }
}

#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test mounts a small disk")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0.path()).status());
    }
}

fn store_on(disk: &SmallDisk, options: SessionOptions) -> Store {
    let home = tempfile::tempdir_in(disk.0.path()).unwrap();
    Store { home, id: SessionId::random(), options }
}

#[test]
fn f083_the_last_records_of_a_run_fit_on_a_full_disk() {
    for durability in [Durability::Written, Durability::Synced] {
        let Some(disk) = SmallDisk::new(16) else { return };
        let store = store_on(&disk, SessionOptions { durability, ..SessionOptions::default() });
        let mut session = store.create().unwrap();
        write(&mut session, &[prompt(0, "x")]);
        disk.fill();
        let mut first_warning = None;
        let mut events = vec![prompt(0, "x")];
        for seq in 1..400 {
            // One of the events is large enough for a blob.
            let event = text(seq, &"y".repeat(if seq == 300 { 200_000 } else { 3000 }));
            session.append(&event).unwrap();
            match session.begin_sync() {
                Ok(()) => assert!(first_warning.is_none()),
                Err(SessionError::LowDiskSpace { source, .. }) => {
                    assert_eq!(source.kind(), ErrorKind::StorageFull);
                    first_warning.get_or_insert(seq);
                }
                other => panic!("{seq}: {other:?}"),
            }
            events.push(event);
        }
        let first_warning = first_warning.unwrap();
        assert!((200..400).contains(&first_warning), "warned when half is used: {first_warning}");
        session.sync_to_disk().unwrap();
        drop(session);
        assert_eq!(store.events(), events);
        assert_eq!(store.check().damage, None);
    }
}

#[test]
fn f083_a_record_that_does_not_fit_is_left_out_completely_and_the_end_is_kept() {
    let Some(disk) = SmallDisk::new(16) else { return };
    let store = store_on(&disk, SessionOptions::default());
    let mut session = store.create().unwrap();
    write(&mut session, &[prompt(0, "x")]);
    disk.fill();
    for event in [text(1, "before"), text(2, &"y".repeat(5 << 20)), text(3, "after")] {
        session.append(&event).unwrap();
    }
    match session.flush() {
        Err(SessionError::Io { source, .. }) => assert_eq!(source.kind(), ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
    session.append(&text(4, "the end")).unwrap();
    session.sync_to_disk().unwrap();
    drop(session);
    assert_eq!(store.events(), [prompt(0, "x"), text(1, "before"), text(3, "after"), text(4, "the end")]);
    let report = store.check();
    assert_eq!((report.damage, report.gaps), (None, 1));
}

#[test]
fn f083_no_record_is_lost_when_a_segment_cannot_be_created() {
    let Some(disk) = SmallDisk::new(16) else { return };
    let store = store_on(&disk, SessionOptions { segment_bytes: 4000, ..SessionOptions::default() });
    let mut session = store.create().unwrap();
    let events = texts(200);
    session.append(&events[0]).unwrap();
    session.flush().unwrap();
    disk.fill();
    // A full tmpfs cannot allocate the first page of a new file.
    let mut low = 0;
    for event in &events[1..] {
        session.append(event).unwrap();
        low += u32::from(session.flush().is_err());
    }
    assert!(low > 0);
    drop(session);
    assert_eq!(store.segments(), ["events.jsonl"]);
    assert_eq!(store.events(), events);
}

#[test]
fn a_session_that_cannot_be_created_on_a_full_disk_leaves_no_files() {
    let Some(disk) = SmallDisk::new(1) else { return };
    let store = store_on(&disk, SessionOptions::default());
    disk.fill();
    assert!(matches!(store.create(), Err(SessionError::Unusable { .. })));
    assert!(!ibeam_session::exists(store.home.path(), store.id));
    assert!(!Path::new(&store.path("events.new")).exists());
}
