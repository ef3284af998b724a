//! Faults of the host: signals, disks, descriptors, clocks, neighbours.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Stdin, Workspace};
use serde_json::{Value, json};

use crate::scene::{BINARY, KEY, Scene, answer_call, answer_shell, answer_text, check_journaled, journal};

/// Says why a fault cannot be brought about here.
pub(crate) fn skip(why: &str) {
    eprintln!("SKIP: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Whether a program that brings faults about does so here.
pub(crate) fn launcher_works(launcher: &[&str]) -> bool {
    let Some((program, args)) = launcher.split_first() else { return false };
    Command::new(program).args(args).arg("true").output().is_ok_and(|output| output.status.success())
}

/// Lets another user walk to the workspace and the home.
pub(crate) fn make_accessible_to_all(scene: &Scene) {
    for path in [scene.workspace.outside(), scene.workspace.path(), scene.workspace.home()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
}

/// One `error:` line, the exit code, no success.
#[track_caller]
pub(crate) fn check_failure(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
}

/// A run that ends well, and is kept.
#[track_caller]
fn check_success(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let output = ibeam.run().succeeded();
    assert!(!output.stream().deltas().is_empty(), "{output}");
    check_journaled(scene, &output);
    output
}

// ---- signals

/// Whatever the run is doing; before it can do anything, the signal kills as it kills any program.
#[test]
fn f116_an_interrupt_at_any_instant_ends_the_run_in_time() {
    for after_ms in (0..200).step_by(13) {
        let scene =
            Scene::new([answer_shell("echo one; sleep 0.05; echo two"), answer_text("some text ").stall()]);
        let running = scene.print(["--force"]).start();
        std::thread::sleep(Duration::from_millis(after_ms));
        let before = Instant::now();
        running.signal(Signal::Int);
        let output = running.finish();
        assert!(before.elapsed() < Duration::from_millis(3500), "after {after_ms} ms: {output}");
        match output.code {
            Some(130) => check_failure(&output, 130),
            _ => assert_eq!(
                (output.signal, output.stdout.as_str()),
                (Some(2), ""),
                "after {after_ms} ms: {output}"
            ),
        }
        // A run that was stopped before it had a session says that nothing can be resumed.
        if ["\"type\":\"tool_call\"", "\"type\":\"assistant\"", "\"resumable\":true"]
            .iter()
            .any(|word| output.stdout.contains(word))
        {
            check_journaled(&scene, &output);
        }
    }
}

#[test]
fn f122_a_reader_that_takes_one_line_ends_the_run() {
    let scene = Scene::new([answer_text("one ").pause(Duration::from_millis(50)).text("two ").stall()]);
    let head = format!("set -o pipefail; {BINARY} -p x \"$@\" | head -1");
    let model = crate::scene::model_name(scene.wire);
    let run = Ibeam::new("/bin/bash", &scene.workspace).args(["-c", &head, "sh", "--model", model]);
    let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY).run();
    check_failure(&output, 74);
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    assert!(output.elapsed < Duration::from_secs(5), "{output}");
    let id =
        serde_json::from_str::<Value>(&output.stdout).unwrap()["session_id"].as_str().unwrap().to_owned();
    let last = journal(&scene, &id).pop().unwrap();
    assert!(!last["kind"]["run_finished"].is_null(), "{last}");
}

/// Nobody should send it, and it is no reason to end.
#[test]
fn f122_the_signal_itself_changes_nothing() {
    let scene = Scene::new([answer_text("one ").pause(Duration::from_millis(700)).text("two")]);
    let running = scene.print::<&str>([]).start();
    running.wait_for_stdout("one ");
    let pid = running.pid().to_string();
    assert!(Command::new("kill").args(["-PIPE", &pid]).status().unwrap().success());
    assert_eq!(running.finish().succeeded().stream().deltas(), ["one ", "two"]);
}

/// `head` must see the end of `yes` in a command too: children have the signal as every program expects it.
#[test]
fn f122_commands_have_the_signal_as_usual() {
    let scene = Scene::new([answer_shell("yes | head -1; echo ${PIPESTATUS[0]}"), answer_text("done")]);
    let output = check_success(&scene, scene.print(["--force"]));
    let result = output.stream().completed()[0].1["result"]["success"].clone();
    assert_eq!(result["stdout"], "y\n141\n", "{result}");
}

/// Two attempts, and no patience.
const IDLE: &str =
    "[timeouts]\nidle = \"2s\"\nfirst_byte = \"2s\"\n[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n";

/// Stands still for longer than the time-out while the model is silent; then the time-out has passed.
#[test]
fn f123_the_time_that_a_run_stood_still_counts() {
    for silent in [Answer::silence(), Answer::new().thinking("hm", "sig").stall()] {
        let scene =
            Scene::new([silent, answer_text("back")]).with_workspace(Workspace::new().user_config(IDLE));
        let running = scene.print::<&str>([]).start();
        scene.server.wait_for_requests(1);
        running.pause();
        std::thread::sleep(Duration::from_millis(2200));
        running.resume();
        let before = Instant::now();
        scene.server.wait_for_requests(2);
        assert!(before.elapsed() < Duration::from_millis(1500), "{:?} more", before.elapsed());
        let output = running.finish().succeeded();
        assert_eq!(output.stream().deltas(), ["back"]);
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    }
}

#[test]
fn f123_a_connection_that_died_meanwhile_is_made_again() {
    let dying = Answer::new().thinking("hm", "sig").pause(Duration::from_millis(400)).cut();
    let scene = Scene::new([dying, answer_text("back")]).with_workspace(Workspace::new().user_config(IDLE));
    let running = scene.print::<&str>([]).start();
    scene.server.wait_for_requests(1);
    running.pause();
    std::thread::sleep(Duration::from_millis(800));
    running.resume();
    assert_eq!(running.finish().succeeded().stream().deltas(), ["back"]);
}

/// What runs under `nohup` outlives its terminal.
#[test]
fn f133_a_hang_up_that_was_to_be_ignored_is_ignored() {
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).through(["nohup"]).start();
    running.wait_for_stdout("one ");
    running.signal(Signal::Hup);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::Term);
    check_failure(&running.finish(), 143);
}

