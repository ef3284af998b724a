//! Properties that hold for any journal and any damage.

use std::fs;

use ibeam_protocol::Event;
use ibeam_session::{SessionError, repair};
use proptest::prelude::*;

use super::store::{Store, name_of, text};

/// Returns a session with several segments, blobs and small records.
fn sample() -> (Store, Vec<Event>) {
    let store = Store::with_segment_bytes(900);
    let mut events: Vec<Event> = (0..24).map(|seq| text(seq, &"é".repeat(seq as usize))).collect();
    for seq in [5, 17] {
        events[seq] = text(seq as u64, &"large ".repeat(12_000 + seq));
    }
    store.write_session(&events);
    (store, events)
}

/// Returns the names of the segments, and the index and offset of the byte at `at` in all segments together.
fn locate(store: &Store, at: usize) -> (Vec<String>, usize, usize) {
    let names = store.segments();
    let mut rest = at;
    for (index, name) in names.iter().enumerate() {
        let length = fs::metadata(store.path(name)).unwrap().len() as usize;
        if rest < length {
            return (names, index, rest);
        }
        rest -= length;
    }
    locate(store, rest)
}

/// Checks that the session opens with a prefix of `events` or reports its damage, that the check agrees, and that it
/// opens after a repair.
fn check_session(store: &Store, events: &[Event]) -> Result<(), TestCaseError> {
    let report = store.check();
    match store.open() {
        Ok((_, loaded)) => {
            prop_assert_eq!(&loaded.events[..], &events[..loaded.events.len()]);
            prop_assert_eq!(report.damage, None);
            prop_assert_eq!(report.events, loaded.events.len() as u64);
            prop_assert_eq!(report.torn_bytes, loaded.torn_bytes);
        }
        Err(SessionError::Damaged { path, line, detail }) => {
            let damage = report.damage.unwrap();
            prop_assert_eq!((damage.path, damage.line, damage.detail), (path, line, detail));
            let repaired = repair(store.home.path(), store.id, &store.options).unwrap();
            prop_assert_eq!(repaired.is_session_left, ibeam_session::exists(store.home.path(), store.id));
            if repaired.is_session_left {
                let remaining = store.events();
                prop_assert_eq!(&remaining[..], &events[..remaining.len()]);
                prop_assert_eq!(remaining.len() as u64, report.events);
            }
        }
        Err(error) => prop_assert!(false, "{error}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn records_of_any_size_are_read_back(sizes in prop::collection::vec(prop_oneof![0usize..200, 65_300usize..65_700], 1..8)) {
        let events: Vec<Event> =
            sizes.iter().enumerate().map(|(seq, size)| text(seq as u64, &"x".repeat(*size))).collect();
        let store = Store::with_segment_bytes(100_000);
        store.write_session(&events);
        prop_assert_eq!(store.events(), events);
    }

    #[test]
    fn every_prefix_loads_a_prefix_or_reports_the_damage(at in 0usize..100_000, blob in 0usize..6) {
        let (store, events) = sample();
        let (names, index, length) = locate(&store, at);
        for later in &names[index + 1..] {
            fs::remove_file(store.path(later)).unwrap();
        }
        let bytes = fs::read(store.path(&names[index])).unwrap();
        fs::write(store.path(&names[index]), &bytes[..length]).unwrap();
        if let Some(name) = store.blobs().get(blob) {
            fs::remove_file(store.path("blobs").join(name)).unwrap();
        }
        check_session(&store, &events)?;
    }

    /// A killed process may leave a last segment that is cut anywhere after its header. It always opens, with every
    /// complete record.
    #[test]
    fn a_cut_after_the_header_is_never_damage(at in 0usize..100_000) {
        let (store, events) = sample();
        let name = store.segments().pop().unwrap();
        let bytes = fs::read(store.path(&name)).unwrap();
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let cut = header + at % (bytes.len() - header + 1);
        fs::write(store.path(&name), &bytes[..cut]).unwrap();
        let records = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        let lost = records(&bytes) - records(&bytes[..cut]);
        prop_assert_eq!(&store.events()[..], &events[..events.len() - lost]);
    }

    #[test]
    fn a_flipped_bit_is_reported_with_its_line(at in 0usize..100_000, bit in 0u8..8) {
        let (store, events) = sample();
        let (names, index, offset) = locate(&store, at);
        let path = store.path(&names[index]);
        let mut bytes = fs::read(&path).unwrap();
        bytes[offset] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        let last_line_end = index + 1 == names.len() && offset + 1 == bytes.len();
        // Without its line end the last record looks torn, so it is not reported as damaged.
        if !last_line_end {
            let line = 1 + bytes[..offset].iter().filter(|byte| **byte == b'\n').count() as u64;
            let (file, found, _) = store.damage();
            prop_assert_eq!((file, found), (name_of(&path), line));
        }
        check_session(&store, &events)?;
    }

    #[test]
    fn any_bytes_after_a_valid_header_are_read_or_reported(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let store = Store::with_events(&[]);
        let mut journal = fs::read(store.journal()).unwrap();
        journal.extend(&bytes);
        fs::write(store.journal(), &journal).unwrap();
        check_session(&store, &[])?;
    }
}
