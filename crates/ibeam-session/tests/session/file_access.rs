//! Modes and owners of files, and links instead of files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use ibeam_protocol::SessionId;
use ibeam_session::{Session, SessionError, SessionOptions};

use super::store::{Store, prompt, text};

#[test]
fn files_are_for_the_owner_only() {
    let store = Store::new();
    let sessions = store.home.path().join("new").join("sessions");
    let mut session = Session::create(&sessions, store.id, Path::new("/work"), &store.options).unwrap();
    session.append(&text(0, &"x".repeat(70_000))).unwrap();
    session.rotate().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = sessions.join(store.id.to_string());
    for name in ["events.jsonl", "events.part0002.jsonl", "lock"] {
        assert_eq!(mode(&directory.join(name)), 0o600, "{name}");
    }
    for directory in [&directory, &directory.join("blobs"), &sessions, &store.home.path().join("new")] {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
}

#[test]
fn f143_modes_do_not_depend_on_the_umask() {
    for umask in [0, 0o777, 0o022] {
        let store = Store::new();
        let sessions = store.home.path().join("new").join("sessions");
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        let created = Session::create(&sessions, store.id, Path::new("/work"), &store.options);
        rustix::process::umask(before);
        let mut session = created.unwrap();
        session.append(&text(0, &"x".repeat(70_000))).unwrap();
        session.sync_to_disk().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let directory = sessions.join(store.id.to_string());
        assert_eq!(mode(&directory), 0o700, "{umask:o}");
        assert_eq!(mode(&directory.join("events.jsonl")), 0o600, "{umask:o}");
        assert_eq!(mode(&directory.join("lock")), 0o600, "{umask:o}");
    }
}

/// Checks that a session is refused after `plant` replaced a part of it, and that the file `victim` is not changed.
#[track_caller]
fn check_refused(plant: impl Fn(&Store, &Path)) {
    let store = Store::with_events(&[prompt(0, "x")]);
    let victim = store.home.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    plant(&store, &victim);
    for outcome in [store.open().map(drop), store.create().map(drop)] {
        assert!(matches!(outcome, Err(SessionError::Unusable { .. })), "{outcome:?}");
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
}

#[test]
fn f144_a_link_instead_of_the_lock_is_refused() {
    check_refused(|store, victim| {
        fs::remove_file(store.path("lock")).unwrap();
        symlink(victim, store.path("lock")).unwrap();
    });
}

#[test]
fn f144_a_link_instead_of_the_journal_is_refused() {
    check_refused(|store, victim| {
        fs::remove_file(store.journal()).unwrap();
        symlink(victim, store.journal()).unwrap();
    });
}

#[test]
fn f144_a_link_instead_of_the_session_directory_is_refused() {
    check_refused(|store, _| {
        let moved = store.home.path().join("moved");
        fs::rename(store.directory(), &moved).unwrap();
        symlink(moved, store.directory()).unwrap();
    });
}

#[test]
fn f144_a_link_instead_of_a_new_journal_is_refused() {
    let store = Store::new();
    fs::create_dir(store.directory()).unwrap();
    let victim = store.home.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, store.path("events.new")).unwrap();
    assert!(matches!(store.create(), Err(SessionError::Unusable { .. })));
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
}

#[test]
fn f144_a_link_instead_of_the_directory_of_all_sessions_is_refused() {
    let store = Store::with_events(&[prompt(0, "x")]);
    let link = store.home.path().with_extension("link");
    symlink(store.home.path(), &link).unwrap();
    for id in [store.id, SessionId::random()] {
        let outcomes = [
            Session::open(&link, id, &SessionOptions::default(), &mut drop).map(drop),
            Session::create(&link, id, Path::new("/work"), &SessionOptions::default()).map(drop),
        ];
        fs::metadata(&link).unwrap();
        for outcome in outcomes {
            assert!(matches!(outcome, Err(SessionError::Unusable { .. })), "{outcome:?}");
        }
    }
    fs::remove_file(link).unwrap();
}

#[test]
fn f144_a_directory_of_another_user_is_refused() {
    let store = Store::with_events(&[prompt(0, "x")]);
    if let Err(error) = std::os::unix::fs::chown(store.directory(), Some(12_345), None) {
        eprintln!("SKIP: only root can give a directory away: {error}");
        return;
    }
    for outcome in [store.open().map(drop), store.create().map(drop)] {
        match outcome {
            Err(SessionError::Unusable { source, .. }) => {
                assert!(source.to_string().contains("12345"), "{source}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_fifo_instead_of_the_journal_does_not_block() {
    let store = Store::with_events(&[prompt(0, "x")]);
    fs::remove_file(store.journal()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        store.journal(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert!(matches!(store.open(), Err(SessionError::Io { .. })));
}

#[test]
fn a_session_that_is_removed_while_it_is_written_is_an_error() {
    let removals: [fn(&Store); 3] = [
        |store| fs::remove_dir_all(store.directory()).unwrap(),
        |store| fs::remove_file(store.journal()).unwrap(),
        |store| {
            fs::rename(store.directory(), store.home.path().join("moved")).unwrap();
            drop(store.create().unwrap());
        },
    ];
    for (number, remove) in removals.iter().enumerate() {
        let store = Store::new();
        let mut session = store.create().unwrap();
        session.append(&prompt(0, "x")).unwrap();
        // A sync that still runs would find the directory missing, and report it earlier.
        session.sync_to_disk().unwrap();
        remove(&store);
        session.append(&prompt(1, "y")).unwrap();
        let point = session.begin_sync();
        // A moved directory is reported only at the end, because its records are not lost.
        assert_eq!(matches!(point, Err(SessionError::Removed { .. })), number < 2, "{number}: {point:?}");
        let settled = session.sync_to_disk();
        assert!(matches!(settled, Err(SessionError::Removed { .. })), "{number}: {settled:?}");
    }
}