// ---- stdin, stdout, stderr

#[test]
fn f128_a_reader_that_never_reads_holds_up_neither_the_end_nor_the_journal() {
    let many = || (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)));
    for format in ["stream-json", "json"] {
        let scene = Scene::new([many(), answer_text("never")]);
        let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
        let run = scene.print(["--timeout", "1500ms", "--output-format", format, "--resume", &id]);
        let running = run.unread_stdout().start();
        scene.server.wait_for_requests(1);
        std::thread::sleep(Duration::from_millis(1000));
        let peak = running.peak_memory();
        let output = running.finish();
        check_failure(&output, 33);
        assert!(output.elapsed < Duration::from_millis(1500 + 3500), "{output}");
        assert!(peak < 128 << 20, "{peak} bytes");
        let events = journal(&scene, &id);
        let last = events.last().unwrap();
        assert!(
            !last["kind"]["run_finished"].is_null(),
            "{format}: {} events, the last {last}; {output}",
            events.len()
        );
    }
}

/// The same where a signal asks for the end.
#[test]
fn f128_a_reader_that_never_reads_does_not_hold_up_a_signal() {
    let many = (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)));
    let scene = Scene::new([many, answer_text("never")]);
    let running = scene.print::<&str>([]).unread_stdout().start();
    scene.server.wait_for_requests(1);
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::Term);
    let before = Instant::now();
    check_failure(&running.finish(), 143);
    assert!(before.elapsed() < Duration::from_millis(3500));
}

#[test]
fn f131_a_stdin_that_is_closed_is_not_used_for_anything_else() {
    for script in ["exec <&-", "exec <&- 2>&-", "exec <&- >&- 2>&-"] {
        let scene = Scene::new([answer_text("one "), answer_text("never")]);
        let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
        let output = scene.print(["--resume", &id]).after(script).run().succeeded();
        let events = journal(&scene, &id);
        assert!(!events.last().unwrap()["kind"]["run_finished"].is_null(), "{script}");
        if !script.contains(">&- 2") {
            assert_eq!(output.stream().deltas(), ["one "], "{script}");
        }
    }
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).after("exec <&-").start();
    running.wait_for_stdout("one ");
    let stdin = std::fs::read_link(format!("/proc/{}/fd/0", running.pid())).unwrap();
    assert_eq!(stdin, Path::new("/dev/null"));
}

/// With and without a terminal, the stream is the same.
#[test]
fn f133_without_a_terminal_the_stream_is_the_same() {
    let answers = || [answer_call("t", "ls", &json!({ "path": "." })), answer_text("done")];
    let scene = Scene::new(answers());
    let outline = scene.print::<&str>([]).run().succeeded().stream().outline();
    let poor = ["env", "-u", "PATH", "-u", "XDG_CONFIG_HOME", "-u", "XDG_CACHE_HOME", "-u", "XDG_STATE_HOME"];
    for launcher in [&["setsid", "--wait"][..], &["nohup"], &poor] {
        let scene = Scene::new(answers());
        let output = scene.print::<&str>([]).through(launcher).run().succeeded();
        assert_eq!(output.stream().outline(), outline, "{launcher:?}");
        assert_eq!(output.stderr_lines("warning: ").len(), 0, "{launcher:?}: {output}");
    }
}

#[test]
fn a_stdin_that_is_a_directory_is_told() {
    let scene = Scene::new([]);
    let output = scene.print::<&str>([]).after("exec </").run();
    check_failure(&output, 66);
    assert!(output.stderr.contains("stdin"), "{output}");
}

#[test]
fn a_stdin_that_is_a_fifo_without_a_writer_is_ignored_in_time() {
    let scene = Scene::new([answer_text("ok")]);
    let output = scene.print::<&str>([]).after("mkfifo quiet; exec <>quiet").run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.elapsed < Duration::from_millis(4500), "{output}");
}

