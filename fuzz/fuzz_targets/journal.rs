//! Any bytes after a valid header: opening a session does not crash and loses no complete record before the damage.
#![no_main]

use std::io::Write;
use std::path::Path;

use ibeam_protocol::SessionId;
use ibeam_session::{Session, SessionOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(home) = tempfile::tempdir() else { return };
    let (id, options) = (SessionId::random(), SessionOptions::default());
    drop(Session::create(home.path(), id, Path::new("/w"), &options).expect("a new session"));
    let journal = home.path().join(id.to_string()).join("events.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(journal).expect("the journal");
    file.write_all(bytes).expect("the bytes");
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    if let Ok((session, _)) = Session::open(home.path(), id, &options, &mut |event| once.push(event)) {
        drop(session);
        // The first opening cuts an incomplete last record, so the second one returns the same events.
        let again = Session::open(home.path(), id, &options, &mut |event| twice.push(event));
        let (_, again) = again.expect("a session that was just opened");
        assert_eq!(twice, once);
        assert_eq!(again.torn_bytes, 0);
    }
});
