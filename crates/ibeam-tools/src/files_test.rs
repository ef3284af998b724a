use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ibeam_policy::Access;
use ibeam_protocol::{ToolFailure, ToolOutcome};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::fixture::{Fixture, failure, runtime, success};

/// Calls that succeed during each attack.
const CALLS: usize = 500;
/// The longest duration of an attack.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// A text that no tool may show.
const CANARY: &str = "SECRET-CANARY";

// ---- denied files

#[track_caller]
fn denied(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    let (why, for_model) = failure(fixture.call(tool, arguments));
    assert!(matches!(why, ToolFailure::PermissionDenied { .. }), "{why:?}");
    assert!(!for_model.contains(CANARY), "{for_model}");
    for_model
}

#[track_caller]
fn never_shown(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    let (output, for_model) = success(fixture.call(tool, arguments));
    let output = format!("{output:?}");
    assert!(!output.contains(CANARY) && !for_model.contains(CANARY), "{output}");
    for_model
}

#[test]
fn searches_skip_denied_files_and_continue() {
    let fixture = Fixture::guarded(&[], &["Read(.env*)", "Read(secrets/)"]);
    for name in [".env", "sub/.ENV.local", "secrets/k", "a.txt", "sub/b.txt"] {
        fixture.put(
            name,
            format!("{CANARY}\nword\n").replace(CANARY, if name.ends_with("txt") { "x" } else { CANARY }),
        );
    }
    let found = never_shown(&fixture, "grep", json!({"pattern": "CANARY|word", "path": "."}));
    assert_eq!(found, "a.txt\n2:word\nsub/b.txt\n2:word\n");
    let found = never_shown(&fixture, "glob", json!({"globPattern": "**"}));
    assert!(!found.contains("env") && !found.contains("ENV") && !found.contains("secrets"), "{found}");
    let found = never_shown(&fixture, "ls", json!({"path": "."}));
    assert!(!found.contains(".env") && !found.contains("secrets") && found.contains("b.txt"), "{found}");
    for (tool, arguments) in [
        ("grep", json!({"pattern": "x", "path": "secrets"})),
        ("grep", json!({"pattern": "x", "path": ".env"})),
        ("read", json!({"path": "sub/.ENV.local"})),
        ("ls", json!({"path": "secrets"})),
        ("edit", json!({"path": ".env", "oldText": "word", "newText": "x"})),
    ] {
        denied(&fixture, tool, arguments);
    }
}

#[test]
fn credentials_below_a_searched_directory_are_skipped() {
    let fixture = Fixture::guarded(&[], &[]);
    let home = fixture.outside("home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_rsa"), CANARY).unwrap();
    std::fs::write(home.join("notes"), "CANARY").unwrap();
    let found = never_shown(&fixture, "grep", json!({"pattern": "CANARY", "path": home}));
    assert!(found.contains("notes"), "{found}");
    denied(&fixture, "read", json!({"path": home.join(".ssh/id_rsa")}));
}

#[test]
fn credentials_behind_a_link_are_not_read() {
    let fixture = Fixture::guarded(&[], &[]);
    std::fs::create_dir_all(fixture.outside("home")).unwrap();
    std::fs::create_dir_all(fixture.outside("dotfiles/ssh")).unwrap();
    std::fs::write(fixture.outside("dotfiles/ssh/id_rsa"), CANARY).unwrap();
    std::os::unix::fs::symlink("../dotfiles/ssh", fixture.outside("home/.ssh")).unwrap();
    // As in a run, the link exists from the start.
    let fixture = fixture.again();
    for rel_path in ["home/.ssh/id_rsa", "dotfiles/ssh/id_rsa"] {
        denied(&fixture, "read", json!({"path": fixture.outside(rel_path)}));
    }
    never_shown(&fixture, "grep", json!({"pattern": "CANARY", "path": fixture.outside("dotfiles")}));
}

#[test]
fn a_tilde_is_the_home_directory_unless_a_file_has_this_name() {
    let fixture = Fixture::guarded(&[], &[]);
    std::fs::create_dir_all(fixture.outside("home/.ssh")).unwrap();
    std::fs::write(fixture.outside("home/.ssh/id_rsa"), CANARY).unwrap();
    std::fs::write(fixture.outside("home/notes"), "at home").unwrap();
    assert!(never_shown(&fixture, "read", json!({"path": "~/notes"})).contains("at home"));
    denied(&fixture, "read", json!({"path": "~/.ssh/id_rsa"}));
    denied(&fixture, "write", json!({"path": "~/new", "fileText": "x"}));
    fixture.put("~/notes", "in the workspace");
    assert!(never_shown(&fixture, "read", json!({"path": "~/notes"})).contains("in the workspace"));
}