/// Nobody hears what is said on stderr, and the result is the same.
#[test]
fn a_stderr_that_takes_nothing_never_changes_the_result() {
    let warned = || [Answer::error(529, "overloaded_error", "busy"), answer_text("ok")];
    let config = "[retry]\nfirst_pause = \"1ms\"\n";
    for script in ["exec 2>&-", "exec 2>/dev/full"] {
        let scene = Scene::new(warned()).with_workspace(Workspace::new().user_config(config));
        assert_eq!(scene.print::<&str>([]).after(script).run().succeeded().stream().deltas(), ["ok"]);
        let output = scene.ibeam_without_model(["--no-such-flag"]).after(script).run();
        assert_eq!(output.code, Some(2), "{script}: {output}");
    }
}

/// Far more warnings than a pipe holds, and nobody reads them.
#[test]
fn a_stderr_that_nobody_reads_never_changes_the_result() {
    let keys: String = (0..10).map(|number| format!("{}{number} = 1\n", "k".repeat(12_000))).collect();
    for args in [&["--heartbeat", "1"][..], &[]] {
        let scene = Scene::new([answer_text("ok")]).with_workspace(Workspace::new().user_config(&keys));
        let output = scene.print(args).unread_stderr().run().succeeded();
        assert_eq!(output.stream().deltas(), ["ok"]);
        assert!(output.elapsed < Duration::from_secs(5), "{output}");
    }
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(&keys));
    let output = scene.print(["--header", "none"]).unread_stderr().run();
    assert_eq!(output.code, Some(2), "{output}");
}

// ---- limits of the system

/// From too few descriptors for anything to enough for everything: an error that says so, or a good end.
#[test]
fn a_process_without_descriptors_fails_with_71_or_ends_well() {
    let mut ended_well = 0;
    for descriptors in 3..48 {
        let scene = Scene::new([answer_shell("echo hello"), answer_text("ok")]);
        let limit = format!("ulimit -n {descriptors}");
        let output = scene.print(["--force"]).after(&limit).run();
        match output.code {
            Some(0) => ended_well += 1,
            Some(71) => check_failure(&output, 71),
            // Before `main`: the shell or the loader had none.
            Some(126 | 127) if !output.stderr.contains("error: ") => {}
            _ => panic!("with {descriptors} descriptors: {output}"),
        }
    }
    assert!(ended_well > 0, "48 descriptors are enough");
}

/// The journal comes to the largest size that a file may have: told, never killed by SIGXFSZ.
#[test]
fn a_file_that_reaches_its_size_limit_is_an_io_failure() {
    let many = (0..400).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(64)));
    let scene = Scene::new([many]);
    let output = scene.print::<&str>([]).after("ulimit -f 64").run();
    check_failure(&output, 74);
}

/// However little memory there is, the program ends, and never well without having done its work.
#[test]
fn a_process_without_memory_ends_at_once() {
    for megabytes in [4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512] {
        let scene = Scene::new([answer_text("ok")]);
        let limit = format!("ulimit -v {}", megabytes * 1024);
        let output = scene.print::<&str>([]).after(&limit).run();
        assert!(output.elapsed < Duration::from_secs(10), "{megabytes} MB: {output}");
        match output.code {
            Some(0) => assert_eq!(output.stream().deltas(), ["ok"], "{megabytes} MB"),
            _ => assert!(!output.stderr.is_empty() || output.signal.is_some(), "{megabytes} MB: {output}"),
        }
    }
}

/// The control group of one process with a limit of memory; gone with this value.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Makes one, or says why it is not to be had.
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
            .map_err(|error| format!("no limit of memory: {error}"))?;
        Ok(group)
    }

    /// What a shell does to belong to it.
    fn enter(&self) -> String {
        format!("echo $$ >{}/cgroup.procs", self.0.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Its last process may need a moment to be gone.
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
        Err(why) => return skip(&why),
    };
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    check_success(&scene, scene.print(["--force"]).after(&group.enter()));
}

#[test]
fn f138_a_run_that_the_system_killed_for_its_memory_is_gone_on_with() {
    let group = match MemoryGroup::new("hog", 64 << 20) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("half ").stall()]);
    let run =
        scene.print::<&str>([]).after(&format!("{}\necho 1000 >/proc/self/oom_score_adj", group.enter()));
    let running = run.start();
    running.wait_for_stdout("half ");
    // A neighbour takes all there is; the one to go is the run.
    let hog = format!("{}; head -c 256M /dev/zero | tail", group.enter());
    Command::new("/bin/bash").args(["-c", &hog]).output().unwrap();
    let output = running.finish();
    assert_eq!((output.code, output.signal), (None, Some(9)), "{output}");
    check_journaled(&scene, &output);
    let scene = scene.with_answers([answer_text("back")]);
    let again = check_success(&scene, scene.ibeam(["-p", "again", "--continue"]));
    assert_eq!(Some(again.stream().session_id()), id_of(&output).as_deref());
}

/// The session of a run that may have been cut anywhere.
fn id_of(output: &ProgramOutput) -> Option<String> {
    let first: Value = serde_json::from_str(output.stdout.lines().next()?).ok()?;
    Some(first["session_id"].as_str()?.to_owned())
}

