use std::time::{Duration, Instant};

use ibeam_core::{Access, Background as _, Stop};
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{Reason, Signal, ToolFailure, ToolOutput};
use ibeam_testkit::LivenessPipe;
use serde_json::{Value, json};

use crate::CommandTimeouts;
use crate::fixture::{Fixture, failure, runtime, success};

#[track_caller]
fn ran(outcome: ibeam_protocol::ToolOutcome) -> (ShellOutput, String) {
    match success(outcome) {
        (ToolOutput::Shell(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

#[track_caller]
fn shell(command: &str) -> (ShellOutput, String) {
    ran(Fixture::new().call("shell", json!({"command": command})))
}

#[track_caller]
fn failed(command: &str, exit_code: i32, signal: Option<&str>, expect_for_model: &str) -> ShellOutput {
    let (why, for_model) = failure(Fixture::new().call("shell", json!({"command": command})));
    let ToolFailure::CommandFailed(output) = why else { panic!("{why:?}") };
    assert_eq!((output.exit_code, output.signal.as_deref()), (exit_code, signal), "{for_model}");
    assert!(for_model.contains(expect_for_model), "{for_model}");
    output
}

/// Returns a file that a command keeps open as long as one of its processes lives.
fn lifeline(fixture: &Fixture) -> LivenessPipe {
    LivenessPipe::new_in(&fixture.root(), "lifeline")
}

/// Starts a command in the background; returns the reported pid and the text for the model.
pub(super) async fn background(fixture: &Fixture, command: &str) -> (String, String) {
    let call = fixture.prepare("shell", json!({"command": command, "isBackground": true}));
    let (output, for_model) = ran(fixture.run(call).await);
    assert!(output.is_background, "{for_model}");
    let (_, rest) = for_model.split_once("runs in the background with pid ").unwrap();
    (rest.split([';', ')']).next().unwrap().to_owned(), for_model)
}

/// Waits until nothing runs in the background.
pub(super) async fn none_left(fixture: &Fixture) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while fixture.background.running_count() > 0 {
        assert!(Instant::now() < deadline, "{:?}", fixture.background);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_command_returns_both_outputs() {
    let fixture = Fixture::with("sub/f", "");
    let call = json!({"command": "echo out; echo err >&2", "workingDirectory": "sub"});
    let (output, for_model) = ran(fixture.call("shell", call));
    assert_eq!(for_model.len(), "out\nerr\n".len());
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((output.exit_code, output.signal, output.is_background), (0, None, false));
    assert_eq!(output.working_directory, fixture.path("sub"));
    assert_eq!(output.command, "echo out; echo err >&2");
}

#[test]
fn a_command_without_output_is_reported_as_such() {
    assert_eq!(shell("true").1, "(no output)\n");
}

#[test]
fn exit_codes_and_signals_are_reported() {
    failed("echo no; exit 3", 3, None, "no\n(exit code 3)\n");
    failed("nosuchcommand", 127, None, "command not found");
    failed("touch x; ./x", 126, None, "Permission denied");
    failed("kill -9 0", 137, Some("SIGKILL"), "(ended by SIGKILL)\n");
    failed("kill -SEGV $$", 139, Some("SIGSEGV"), "SIGSEGV");
}

#[test]
fn there_is_no_input_and_no_terminal() {
    assert_eq!(shell("cat; read x; echo \"[$x]\"").0.stdout, "[]\n");
    failed("exec </dev/tty", 1, None, "No such device");
    assert_eq!(shell("tty; :").0.stdout, "not a tty\n");
    assert_eq!(shell("[ $(ps -o sid= -p $$) = $$ ] && echo leader").0.stdout, "leader\n");
}

#[test]
fn commands_get_the_environment_without_secrets_and_prompts() {
    let (output, _) = shell("env");
    let has = |pair: &str| output.stdout.lines().any(|line| line == pair);
    for pair in [
        "KEPT=kept",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "GIT_EDITOR=true",
        "GIT_TERMINAL_PROMPT=0",
        "TERM=dumb",
        "DEBIAN_FRONTEND=noninteractive",
        "HOME=/dev/null/home",
    ] {
        assert!(has(pair), "{pair} is not in {}", output.stdout);
    }
    for absent in ["secret", "BASH_ENV", "CARGO"] {
        assert!(!output.stdout.contains(absent), "{absent} is in {}", output.stdout);
    }
}

#[test]
fn the_shell_reads_no_start_up_files() {
    assert_eq!(
        shell("shopt -q login_shell || echo plain; echo $0; [ -z \"$PS1\" ] && echo still")
            .0
            .stdout
            .lines()
            .count(),
        3
    );
    assert_eq!(shell("true").0.stderr, "");
}

#[test]
fn a_timeout_ends_a_command_that_ignores_term() {
    let timeouts = CommandTimeouts { grace: Duration::from_millis(300), ..CommandTimeouts::default() };
    let fixture = Fixture::in_time(timeouts);
    let mut held = lifeline(&fixture);
    let command = format!("trap '' TERM; echo before; {}", held.command());
    let (why, for_model) = failure(fixture.call("shell", json!({"command": command, "timeout": 1000})));
    let ToolFailure::TimedOut { timeout_ms, partial } = why else { panic!("{why:?}") };
    assert_eq!(
        (timeout_ms, partial.stdout.as_str(), partial.signal.as_deref()),
        (1000, "before\n", Some("SIGKILL"))
    );
    assert!(for_model.starts_with("before\n(timed out after 1000 ms"), "{for_model}");
    held.wait_until_held();
    held.wait_until_gone();
}

#[test]
fn the_caller_sets_the_time_limit_of_a_command() {
    let timeouts = CommandTimeouts {
        default: Duration::from_millis(200),
        max: Duration::from_millis(300),
        ..CommandTimeouts::default()
    };
    let fixture = Fixture::in_time(timeouts);
    for (requested, expect) in [(None, 200), (Some(0), 200), (Some(250), 250), (Some(60_000), 300)] {
        let call = json!({"command": "sleep 60", "timeout": requested});
        assert_eq!(fixture.prepare("shell", call.clone()).arguments["timeout"], expect);
        let (why, _) = failure(fixture.call("shell", call));
        assert!(matches!(why, ToolFailure::TimedOut { timeout_ms, .. } if timeout_ms == expect), "{why:?}");
    }
    let described = fixture.tools["shell"].spec().parameters["properties"]["timeout"]["description"].clone();
    assert_eq!(described, "Milliseconds, default 200");
}

#[test]
fn a_timeout_lets_a_command_clean_up() {
    let command = "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.01; done";
    let (why, _) = failure(Fixture::new().call("shell", json!({"command": command, "timeout": 1000})));
    let ToolFailure::TimedOut { partial, .. } = why else { panic!("{why:?}") };
    assert_eq!((partial.stdout.as_str(), partial.exit_code), ("cleaned\n", 0));
}

#[test]
fn a_run_that_ends_ends_the_command() {
    let fixture = Fixture::new();
    let outcome = runtime().block_on(async {
        let call = fixture.prepare("shell", json!({"command": "echo started; touch flag; sleep 60"}));
        let stop = async {
            while !fixture.path("flag").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            fixture.stop.request(Reason::Signalled(Signal::Int));
        };
        tokio::join!(fixture.run(call), stop).0
    });
    let (why, _) = failure(outcome);
    let ToolFailure::CommandFailed(output) = why else { panic!("{why:?}") };
    assert_eq!((output.stdout.as_str(), output.signal.as_deref()), ("started\n", Some("SIGTERM")));
    assert!(output.execution_ms < 5_000);
}

#[test]
fn a_dropped_call_kills_its_tree() {
    let fixture = Fixture::new();
    let mut held = lifeline(&fixture);
    runtime().block_on(async {
        let command = format!("setsid bash -c '{}' & touch flag; wait", held.command());
        let call = fixture.prepare("shell", json!({"command": command}));
        let ready = async {
            while !fixture.path("flag").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            held.wait_until_held();
        };
        tokio::select! {
            outcome = fixture.run(call) => panic!("{outcome:?}"),
            () = ready => {}
        }
    });
    held.wait_until_gone();
}

#[test]
fn a_child_that_keeps_the_pipe_open_does_not_delay_the_result() {
    let fixture = Fixture::new();
    let mut held = lifeline(&fixture);
    let started = Instant::now();
    let command = format!("({}) & while [ ! -e go ]; do sleep 0.01; done; echo done", held.command());
    let outcome = runtime().block_on(async {
        let call = fixture.prepare("shell", json!({"command": command}));
        let go = async {
            tokio::task::yield_now().await;
            held.wait_until_held();
            fixture.put("go", "");
        };
        tokio::join!(fixture.run(call), go).0
    });
    let (output, _) = ran(outcome);
    assert_eq!(output.stdout, "done\n");
    assert!(started.elapsed() < Duration::from_secs(20));
    held.wait_until_gone();
}

#[test]
fn a_daemon_ends_with_its_call() {
    let fixture = Fixture::new();
    let mut held = lifeline(&fixture);
    let daemon = held.command().replace("sleep 60", "touch up; exec sleep 60");
    let command = format!(
        "(setsid bash -c 'trap \"\" TERM HUP; {daemon}' </dev/null >/dev/null 2>&1 &); while [ ! -e up ]; do sleep 0.01; done"
    );
    ran(fixture.call("shell", json!({"command": command})));
    held.wait_until_held();
    held.wait_until_gone();
}

#[test]
fn a_command_that_kills_its_supervisor_is_reported_as_killed() {
    let fixture = Fixture::new();
    let (why, _) = failure(fixture.call("shell", json!({"command": "echo said; kill -9 $PPID; sleep 60"})));
    let ToolFailure::CommandFailed(output) = why else { panic!("{why:?}") };
    assert_eq!((output.stdout.as_str(), output.signal.as_deref()), ("said\n", Some("SIGKILL")));
    ran(fixture.call("shell", json!({"command": "true"})));
}

#[test]
fn a_flood_is_bounded_and_counted() {
    for (command, total) in [
        ("yes | head -c 200000000", 200_000_000u64),
        ("head -c 200000000 /dev/zero | tr '\\0' a", 200_000_000),
        ("yes | head -c 50000000 >&2", 50_000_000),
    ] {
        let (output, for_model) = shell(command);
        assert!(for_model.len() < 32 << 10, "{command}");
        let kept = output.stdout.len().max(output.stderr.len());
        let left_out: u64 = for_model
            .lines()
            .find_map(|line| line.strip_prefix("… ")?.strip_suffix(" bytes left out …")?.parse().ok())
            .unwrap();
        let note = format!("… {left_out} bytes left out …\n").len() as u64;
        let newline = u64::from(!for_model.starts_with('y'));
        assert_eq!(left_out + kept as u64 - note - newline, total, "{command}");
    }
}

#[test]
fn a_character_in_two_writes_is_not_split() {
    let (output, for_model) =
        shell("printf '\\xe2'; sleep 0.05; printf x >&2; sleep 0.05; printf '\\x80\\x94'");
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("—", "x"));
    assert!(!for_model.contains('\u{FFFD}') && for_model.contains('—'), "{for_model}");
}

#[test]
fn binary_output_becomes_text_with_a_marker() {
    let (output, for_model) = shell("printf 'a\\0b\\xff\\n'");
    assert_eq!(output.stdout, "a\0b\u{FFFD}\n");
    assert!(for_model.ends_with("(bytes that are not UTF-8 are shown as \u{FFFD})\n"), "{for_model}");
}

#[test]
fn a_background_command_keeps_running_and_ends_with_the_run() {
    let fixture = Fixture::new();
    let mut held = lifeline(&fixture);
    runtime().block_on(async {
        let (pid, for_model) = background(&fixture, &format!("echo up; {}", held.command())).await;
        held.wait_until_held();
        let log = fixture.outside("logs").join(format!("shell-{pid}.log"));
        assert!(for_model.contains(&format!("pid {pid}; its output goes to `{}`", log.display())));
        assert_eq!(std::fs::read_to_string(log).unwrap(), "up\n");
        assert_eq!(fixture.background.running_count(), 1);
        assert_eq!(fixture.background.stop_all().await, 1);
        assert_eq!(fixture.background.stop_all().await, 0);
    });
    held.wait_until_gone();
}

#[test]
fn a_server_left_by_a_background_command_keeps_running() {
    let fixture = Fixture::new();
    let mut held = lifeline(&fixture);
    runtime().block_on(async {
        background(&fixture, &format!("({}) &", held.command())).await;
        held.wait_until_held();
        assert_eq!(fixture.background.stop_all().await, 1);
    });
    held.wait_until_gone();
}

#[test]
fn a_background_command_is_ended_by_a_later_one() {
    for kill in ["kill -- -PID", "kill PID", "kill -9 PID"] {
        let fixture = Fixture::new();
        let mut held = lifeline(&fixture);
        runtime().block_on(async {
            // The shell waits for a child in a new session.
            let command = format!("setsid bash -c '{}' & wait", held.command());
            let (pid, _) = background(&fixture, &command).await;
            held.wait_until_held();
            let call = json!({"command": kill.replace("PID", &pid)});
            ran(fixture.run(fixture.prepare("shell", call)).await);
            none_left(&fixture).await;
        });
        held.wait_until_gone();
    }
}

#[test]
fn background_commands_are_awaited_within_a_time_limit() {
    let timeouts = CommandTimeouts { background: Duration::from_secs(1), ..CommandTimeouts::default() };
    let fixture = Fixture::in_time(timeouts);
    runtime().block_on(async {
        let stop = Stop::default();
        background(&fixture, "sleep 1.2; touch done").await;
        assert_eq!(fixture.background.finish(true, &stop).await, 0);
        assert!(fixture.path("done").exists());

        background(&fixture, "sleep 60").await;
        assert_eq!(fixture.background.finish(true, &stop).await, 1);
        assert_eq!(fixture.background.running_count(), 0);
    });
}

#[test]
fn a_stop_ends_the_wait_for_background_commands() {
    let fixture = Fixture::new();
    runtime().block_on(async {
        background(&fixture, "sleep 60").await;
        fixture.stop.request(Reason::Signalled(Signal::Int));
        assert_eq!(fixture.background.finish(true, &fixture.stop).await, 1);
    });
}

#[test]
fn a_background_command_that_ignores_term_is_killed() {
    let fixture =
        Fixture::in_time(CommandTimeouts { grace: Duration::from_millis(200), ..CommandTimeouts::default() });
    let mut held = lifeline(&fixture);
    runtime().block_on(async {
        background(&fixture, &format!("trap '' TERM; {}", held.command())).await;
        held.wait_until_held();
        assert_eq!(fixture.background.stop_all().await, 1);
    });
    held.wait_until_gone();
}

#[test]
fn a_background_command_that_ends_early_is_reported_like_any_other() {
    let fixture = Fixture::new();
    let background = |command: &str| fixture.call("shell", json!({"command": command, "isBackground": true}));
    assert!(!ran(background("echo done")).0.is_background);
    let (why, _) = failure(background("echo port in use >&2; exit 1"));
    assert!(matches!(why, ToolFailure::CommandFailed(output) if output.exit_code == 1));
}

#[test]
fn a_command_that_cannot_start_explains_why() {
    let fixture = Fixture::with("file", "");
    let refused = |call: Value, expect: &str| {
        let (_, for_model) = failure(fixture.call("shell", call));
        assert!(for_model.contains(expect), "{for_model}");
    };
    refused(json!({"command": "true", "workingDirectory": "none"}), "`none` does not exist (ENOENT)");
    refused(json!({"command": "true", "workingDirectory": "file"}), "is a file, not a directory");
    refused(json!({"command": format!(": {}", "x".repeat(200_000))}), "too long for the system (E2BIG)");
    refused(json!({"command": "a\0b"}), "could not be started");
    std::fs::remove_dir_all(fixture.root()).unwrap();
}

#[test]
fn a_removed_workspace_is_reported() {
    let fixture = Fixture::new();
    let root = fixture.root();
    ran(fixture.call("shell", json!({"command": "rm -rf \"$PWD\""})));
    let (_, for_model) = failure(fixture.call("shell", json!({"command": "true"})));
    assert_eq!(
        for_model,
        format!("the workspace `{}` is gone (ENOENT); nothing can run there", root.display())
    );
}

#[test]
fn policy_receives_the_command() {
    let access = Fixture::new().prepare("shell", json!({"command": "rm x"})).access;
    assert_eq!(access, Access::command("rm x"));
}

#[test]
fn policy_receives_the_start_directory_of_a_command() {
    let fixture = Fixture::with("sub/file", "");
    std::os::unix::fs::symlink("sub", fixture.path("link")).unwrap();
    for (requested, directory) in
        [("", None), (".", None), ("sub/..", None), ("sub", Some("sub")), ("link", Some("sub"))]
    {
        let access = fixture.prepare("shell", json!({"command": "ls", "workingDirectory": requested})).access;
        let directory = directory.map(|name| fixture.path(name));
        assert_eq!(access, Access::Command { text: "ls".to_owned(), directory }, "{requested}");
    }
}

#[test]
fn a_command_starts_in_the_checked_directory_or_not_at_all() {
    let fixture = Fixture::guarded(&[], &["Read(secret/**)"]);
    fixture.put("sub/file", "open");
    fixture.put("secret/file", "closed");
    let link = fixture.path("link");
    let call = |command: &str| json!({"command": command, "workingDirectory": "link"});
    let point_to = |name: &str| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(name, &link).unwrap();
    };
    point_to("sub");
    let prepared = fixture.prepare("shell", call("cat file"));
    point_to("secret");
    assert_eq!(ran(fixture.run_blocking(prepared)).0.stdout, "open");
    point_to("sub");
    let prepared = fixture.prepare("shell", call("cat file"));
    std::fs::rename(fixture.path("sub"), fixture.path("aside")).unwrap();
    std::os::unix::fs::symlink("secret", fixture.path("sub")).unwrap();
    let (_, for_model) = failure(fixture.run_blocking(prepared));
    assert!(for_model.contains("a symbolic link that was put there just now"), "{for_model}");
}

#[test]
fn git_does_not_run_in_a_bare_repository_that_lies_in_the_workspace() {
    let fixture = Fixture::guarded(&[], &[]);
    let run = |command: &str, directory: &str| {
        fixture.call("shell", json!({"command": command, "workingDirectory": directory}))
    };
    ran(run("git init -q . && git init -q --bare b && git init -q d/w && mkdir b/deep", ""));
    for (command, directory) in [
        ("git -C b status", ""),
        ("git -C d -C ../b status", ""),
        ("cd b && git status", ""),
        ("git status", "b"),
        ("git status", "b/deep"),
        ("ls && git -C b/refs log", ""),
    ] {
        let (why, for_model) = failure(run(command, directory));
        assert!(matches!(why, ToolFailure::PermissionDenied { .. }), "{command}: {why:?}");
        assert!(for_model.contains("bare repository"), "{command}: {for_model}");
    }
    for (command, directory) in [
        ("git status", ""),
        ("git -C d/w status", ""),
        ("git rev-parse --git-dir", ".git"),
        ("git --git-dir=b rev-parse --git-dir", ""),
        ("ls", "b"),
    ] {
        ran(run(command, directory));
    }
    // What the analysis misses, git itself refuses.
    let outcome = run("x=b; bash -c 'cd $0; git rev-parse --git-dir' $x || echo refused", "");
    assert!(format!("{outcome:?}").contains("refused"), "{outcome:?}");
}
