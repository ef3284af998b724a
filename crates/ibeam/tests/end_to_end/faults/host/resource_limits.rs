//! Limits of the system: descriptors, file sizes, memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_testkit::fault_injection::{check_failure, skip};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, check_journaled};
use ibeam_testkit::{Answer, ProgramOutput};
use serde_json::{Value, json};

use super::expect_success;

/// The run fails with an error about descriptors, or it succeeds. The limit goes from too few to enough.
#[test]
fn a_process_without_descriptors_fails_with_71_or_succeeds() {
    let mut successes = 0;
    for descriptors in 3..48 {
        let scene = Scene::new([answer_shell("echo hello"), answer_text("ok")]);
        let limit = format!("ulimit -n {descriptors}");
        let output = scene.print(["--force"]).after(&limit).run();
        match output.code {
            Some(0) => successes += 1,
            Some(71) => check_failure(&output, 71),
            // Before `main`: the shell or the loader had no descriptors.
            Some(126 | 127) if !output.stderr.contains("error: ") => {}
            _ => panic!("with {descriptors} descriptors: {output}"),
        }
    }
    assert!(successes > 0, "48 descriptors are enough");
}

/// The journal reaches the maximum file size. The run reports that; SIGXFSZ does not kill it.
#[test]
fn a_file_that_reaches_its_size_limit_is_an_io_failure() {
    let many = (0..400).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(64)));
    let scene = Scene::new([many]);
    let output = scene.print::<&str>([]).after("ulimit -f 64").run();
    check_failure(&output, 74);
}

/// With any limit the program ends at once. It succeeds only with a complete answer, and names the reason of a failure,
/// also where reporting it needs more memory than there is.
#[test]
fn a_process_without_memory_ends_at_once() {
    let few = (76..128).step_by(2);
    for megabytes in [4, 8, 16, 24, 32, 48, 64].into_iter().chain(few).chain([128, 192, 256, 384, 512]) {
        let scene = Scene::new([answer_text("ok")]);
        let limit = format!("ulimit -v {}", megabytes * 1024);
        let output = scene.print::<&str>([]).after(&limit).run();
        assert!(output.elapsed < Duration::from_secs(10), "{megabytes} MB: {output}");
        match output.code {
            Some(0) => assert_eq!(output.stream().deltas(), ["ok"], "{megabytes} MB"),
            // Before `main`: the loader had no memory.
            Some(127) if !output.stderr.contains("error: ") => {}
            Some(_) => assert!(output.stderr.contains("error: "), "{megabytes} MB: {output}"),
            None => assert!(output.signal.is_some(), "{megabytes} MB: {output}"),
        }
    }
}

/// A control group with a memory limit; removed on drop.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Creates a control group. The error is the reason why that is not possible here.
    fn new(name: &str, bytes: u64) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let (base, limit) = match root.join("memory").is_dir() {
            true => (root.join("memory"), "memory.limit_in_bytes"),
            false => (root.to_owned(), "memory.max"),
        };
        let group = base.join(format!("ibeam-test-{}-{name}", std::process::id()));
        std::fs::create_dir(&group).map_err(|error| format!("no control group: {error}"))?;
        let group = Self(group);
        std::fs::write(group.0.join(limit), bytes.to_string())
            .map_err(|error| format!("no memory limit: {error}"))?;
        Ok(group)
    }

    /// Returns the shell command that moves the shell into this group.
    fn entry_command(&self) -> String {
        format!("echo $$ >{}/cgroup.procs", self.0.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The last process of the group may need a moment to exit.
        let deadline = Instant::now() + Duration::from_secs(5);
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn f138_a_run_needs_no_more_than_64_mb() {
    let group = match MemoryGroup::new("small", 64 << 20) {
        Ok(group) => group,
        Err(reason) => return skip(&reason),
    };
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    expect_success(&scene, scene.print(["--force"]).after(&group.entry_command()));
}

#[test]
fn f138_a_run_that_was_killed_for_its_memory_can_be_resumed() {
    let group = match MemoryGroup::new("hog", 64 << 20) {
        Ok(group) => group,
        Err(reason) => return skip(&reason),
    };
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("half ").stall()]);
    let run = scene
        .print::<&str>([])
        .after(&format!("{}\necho 1000 >/proc/self/oom_score_adj", group.entry_command()));
    let running = run.start();
    running.wait_for_stdout("half ");
    // Another process takes all memory of the group; the kernel kills the run.
    let hog = format!("{}; head -c 256M /dev/zero | tail", group.entry_command());
    Command::new("/bin/bash").args(["-c", &hog]).output().unwrap();
    let output = running.finish();
    assert_eq!((output.code, output.signal), (None, Some(9)), "{output}");
    check_journaled(&scene, &output);
    let scene = scene.with_answers([answer_text("back")]);
    let again = expect_success(&scene, scene.ibeam(["-p", "again", "--continue"]));
    assert_eq!(Some(again.stream().session_id()), session_id(&output).as_deref());
}

/// Returns the session id of a run whose output may end anywhere.
fn session_id(output: &ProgramOutput) -> Option<String> {
    let first: Value = serde_json::from_str(output.stdout.lines().next()?).ok()?;
    Some(first["session_id"].as_str()?.to_owned())
}

/// Checks that a run without enough memory failed with 71 and a line on stderr. If the C library itself lacks the memory for
/// the data of a thread, it prints its own line and aborts: no code of the program runs then.
fn check_out_of_memory(output: &ProgramOutput) {
    if output.code.is_none() && output.stderr.contains("Fatal glibc error: ") {
        return assert!(output.stderr.contains("out of memory"), "{}", output.stderr);
    }
    assert_eq!(output.code, Some(71), "{}", output.stderr);
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{}", output.stderr);
    let last = output.stdout.lines().last().unwrap_or_default();
    assert!(!output.stdout.contains("begun ") || last.starts_with("{\"type\":\"error\""), "{last:.200}");
}

/// An answer that does not fit into the memory: the process is not simply gone.
#[test]
fn refused_memory_is_a_failure_with_an_error_line() {
    let text = "a".repeat(1_000_000);
    let scene = Scene::new([(0..40).fold(Answer::new(), |answer, _| answer.text(text.clone()))]);
    // A debug build needs ten seconds of processor time for so much text, longer where others compute too.
    let limit = Duration::from_secs(150);
    let run = scene.print(["--output-format", "json"]).after("ulimit -v 400000").timeout(limit);
    let output = run.run();
    if output.code != Some(0) {
        check_out_of_memory(&output);
    }
    let answer = (0..30).fold(Answer::new().text("begun "), |answer, _| answer.text(text.clone()));
    let scene = scene.with_answers([answer]);
    let output = scene.print::<&str>([]).after("ulimit -v 400000").timeout(limit).run();
    if output.code != Some(0) {
        check_out_of_memory(&output);
    }
}