#[test]
fn nothing_is_written_through_a_link_with_a_protected_name() {
    let fixture = Fixture::guarded(&[], &[]);
    fixture.put("cfg/tasks.json", "mine");
    fixture.link("cfg", ".vscode");
    for (tool, arguments) in [
        ("write", json!({"path": ".vscode/tasks.json", "fileText": "x"})),
        ("edit", json!({"path": ".vscode/tasks.json", "oldText": "mine", "newText": "x"})),
        ("delete", json!({"path": ".vscode"})),
    ] {
        denied(&fixture, tool, arguments);
    }
    success(fixture.call("read", json!({"path": ".vscode/tasks.json"})));
}

#[test]
fn another_name_of_a_denied_file_is_not_read() {
    let fixture = Fixture::guarded(&[], &["Read(.env)"]);
    fixture.put(".env", CANARY);
    fixture.put("plain", "word");
    std::fs::hard_link(fixture.path(".env"), fixture.path("hl")).unwrap();
    std::fs::hard_link(fixture.path("plain"), fixture.path("other")).unwrap();
    let home = fixture.outside("home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_rsa"), CANARY).unwrap();
    std::fs::hard_link(home.join(".ssh/id_rsa"), fixture.path("key")).unwrap();
    for name in ["hl", "key"] {
        assert!(denied(&fixture, "read", json!({"path": name})).contains("another name of a file"));
        denied(&fixture, "edit", json!({"path": name, "oldText": "SECRET", "newText": "x"}));
    }
    never_shown(&fixture, "grep", json!({"pattern": "CANARY"}));
    assert!(never_shown(&fixture, "read", json!({"path": "other"})).contains("word"));
    // A write breaks the link, leaves the denied file as it was, and does not show it in its diff.
    let (output, _) = success(fixture.call("write", json!({"path": "hl", "fileText": "new"})));
    assert!(!format!("{output:?}").contains(CANARY), "{output:?}");
    assert_eq!(fixture.bytes(".env"), CANARY.as_bytes());
}

// ---- changes between the decision and the call

/// Prepares a call whose path leads to `a`, changes the tree, and runs the call.
#[track_caller]
fn run_after(tool: &str, arguments: Value, change: impl Fn(&Fixture)) -> (Fixture, ToolOutcome) {
    let fixture = Fixture::guarded(&[], &[]);
    for name in ["a/f", "b/f"] {
        fixture.put(name, name);
    }
    fixture.link("a", "link");
    let call = fixture.prepare(tool, arguments);
    assert!(
        matches!(&call.access, Access::Read(path) | Access::Write(path) if path.starts_with(fixture.path("a"))),
        "{call:?}"
    );
    change(&fixture);
    let outcome = fixture.run_blocking(call);
    (fixture, outcome)
}

fn point_link_to_b(fixture: &Fixture) {
    std::fs::remove_file(fixture.path("link")).unwrap();
    fixture.link("b", "link");
}

#[test]
fn a_call_opens_the_checked_path_although_a_link_changes() {
    for (tool, arguments, expect) in [
        ("read", json!({"path": "link/f"}), "a/f"),
        ("grep", json!({"pattern": "f", "path": "link"}), "a/f"),
        ("glob", json!({"globPattern": "*", "targetDirectory": "link"}), "a/f"),
        ("ls", json!({"path": "link"}), "a/"),
    ] {
        let (_, for_model) = success(run_after(tool, arguments, point_link_to_b).1);
        assert!(for_model.contains(expect) && !for_model.contains("b/"), "{tool}: {for_model}");
    }
    for (tool, arguments, expect) in [
        ("write", json!({"path": "link/f", "fileText": "x"}), Some("x")),
        ("edit", json!({"path": "link/f", "oldText": "f", "newText": "x"}), Some("a/x")),
        ("delete", json!({"path": "link/f"}), None),
    ] {
        let (fixture, outcome) = run_after(tool, arguments, point_link_to_b);
        success(outcome);
        let found = std::fs::read_to_string(fixture.path("a/f")).ok();
        assert_eq!((found.as_deref(), fixture.bytes("b/f")), (expect, b"b/f".to_vec()), "{tool}");
    }
}