// ---- clocks

/// A library between the program and its C library, built from `preload.c`.
pub(crate) fn preload(scene: &Scene) -> Option<PathBuf> {
    build_program(scene, "preload.c", &["-shared", "-fPIC"])
}

/// What the C compiler makes of a source beside this one.
pub(crate) fn build_program(scene: &Scene, source: &str, options: &[&str]) -> Option<PathBuf> {
    let product = scene.workspace.outside().join(source).with_extension("built");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/faults").join(source);
    let built = Command::new("cc").args(options).args(["-O", "-o"]).arg(&product).arg(path).output();
    match built {
        Ok(output) if output.status.success() => Some(product),
        Ok(output) => {
            skip(&format!("cc does not build {source}: {}", String::from_utf8_lossy(&output.stderr)));
            None
        }
        Err(error) => {
            skip(&format!("no C compiler: {error}"));
            None
        }
    }
}

/// A clock that can be set while the program runs.
fn with_clock(scene: &Scene, ibeam: Ibeam) -> Option<(Ibeam, PathBuf)> {
    let (library, shift) = (preload(scene)?, scene.workspace.outside().join("shift"));
    std::fs::write(&shift, "0").unwrap();
    Some((ibeam.env("LD_PRELOAD", library).env("CLOCK_SHIFT", &shift), shift))
}

const YEAR: i64 = 365 * 24 * 3600;

#[test]
fn f139_a_wall_clock_that_jumps_changes_no_duration() {
    for jump in [YEAR, -YEAR, 3600, -3600, -70 * YEAR] {
        let pause = Duration::from_millis(300);
        let answer = || answer_text("one ").pause(pause).text("two ").pause(pause).text("three");
        let scene = Scene::new([answer()]);
        let Some((ibeam, shift)) = with_clock(&scene, scene.print(["--timeout", "20s"])) else { return };
        let running = ibeam.start();
        running.wait_for_stdout("one ");
        std::fs::write(&shift, jump.to_string()).unwrap();
        let output = running.finish().succeeded();
        let stream = output.stream();
        let last = stream.last();
        for duration in [&last["duration_ms"], &last["ibeam"]["api_ms"]] {
            assert!((500..15_000).contains(&duration.as_u64().unwrap()), "jump of {jump} s: {last}");
        }
        let events = journal(&scene, stream.session_id());
        let stamps: Vec<u64> = events.iter().map(|event| event["at_ms"].as_u64().unwrap()).collect();
        let (first, end) = (stamps[0], stamps[stamps.len() - 1]);
        assert!(first.abs_diff(end) > 1_000_000, "the clock did jump: {stamps:?}");
        let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "order is by number, not by time");
        // The session goes on, although it was last written to in the past or in the future.
        std::fs::write(&shift, (-jump).to_string()).unwrap();
        let scene = scene.with_answers([answer_text("on")]);
        let (ibeam, _) = with_clock(&scene, scene.ibeam(["-p", "again", "--continue"])).unwrap();
        assert_eq!(ibeam.run().succeeded().stream().session_id(), stream.session_id());
    }
}

/// A machine that has been up for a year, or was restored from an image.
#[test]
fn f139_a_monotonic_clock_that_stands_anywhere_is_as_good() {
    for offset in ["31536000", "0"] {
        let launcher = ["unshare", "--time", "--fork", "--monotonic", offset, "--boottime", offset];
        if !launcher_works(&launcher) {
            return skip("no time namespaces");
        }
        let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
        let output = check_success(&scene, scene.print(["--force"]).through(launcher));
        assert!(output.stream().last()["duration_ms"].as_u64().unwrap() < 15_000, "{output}");
    }
}

/// As when the lid was closed: nothing moved, and the wall clock is hours ahead.
#[test]
fn f154_after_a_suspension_a_dead_connection_is_noticed_and_made_again() {
    let scene = Scene::new([Answer::new().thinking("hm", "sig").stall(), answer_text("back")]);
    let scene = scene.with_workspace(Workspace::new().user_config(IDLE));
    let Some((ibeam, shift)) = with_clock(&scene, scene.print::<&str>([])) else { return };
    let running = ibeam.start();
    scene.server.wait_for_requests(1);
    running.pause();
    std::fs::write(&shift, "28800").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    running.resume();
    let output = running.finish().succeeded();
    assert_eq!(output.stream().deltas(), ["back"]);
    assert!(output.elapsed < Duration::from_secs(8), "{output}");
}

// ---- places

