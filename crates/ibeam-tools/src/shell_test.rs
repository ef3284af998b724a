use std::time::{Duration, Instant};

use ibeam_core::Access;
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{Reason, Signal, ToolFailure, ToolOutput};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

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

/// A process id that a command wrote to a file.
fn pid(fixture: &Fixture, file: &str) -> Pid {
    let text = String::from_utf8(fixture.bytes(file)).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// Gone, or a zombie that nobody in this container collects.
fn is_gone(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    test_kill_process(pid).is_err() || stat.contains(") Z ") || stat.is_empty()
}

#[track_caller]
fn dies(pid: Pid) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_gone(pid) {
        assert!(Instant::now() < deadline, "{pid:?} lives");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_is_told_with_all_its_outputs() {
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
fn silence_is_told() {
    assert_eq!(shell("true").1, "(no output)\n");
}

#[test]
fn exit_codes_and_signals_are_told() {
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
fn the_environment_is_ours_without_secrets_and_prompts() {
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
        "HOME=/nonexistent",
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
fn a_timeout_ends_even_what_ignores_term() {
    let fixture = Fixture::new();
    let command = "trap '' TERM; echo $$ > pid; echo before; while :; do sleep 0.05; done";
    let started = Instant::now();
    let (why, for_model) = failure(fixture.call("shell", json!({"command": command, "timeout": 1000})));
    let ToolFailure::TimedOut { timeout_ms, partial } = why else { panic!("{why:?}") };
    assert_eq!(
        (timeout_ms, partial.stdout.as_str(), partial.signal.as_deref()),
        (1000, "before\n", Some("SIGKILL"))
    );
    assert!(for_model.starts_with("before\n(timed out after 1000 ms"), "{for_model}");
    assert!(started.elapsed() < Duration::from_secs(5));
    dies(pid(&fixture, "pid"));
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
        let call = fixture.tools["shell"]
            .canonical(&json!({"command": "echo started; touch flag; sleep 60"}))
            .unwrap();
        let stop = async {
            while !fixture.path("flag").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            fixture.stop.request(Reason::Signalled(Signal::Int));
        };
        tokio::join!(fixture.run("shell", call), stop).0
    });
    let (why, _) = failure(outcome);
    let ToolFailure::CommandFailed(output) = why else { panic!("{why:?}") };
    assert_eq!((output.stdout.as_str(), output.signal.as_deref()), ("started\n", Some("SIGTERM")));
    assert!(output.execution_ms < 5_000);
}

#[test]
fn a_dropped_call_kills_its_group() {
    let fixture = Fixture::new();
    runtime().block_on(async {
        let command =
            json!({"command": "sleep 60 & echo $! > child; echo $$ > pid; echo ready > flag; wait"});
        let call = fixture.tools["shell"].canonical(&command).unwrap();
        let ready = async {
            while !fixture.path("flag").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            outcome = fixture.run("shell", call) => panic!("{outcome:?}"),
            () = ready => {}
        }
    });
    dies(pid(&fixture, "pid"));
    dies(pid(&fixture, "child"));
}

#[test]
fn a_child_that_holds_the_pipe_is_not_waited_for() {
    let fixture = Fixture::new();
    let started = Instant::now();
    let call = json!({"command": "sleep 60 & echo $! > child; echo done"});
    let (output, _) = ran(fixture.call("shell", call));
    assert_eq!(output.stdout, "done\n");
    assert!(started.elapsed() < Duration::from_secs(5));
    dies(pid(&fixture, "child"));
}

#[test]
fn a_daemon_that_leaves_its_group_ends_with_the_run() {
    let fixture = Fixture::new();
    let call = json!({"command": "setsid -f bash -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 60' >/dev/null 2>&1; \
                                  while [ ! -e pid ]; do sleep 0.01; done"});
    ran(fixture.call("shell", call));
    let daemon = pid(&fixture, "pid");
    assert!(!is_gone(daemon));
    assert_eq!(runtime().block_on(fixture.background.stop_all()), 1);
    dies(daemon);
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
fn a_character_in_two_writes_stays_whole() {
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
fn a_background_command_goes_on_and_is_ended_with_the_run() {
    let fixture = Fixture::new();
    runtime().block_on(async {
        let command = json!({"command": "echo up; echo $$ > pid; sleep 60", "isBackground": true});
        let call = fixture.tools["shell"].canonical(&command).unwrap();
        let (output, for_model) = ran(fixture.run("shell", call).await);
        let server = pid(&fixture, "pid");
        assert!(output.is_background && output.stdout == "up\n" && !is_gone(server));
        let log = fixture.outside("logs").join(format!("shell-{}.log", server.as_raw_pid()));
        assert!(for_model.contains(&format!(
            "pid {}; its output goes to `{}`",
            server.as_raw_pid(),
            log.display()
        )));
        assert_eq!(std::fs::read_to_string(log).unwrap(), "up\n");
        assert_eq!(fixture.background.stop_all().await, 1);
        assert!(is_gone(server));
        assert_eq!(fixture.background.stop_all().await, 0);
    });
}

#[test]
fn a_server_left_by_a_background_command_goes_on() {
    let fixture = Fixture::new();
    runtime().block_on(async {
        let command = json!({"command": "sleep 60 & echo $! > pid", "isBackground": true});
        let call = fixture.tools["shell"].canonical(&command).unwrap();
        let (output, _) = ran(fixture.run("shell", call).await);
        assert!(output.is_background && !is_gone(pid(&fixture, "pid")));
        assert_eq!(fixture.background.stop_all().await, 1);
        assert!(is_gone(pid(&fixture, "pid")));
    });
}

#[test]
fn a_background_command_that_ends_early_is_an_ordinary_one() {
    let fixture = Fixture::new();
    let background = |command: &str| fixture.call("shell", json!({"command": command, "isBackground": true}));
    assert!(!ran(background("echo done")).0.is_background);
    let (why, _) = failure(background("echo port in use >&2; exit 1"));
    assert!(matches!(why, ToolFailure::CommandFailed(output) if output.exit_code == 1));
}

#[test]
fn what_cannot_start_says_why() {
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
fn a_workspace_that_is_gone_is_told() {
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
fn policy_sees_the_command() {
    let access = Fixture::new().tools["shell"].access(&json!({"command": "rm x"}));
    assert_eq!(access, Access::Command("rm x".to_owned()));
}
