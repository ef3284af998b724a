//! Journals with a torn last line or with damage before it.

use ibeam_testkit::fault_injection::check_failure;

use super::expect_success;
use crate::end_to_end::failures::recorded_session;
use crate::end_to_end::faults::journal_line;

#[test]
fn f149_a_torn_last_line_is_saved_and_the_run_continues() {
    for cut in [1, 7, 40] {
        let (scene, id) = recorded_session();
        let path = scene.workspace.journal(&id);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        let output = expect_success(&scene, scene.print([format!("--resume={id}")]));
        assert_eq!(output.stream().deltas(), ["second"]);
        let files = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let torn = files.filter(|path| path.to_string_lossy().contains(".torn")).map(std::fs::read);
        let torn: Vec<u8> = torn.flat_map(Result::unwrap).collect();
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(torn, &bytes[last..bytes.len() - cut], "the torn line is saved");
    }
}

/// Damage before the last line is reported with its line. Nothing is written or sent.
#[test]
fn f150_a_session_with_damage_before_its_end_is_not_resumed() {
    let line_of =
        |bytes: &[u8], offset: usize| bytes[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
    let (scene, id) = recorded_session();
    let path = scene.workspace.journal(&id);
    let intact = std::fs::read(&path).unwrap();
    let last = intact[..intact.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    let mut damages: Vec<(String, Vec<u8>, usize)> = Vec::new();
    for offset in (0..last).step_by(last / 24) {
        let mut flipped = intact.clone();
        flipped[offset] ^= 0x01;
        damages.push((format!("a flipped bit at {offset}"), flipped, line_of(&intact, offset)));
    }
    let nul_at = last / 2;
    let mut nuls = intact.clone();
    nuls[nul_at..nul_at + 64].fill(0);
    damages.push(("NULs".to_owned(), nuls, line_of(&intact, nul_at)));
    let second = intact.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    damages.push(("no header".to_owned(), intact[second..].to_vec(), 1));
    damages.push(("an empty journal".to_owned(), Vec::new(), 1));
    damages.push((
        "a header of a later version".to_owned(),
        [header_of_later_version(&intact[..second]), intact[second..].to_vec()].concat(),
        1,
    ));
    for (damage, bytes, line) in damages {
        std::fs::write(&path, &bytes).unwrap();
        let output = scene.print([format!("--resume={id}")]).run();
        assert_eq!(output.code, Some(65), "{damage}: {output}");
        check_failure(&output, 65);
        assert!(output.stderr.contains(&format!("line {line}")), "{damage} in line {line}: {output}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{damage}: the journal is left as it is");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

/// Returns a header with an unknown format version and a correct checksum.
fn header_of_later_version(line: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(line).unwrap().trim_end();
    let payload = text.split_once("\"header\":").unwrap().1.strip_suffix('}').unwrap();
    journal_line(
        "header",
        &payload.replacen("\"format\":1", "\"format\":99", 1).replacen("\"format\":2", "\"format\":99", 1),
    )
}