/// What stands in `/`.
fn root_entries() -> BTreeSet<PathBuf> {
    std::fs::read_dir("/").unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The binary with a HOME of this kind and no XDG variables, in a world whose list of users says that our home
/// is `listed`. `None` where no such world can be made.
fn homed(scene: &Scene, home: Option<&str>, listed: &Path) -> Option<Ibeam> {
    in_a_world(scene, scene.print::<&str>([]), home, listed)
}

/// The same with any command.
fn in_a_world(scene: &Scene, mut ibeam: Ibeam, home: Option<&str>, listed: &Path) -> Option<Ibeam> {
    let users = scene.workspace.outside().join("passwd");
    let id = rustix::process::getuid().as_raw();
    std::fs::write(&users, format!("us:x:{id}:{id}::{}:/bin/sh\n", listed.display())).unwrap();
    let unshare: &[&str] = if is_root() { &["unshare", "--mount"] } else { return None };
    if !launcher_works(unshare) {
        return None;
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        ibeam = ibeam.env_remove(name);
    }
    if let Some(home) = home {
        ibeam = ibeam.env("HOME", home);
    }
    Some(ibeam.after(&format!("mount --bind {} /etc/passwd", users.display())).through(unshare))
}

/// Where the sessions went.
fn sessions_in(home: &Path) -> usize {
    std::fs::read_dir(home.join(".local/share/ibeam/sessions")).map_or(0, Iterator::count)
}

#[test]
fn f141_a_home_that_nobody_names_is_looked_up() {
    let before = root_entries();
    for home in [None, Some("")] {
        let scene = Scene::new([answer_text("ok")]);
        let listed = scene.workspace.outside().join("listed");
        std::fs::create_dir(&listed).unwrap();
        let Some(ibeam) = homed(&scene, home, &listed) else {
            return skip("no mount namespace to put another list of users in");
        };
        let output = ibeam.run().succeeded();
        assert_eq!(output.stream().deltas(), ["ok"], "{home:?}");
        assert_eq!(sessions_in(&listed), 1, "{home:?}");
        assert_eq!(root_entries(), before, "{home:?}: nothing was made in `/`");
    }
}

/// The list of users has a home that could be written, and it is not used: other rules may stand there, or none.
#[test]
fn f141_a_home_that_can_hold_nothing_is_an_error_that_names_the_way_out() {
    let before = root_entries();
    for home in ["/", "/nonexistent", "/proc/1"] {
        let scene = Scene::new([answer_text("never")]);
        let listed = scene.workspace.outside().join("listed");
        std::fs::create_dir(&listed).unwrap();
        let Some(ibeam) = homed(&scene, Some(home), &listed) else {
            return skip("no mount namespace to put another list of users in");
        };
        let output = ibeam.run();
        check_failure(&output, 73);
        assert!(output.stderr.contains("XDG_DATA_HOME") && output.stderr.contains(home), "{output}");
        assert_eq!((sessions_in(&listed), scene.server.requests().len()), (0, 0), "{home}");
        assert_eq!(root_entries(), before, "{home}: nothing was made in `/`");
    }
}

/// A relative path would make files of the workspace the user's own.
#[test]
fn f141_a_variable_with_a_relative_path_is_an_error() {
    for name in ["HOME", "CURSOR_CONFIG_DIR"] {
        let scene = Scene::new([answer_shell("echo a > made"), answer_text("never")]);
        let scene = scene.with_workspace(
            Workspace::new().file("own/cli-config.json", r#"{"permissions": {"allow": ["Shell(*:*)"]}}"#),
        );
        let output = scene.print(["--approval", "allowlist"]).env(name, "own").run();
        check_failure(&output, 78);
        assert!(
            output.stderr.contains(&format!("${name}")) && output.stderr.contains("absolute"),
            "{output}"
        );
        assert_eq!(scene.server.requests().len(), 0);
    }
}

/// The rules of a home that cannot be written hold, and the run says where it could write.
#[test]
fn f141_a_home_that_is_read_only_is_read() {
    if !is_root() || !launcher_works(&["unshare", "--mount"]) {
        return skip("no mount namespace in which a home is read-only");
    }
    let read_only = |scene: &Scene, ibeam: Ibeam| {
        let home = scene.workspace.home().display();
        let mount = format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'");
        ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]
            .into_iter()
            .fold(ibeam, Ibeam::env_remove)
            .after(&mount)
            .through(["unshare", "--mount"])
    };
    let scene = || {
        let scene = Scene::new([answer_shell("touch made"), answer_text("done")]);
        scene.with_workspace(Workspace::new().user_config("[permissions]\ndeny = [\"Shell(touch)\"]\n"))
    };
    let refused = scene();
    let output = read_only(&refused, refused.print(["--force"])).run();
    check_failure(&output, 73);
    let home = refused.workspace.home().to_str().unwrap();
    assert!(output.stderr.contains("XDG_DATA_HOME") && output.stderr.contains(home), "{output}");
    assert_eq!(refused.server.requests().len(), 0);
    // `ibeam config explain` writes nothing, and shows the rule.
    let shown = read_only(&refused, refused.ibeam_without_model(["config", "explain"])).run().succeeded();
    assert!(shown.stdout.contains("Shell(touch)"), "{shown}");
    let elsewhere = scene();
    let data = elsewhere.workspace.outside().join("data");
    let run = read_only(&elsewhere, elsewhere.print(["--force"])).env("XDG_DATA_HOME", &data);
    let output = run.run().succeeded();
    assert!(output.stdout.contains("rejected") && output.stdout.contains("Shell(touch)"), "{output}");
    assert_eq!(elsewhere.workspace.read("made"), None);
    assert!(data.join("ibeam/sessions").is_dir(), "{output}");
}

/// Another HOME does not lay the user's keys open.
#[test]
fn f141_credentials_of_the_listed_home_are_kept_with_another_home() {
    let scene = Scene::new([]);
    let listed = scene.workspace.outside().join("listed");
    let key = listed.join(".ssh/id_rsa");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "SECRET-KEY").unwrap();
    let path = key.to_str().unwrap();
    let read = answer_call("r", "read", &json!({ "path": path }));
    let scene = scene.with_answers([read, answer_shell(&format!("cat '{path}'")), answer_text("done")]);
    let home = scene.workspace.home().to_str().unwrap().to_owned();
    let run = in_a_world(&scene, scene.print(["--force"]), Some(&home), &listed);
    let Some(ibeam) = run else {
        return skip("no mount namespace to put another list of users in");
    };
    let output = ibeam.run().succeeded();
    assert!(!output.stdout.contains("SECRET-KEY"), "{output}");
    assert!(output.stdout.contains("is hidden from the model"), "{output}");
}