#[test]
fn a_call_does_not_follow_a_link_that_replaced_the_checked_file() {
    let replace_by_link = |fixture: &Fixture| {
        std::fs::rename(fixture.path("a"), fixture.path("aside")).unwrap();
        fixture.link("b", "a");
    };
    for (tool, arguments) in [
        ("read", json!({"path": "link/f"})),
        ("write", json!({"path": "link/f", "fileText": "x"})),
        ("edit", json!({"path": "link/f", "oldText": "f", "newText": "x"})),
        ("delete", json!({"path": "link/f"})),
        ("grep", json!({"pattern": "f", "path": "link"})),
        ("grep", json!({"pattern": "f", "path": "link/f"})),
        ("glob", json!({"globPattern": "*", "targetDirectory": "link"})),
        ("ls", json!({"path": "link"})),
    ] {
        let (fixture, outcome) = run_after(tool, arguments, replace_by_link);
        let (_, for_model) = failure(outcome);
        assert!(for_model.contains("put there just now"), "{tool}: {for_model}");
        assert_eq!((fixture.bytes("aside/f"), fixture.bytes("b/f")), (b"a/f".to_vec(), b"b/f".to_vec()));
    }
}

#[test]
fn two_calls_for_one_path_that_led_to_two_places_each_open_their_own() {
    let fixture = Fixture::guarded(&[], &[]);
    fixture.put("a/f", "in a");
    fixture.put("b/f", "in b");
    fixture.link("a", "link");
    let read = || fixture.prepare("read", json!({"path": "link/f"}));
    // Policy may refuse the first of them, so that it never runs.
    let (_refused, first) = (read(), read());
    point_link_to_b(&fixture);
    let second = read();
    for (call, expect) in [(second, "in b"), (first, "in a")] {
        let (_, for_model) = success(fixture.run_blocking(call));
        assert!(for_model.contains(expect), "{for_model}");
    }
}

// ---- attacks

/// A thread that changes the tree over and over until it is dropped.
struct Attacker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Attacker {
    fn new(mut turn: impl FnMut() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut turns = 0;
            while !seen.load(Ordering::Relaxed) {
                turn();
                turns += 1;
                std::thread::yield_now();
            }
            turns
        });
        Self { stop, thread: Some(thread) }
    }

    /// Stops the thread; returns how often it changed the tree.
    fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// A workspace with a directory `race`, and one outside with the same names and secrets in it.
fn prepared() -> Fixture {
    let fixture = Fixture::guarded(&[], &["Read(.env)"]);
    std::fs::create_dir_all(fixture.outside("out/sub")).unwrap();
    for name in ["victim", "f", "sub/f"] {
        std::fs::write(fixture.outside("out").join(name), CANARY).unwrap();
    }
    for name in ["race/f", "race/sub/f", "other/f"] {
        fixture.put(name, "inside\n");
    }
    fixture.put(".env", CANARY);
    fixture
}