#[test]
fn f141_a_home_that_is_not_made_yet_is_made_beside_its_neighbours() {
    let scene = Scene::new([answer_text("ok")]);
    let fresh = scene.workspace.outside().join("fresh");
    let Some(ibeam) = homed(&scene, fresh.to_str(), &scene.workspace.outside().join("listed")) else {
        return skip("no mount namespace to put another list of users in");
    };
    ibeam.run().succeeded();
    assert_eq!(sessions_in(&fresh), 1);
}

#[test]
fn f141_without_any_home_it_is_told_what_to_set() {
    let before = root_entries();
    for home in [None, Some("/"), Some("/nonexistent")] {
        let scene = Scene::new([answer_text("never")]);
        let Some(ibeam) = homed(&scene, home, Path::new("/")) else {
            return skip("no mount namespace to put another list of users in");
        };
        let output = ibeam.run();
        check_failure(&output, 73);
        assert!(output.stderr.contains("HOME"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
        assert_eq!(root_entries(), before, "{home:?}");
    }
}

#[test]
fn f141_what_needs_no_home_goes_without_one() {
    for (args, expect) in crate::commands::OFFLINE {
        let scene = Scene::new([]);
        crate::commands::lay_out(&scene);
        let Some(ibeam) = in_a_world(&scene, scene.ibeam_without_model(*args), None, Path::new("/")) else {
            return skip("no mount namespace to put another list of users in");
        };
        let output = ibeam.run().succeeded();
        assert!(output.stdout.contains(expect), "{args:?}: {output}");
    }
}

/// The XDG variables say all there is to say.
#[test]
fn f141_with_the_xdg_variables_no_home_is_needed() {
    for home in ["", "/", "/nonexistent"] {
        let scene = Scene::new([answer_text("ok")]);
        let before = root_entries();
        check_success(&scene, scene.print::<&str>([]).env("HOME", home));
        assert_eq!(root_entries(), before, "{home:?}");
    }
}

/// Somebody else's home, which we may not write to.
#[test]
fn f141_a_home_of_somebody_else_is_not_used() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can be somebody else");
    }
    let scene = Scene::new([answer_text("ok")]);
    let run = scene.print::<&str>([]).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    let run = run.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("HOME", "/root");
    make_accessible_to_all(&scene);
    let output = run.through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]).run();
    // Its own home is `/nonexistent` in every list of users, if it has one.
    check_failure(&output, 73);
}

#[test]
fn f142_a_run_needs_no_temporary_directory() {
    let answers = || {
        [
            answer_call("a", "write", &json!({ "path": "made.txt", "fileText": "one\n" })),
            answer_call(
                "b",
                "edit",
                &json!({ "path": "made.txt", "strReplace": { "oldText": "one", "newText": "two" } }),
            ),
            answer_shell("cat made.txt"),
            answer_text("done"),
        ]
    };
    let scene = Scene::new(answers());
    let output = check_success(&scene, scene.print(["--force"]).env("TMPDIR", "/nonexistent"));
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some("two\n"), "{output}");
    if !is_root() || !launcher_works(&["unshare", "--mount"]) {
        return skip("no mount namespace in which /tmp could be taken away");
    }
    let workspace = Workspace::new_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let scene = Scene::new(answers()).with_workspace(workspace);
    // Read-only but for the workspace, which may lie in it, as the program may.
    let top = scene.workspace.outside().display();
    let read_only = format!(
        "mount --bind '{top}' '{top}' && mount --rbind /tmp /tmp && mount -o remount,bind,ro /tmp && ! touch /tmp/x 2>/dev/null || exit 90"
    );
    let without = scene.print(["--force"]).after(&read_only);
    let output = check_success(&scene, without.through(["unshare", "--mount"]));
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some("two\n"), "{output}");
}

/// Every file and directory below `top`, with its mode.
fn tree(top: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(top).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        found.push((path.clone(), metadata.mode() & 0o777));
        if metadata.is_dir() {
            found.extend(tree(&path));
        }
    }
    found
}

#[test]
fn f143_what_we_make_is_for_its_owner_only_whatever_the_umask() {
    for umask in ["000", "022"] {
        let scene = Scene::new([
            answer_call("t", "shell", &json!({ "command": "sleep 30", "isBackground": true })),
            // Large enough to be stored beside the journal.
            answer_text(&"0123456789abcdef".repeat(8 * 1024)),
        ]);
        let wide = format!("umask {umask}");
        check_success(&scene, scene.print(["--force"]).after(&wide));
        scene.ibeam_without_model(["create-chat"]).after(&wide).run().succeeded();
        let key = Stdin::Piped(b"k-1\n".to_vec());
        scene.ibeam_without_model(["login", "anthropic"]).after(&wide).stdin(key).run().succeeded();
        let made = tree(scene.workspace.home());
        assert!(made.len() > 8, "{made:?}");
        for (path, mode) in made {
            let expect = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expect, "{} has mode {mode:o} under umask {umask}", path.display());
        }
    }
}

/// Somebody has put a link where a directory or file of ours is to be made: it is not followed.
#[test]
fn f144_a_planted_link_is_not_followed() {
    let id = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let session = format!(".local/share/ibeam/sessions/{id}");
    let inside = [format!("{session}/lock"), format!("{session}/events.jsonl")];
    let places =
        [".local/share/ibeam", ".local/share/ibeam/sessions", ".cache/ibeam", ".cache/ibeam/background"];
    for place in places.into_iter().chain([session.as_str()]).chain(inside.iter().map(String::as_str)) {
        for victim in ["directory", "file", "missing"] {
            let scene = Scene::new([answer_text("never")]);
            let target = scene.workspace.outside().join(victim);
            match victim {
                "directory" => std::fs::create_dir(&target).unwrap(),
                "file" => std::fs::write(&target, "precious").unwrap(),
                _ => {}
            }
            let link = scene.workspace.home().join(place);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&target, &link).unwrap();
            let output = scene.print([format!("--resume={id}")]).run();
            assert_eq!(output.code, Some(73), "{place} -> {victim}: {output}");
            check_failure(&output, 73);
            match victim {
                "directory" => assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{place}"),
                "file" => assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious", "{place}"),
                _ => assert!(!target.exists(), "{place}"),
            }
        }
    }
}

#[test]
fn f144_a_directory_of_somebody_else_is_not_used() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can be somebody else");
    }
    let scene = Scene::new([answer_text("never")]);
    let planted = scene.workspace.home().join(".local/share/ibeam");
    std::fs::create_dir_all(&planted).unwrap();
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o777)).unwrap();
    make_accessible_to_all(&scene);
    let output = scene
        .print::<&str>([])
        .through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        .run();
    check_failure(&output, 73);
    assert!(output.stderr.contains("another user"), "{output}");
}

// ---- neighbours and sessions

#[test]
fn f146_the_second_on_a_session_is_told_at_once_who_holds_it() {
    let scene = Scene::new([answer_text("first ").stall()]);
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let holder = scene.print([format!("--resume={id}")]).start();
    holder.wait_for_stdout("first ");
    let output = scene.print([format!("--resume={id}")]).run();
    check_failure(&output, 75);
    assert!(output.elapsed < Duration::from_secs(2), "{output}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for part in [holder.pid().to_string().as_str(), host.trim()] {
        assert!(output.stderr.contains(part), "`{part}` is missing: {output}");
    }
}

#[test]
fn f147_fifty_runs_start_at_once_in_one_home() {
    let scene = Scene::new((0..50).map(|_| answer_text("hi")));
    let before = Instant::now();
    let running: Vec<_> = (0..50).map(|_| scene.ibeam(["-p", "x"]).start()).collect();
    let ids: BTreeSet<String> =
        running.into_iter().map(|run| run.finish().succeeded().stream().session_id().to_owned()).collect();
    eprintln!("50 runs at once: {:?}", before.elapsed());
    assert_eq!(ids.len(), 50);
    assert_eq!(scene.ibeam_without_model(["ls"]).run().succeeded().stdout.lines().count(), 50);
}

#[test]
fn f147_a_run_is_small() {
    let scene = Scene::new([answer_text("hi ").stall()]);
    let running = scene.ibeam(["-p", "x"]).start();
    running.wait_for_stdout("hi ");
    let peak = running.peak_memory();
    eprintln!("one run: {} kB at its peak", peak / 1024);
    assert!(peak < 64 << 20, "{peak} bytes");
}

/// The number in the file may by now be anybody's; what counts is whether somebody holds the lock.
#[test]
fn f148_a_lock_that_nobody_holds_is_none() {
    for content in ["process 1", "process 1 on localhost", "", "nonsense \u{0} \u{7}"] {
        let scene = Scene::new([answer_text("one")]);
        let id = scene.ibeam(["-p", "begin"]).run().succeeded().stream().session_id().to_owned();
        let lock = scene.workspace.journal(&id).with_file_name("lock");
        std::fs::write(&lock, content).unwrap();
        let scene = scene.with_answers([answer_text("two")]);
        check_success(&scene, scene.ibeam(["-p", "more", "--resume", &id]));
    }
}