/// Returns the files outside, with their content.
fn outside(fixture: &Fixture) -> Vec<(PathBuf, String)> {
    let mut found: Vec<_> = ["out", "out/sub"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(fixture.outside(directory)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    found.sort();
    found
}

/// Calls every tool on `path` again and again while `attack` is running.
#[track_caller]
fn holds_against(rel_path: &str, attack: impl Fn(&Fixture) -> Attacker) {
    let fixture = prepared();
    let before = outside(&fixture);
    let attacker = attack(&fixture);
    let file = format!("{rel_path}/f");
    let (mut worked, mut refused) = (0, 0);
    runtime().block_on(async {
        let started = Instant::now();
        for turn in 0.. {
            if worked >= CALLS || started.elapsed() > TIME_LIMIT {
                break;
            }
            let fresh = format!("{rel_path}/new-{turn}");
            for (tool, arguments) in [
                ("write", json!({"path": file, "fileText": format!("inside {turn}\n")})),
                ("write", json!({"path": fresh, "fileText": "inside\n"})),
                ("read", json!({"path": file})),
                ("edit", json!({"path": file, "oldText": "inside", "newText": "inside"})),
                ("delete", json!({"path": fresh})),
                ("grep", json!({"pattern": "CANARY", "path": rel_path})),
                ("glob", json!({"globPattern": "**/victim", "targetDirectory": rel_path})),
                ("ls", json!({"path": rel_path})),
            ] {
                let call = fixture.prepare(tool, arguments);
                // The tools can read outside here, so this check replaces a gate that permits nothing outside.
                let path = match &call.access {
                    Access::Read(path) | Access::Write(path) => path,
                    other => panic!("{other:?}"),
                };
                if !path.starts_with(fixture.root()) || *path == fixture.path(".env") {
                    continue;
                }
                let outcome = fixture.run(call).await;
                match &outcome {
                    ToolOutcome::Success { output, for_model } => {
                        worked += 1;
                        let shown = format!("{output:?}{for_model}");
                        assert!(!shown.contains(CANARY) && !shown.contains("[\"victim"), "{shown}");
                    }
                    ToolOutcome::Failure { for_model, .. } => {
                        refused += 1;
                        assert!(!for_model.contains(CANARY), "{for_model}");
                    }
                    ToolOutcome::Rejected { .. } => panic!("{outcome:?}"),
                }
            }
        }
    });
    let turns = attacker.end();
    assert!(turns > 0 && worked > 0, "{turns} turns, {worked} calls worked, {refused} did not");
    assert_eq!(outside(&fixture), before, "{turns} turns, {worked} calls worked, {refused} did not");
    assert_eq!(fixture.bytes(".env"), CANARY.as_bytes());
}

#[test]
fn nothing_is_written_outside_while_a_directory_and_a_link_are_swapped() {
    holds_against("race", |fixture| {
        let (race, aside) = (fixture.path("race"), fixture.path("aside"));
        std::os::unix::fs::symlink(fixture.outside("out"), &aside).unwrap();
        Attacker::new(move || {
            let _ = renameat_with(CWD, &race, CWD, &aside, RenameFlags::EXCHANGE);
        })
    });
}

#[test]
fn nothing_is_written_outside_while_a_link_changes_its_target() {
    holds_against("way", |fixture| {
        let (rel_path, next, out) = (fixture.path("way"), fixture.path("next"), fixture.outside("out"));
        fixture.link("race", "way");
        Attacker::new(move || {
            for target in [Path::new("race"), &out] {
                let _ = std::os::unix::fs::symlink(target, &next);
                let _ = std::fs::rename(&next, &rel_path);
            }
        })
    });
}

#[test]
fn nothing_is_written_outside_while_a_directory_is_moved_and_replaced() {
    holds_against("race", |fixture| {
        let (race, aside, out) = (fixture.path("race"), fixture.path("aside"), fixture.outside("out"));
        Attacker::new(move || {
            let _ = std::fs::rename(&race, &aside);
            let _ = std::os::unix::fs::symlink(&out, &race);
            let _ = std::fs::remove_file(&race);
            let _ = std::fs::rename(&aside, &race);
        })
    });
}

#[test]
fn no_denied_file_is_read_while_files_and_links_are_swapped() {
    holds_against("race", |fixture| {
        let (file, aside) = (fixture.path("race/f"), fixture.path("aside"));
        let (env, victim) = (fixture.path(".env"), fixture.outside("out/victim"));
        Attacker::new(move || {
            for target in [&env, &victim] {
                let _ = std::os::unix::fs::symlink(target, &aside);
                let _ = renameat_with(CWD, &file, CWD, &aside, RenameFlags::EXCHANGE);
                let _ = renameat_with(CWD, &file, CWD, &aside, RenameFlags::EXCHANGE);
                let _ = std::fs::remove_file(&aside);
            }
            let _ = std::fs::hard_link(&env, &aside);
            let _ = renameat_with(CWD, &file, CWD, &aside, RenameFlags::EXCHANGE);
            let _ = renameat_with(CWD, &file, CWD, &aside, RenameFlags::EXCHANGE);
            let _ = std::fs::remove_file(&aside);
        })
    });
}

#[test]
fn files_that_control_git_are_protected_in_a_git_directory_of_any_name() {
    let fixture = Fixture::guarded(&["Write(open.git/**)"], &[]);
    for name in ["store", "open.git"] {
        fixture.put(&format!("{name}/HEAD"), "ref: refs/heads/main");
        for inner in ["objects", "refs"] {
            std::fs::create_dir(fixture.path(&format!("{name}/{inner}"))).unwrap();
        }
    }
    for path in
        ["store/config", "store/Hooks/pre-commit", "store/worktrees/x/commondir", "store/info/attributes"]
    {
        let (_, for_model) = failure(fixture.call("write", json!({"path": path, "fileText": "x"})));
        assert!(for_model.contains("is protected"), "{path}: {for_model}");
    }
    for path in ["open.git/config", "store/other", "plain/config", "hooks/x"] {
        success(fixture.call("write", json!({"path": path, "fileText": "x"})));
    }
}