/// A session of two answers.
fn recorded() -> (Scene, String) {
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("first")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    (scene.with_answers([answer_text("second")]), id)
}

#[test]
fn f149_a_torn_last_line_is_kept_aside_and_the_run_goes_on() {
    for cut in [1, 7, 40] {
        let (scene, id) = recorded();
        let path = scene.workspace.journal(&id);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        let output = check_success(&scene, scene.print([format!("--resume={id}")]));
        assert_eq!(output.stream().deltas(), ["second"]);
        let kept = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let torn = kept.filter(|path| path.to_string_lossy().contains(".torn")).map(std::fs::read);
        let torn: Vec<u8> = torn.flat_map(Result::unwrap).collect();
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(torn, &bytes[last..bytes.len() - cut], "what was cut off is kept");
    }
}

/// Damage of every kind before the last line: told with its line, nothing written, nothing sent.
#[test]
fn f150_a_session_that_is_damaged_in_its_middle_is_not_gone_on_with() {
    let line_of =
        |bytes: &[u8], offset: usize| bytes[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
    let (scene, id) = recorded();
    let path = scene.workspace.journal(&id);
    let whole = std::fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    let mut damages: Vec<(String, Vec<u8>, usize)> = Vec::new();
    for offset in (0..last).step_by(last / 24) {
        let mut flipped = whole.clone();
        flipped[offset] ^= 0x01;
        damages.push((format!("a flipped bit at {offset}"), flipped, line_of(&whole, offset)));
    }
    let nul_at = last / 2;
    let mut nuls = whole.clone();
    nuls[nul_at..nul_at + 64].fill(0);
    damages.push(("NULs".to_owned(), nuls, line_of(&whole, nul_at)));
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    damages.push(("no header".to_owned(), whole[second..].to_vec(), 1));
    damages.push(("nothing".to_owned(), Vec::new(), 1));
    damages.push((
        "a header of a later version".to_owned(),
        [later_header(&whole[..second]), whole[second..].to_vec()].concat(),
        1,
    ));
    for (what, bytes, line) in damages {
        std::fs::write(&path, &bytes).unwrap();
        let output = scene.print([format!("--resume={id}")]).run();
        assert_eq!(output.code, Some(65), "{what}: {output}");
        check_failure(&output, 65);
        assert!(output.stderr.contains(&format!("line {line}")), "{what} in line {line}: {output}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}: the journal is left as it is");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

/// The same header with a format that this program does not know, and a checksum that is right.
fn later_header(line: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(line).unwrap().trim_end();
    let payload = text.split_once("\"header\":").unwrap().1.strip_suffix('}').unwrap();
    record(
        "header",
        &payload.replacen("\"format\":1", "\"format\":99", 1).replacen("\"format\":2", "\"format\":99", 1),
    )
}

/// A record as the journal frames it.
pub(crate) fn record(kind: &str, payload: &str) -> Vec<u8> {
    let crc = crc32(payload.as_bytes());
    format!("{{\"len\":{},\"crc\":\"{crc:08x}\",\"{kind}\":{payload}}}\n", payload.len()).into_bytes()
}

/// CRC-32 as zip and PNG have it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}

// ---- upgrades

#[test]
fn f152_a_binary_that_is_replaced_or_removed_goes_on_working() {
    for replaced in [true, false] {
        let scene = Scene::new([]);
        let copy = scene.workspace.outside().join("copy");
        std::fs::copy(BINARY, &copy).unwrap();
        let pause = Duration::from_millis(600);
        let answers = [
            answer_text("one ").pause(pause).call("a", "shell", &json!({ "command": "echo hello" })),
            answer_call("b", "grep", &json!({ "pattern": "needle" })),
            answer_text("done"),
        ];
        let scene = scene.with_answers(answers);
        std::fs::write(scene.workspace.path().join("hay.txt"), "a needle\n").unwrap();
        let run = Ibeam::new(&copy, &scene.workspace).args(["-p", "x", "--force", "--model"]);
        let run =
            run.args([crate::scene::model_name(scene.wire)]).env("ANTHROPIC_BASE_URL", scene.server.url());
        let running = run.env("ANTHROPIC_API_KEY", KEY).start();
        running.wait_for_stdout("one ");
        if replaced {
            let new = scene.workspace.outside().join("new");
            std::fs::write(&new, "#!/bin/false\n").unwrap();
            std::fs::rename(&new, &copy).unwrap();
        } else {
            std::fs::remove_file(&copy).unwrap();
        }
        let output = running.finish().succeeded();
        let transcript = scene.server.requests()[2].transcript().join("\n");
        assert!(transcript.contains("hello") && transcript.contains("needle"), "{transcript}; {output}");
        assert_eq!(output.stream().last()["result"], "one done");
    }
}
