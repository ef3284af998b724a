//! A replay prints the bytes of the recorded run, in every format.

use std::fs;
use std::time::Duration;

use ibeam_testkit::hook_files::write_hooks;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, LivenessPipe, ProgramOutput, Stdin, Workspace};
use serde_json::json;

const FORMATS: [&str; 3] = ["stream-json", "json", "text"];

/// Asserts that a run with `args` and its replay print the same, in each format.
#[track_caller]
fn check(workspace: impl Fn() -> Workspace, answers: impl Fn() -> Vec<Answer>, args: &[&str]) {
    for format in FORMATS {
        let scene = Scene::new(answers()).with_workspace(workspace());
        let output = scene.print(args).args(["--output-format", format]).run();
        let again = replay(&scene, &["-1", "--output-format", format]).succeeded();
        assert_eq!(again.stdout, output.stdout, "{format} {args:?}: {output}");
        let reported = again.stderr_lines("warning: run 1 failed").len();
        assert_eq!(reported, usize::from(output.code != Some(0) && format != "stream-json"), "{again}");
    }
}

#[track_caller]
fn replay(scene: &Scene, args: &[&str]) -> ProgramOutput {
    scene.ibeam_without_model(["replay"]).args(args).run()
}

/// Returns a session of two runs, its id, and the output of each run.
fn two_runs() -> (Scene, String, [String; 2]) {
    let scene = Scene::new([Answer::new().text("a").text("b"), answer_text("c")]);
    let first = scene.print(["--lang", "en"]).run().succeeded();
    let second = scene.print(["--continue"]).run().succeeded();
    let id = first.stream().session_id().to_owned();
    (scene, id, [first.stdout, second.stdout])
}

#[test]
fn deltas_and_calls_are_printed_as_the_run_printed_them() {
    let workspace = || Workspace::new().file("n.txt", "42\n").file("big.txt", "x".repeat(90_000));
    let answers = || {
        vec![
            Answer::new().thinking("hm", "sig").text("Look").text("ing.\n\n").text("é日本\u{2028}<b>").call(
                "t1",
                "read",
                &json!({ "path": "n.txt" }),
            ),
            answer_call("t2", "read", &json!({ "path": "big.txt" })),
            answer_call("t3", "write", &json!({ "path": "made/new.txt", "fileText": "y\n".repeat(40_000) })),
            answer_call(
                "t4",
                "edit",
                &json!({ "path": "n.txt", "strReplace": { "oldText": "42", "newText": "43" } }),
            ),
            answer_shell("printf out; printf err >&2; exit 3"),
            answer_call("t5", "grep", &json!({ "pattern": "4" })),
            answer_call("t6", "ls", &json!({ "path": "." })),
            answer_call(
                "t7",
                "nowhere",
                &json!({ "a": 0.1, "b": 1.797_693_134_862_315_7e308, "c": [null, true] }),
            ),
            Answer::new().call_as_written("t8", "read", "{\"path\": "),
            answer_call("t9", "read", &json!({ "path": "missing.txt" })),
            answer_call("t10", "update_todos", &json!({ "todos": [], "merge": false })),
            answer_text("It is 42."),
        ]
    };
    check(workspace, answers, &["--force"]);
    check(workspace, answers, &["--deny", "Shell(printf)"]);
}

#[test]
fn a_refused_run_is_replayed() {
    check(Workspace::new, || vec![Answer::error(401, "authentication_error", "no"); 2], &[]);
}

#[test]
fn a_cut_run_is_replayed() {
    check(Workspace::new, || vec![answer_text("half an ans").cut(), answer_text("we").cut()], &[]);
}

#[test]
fn a_run_with_a_continued_answer_is_replayed() {
    check(Workspace::new, || vec![answer_text("half an ans").cut(), answer_text("wer")], &[]);
}

#[test]
fn a_run_at_its_limit_is_replayed() {
    let answers = || vec![answer_call("t1", "ls", &json!({ "path": "." })), answer_text("never")];
    check(Workspace::new, answers, &["--max-turns", "1"]);
}

#[test]
fn a_run_with_failed_calls_is_replayed() {
    check(
        Workspace::new,
        || vec![answer_shell("exit 1"), answer_text("done")],
        &["--force", "--fail-on", "tool-error"],
    );
}

#[test]
fn a_withheld_prompt_is_replayed() {
    let workspace = || {
        let workspace = Workspace::new();
        let refuse = r#"cat > /dev/null; printf '{"continue": false, "user_message": "not now"}'"#;
        write_hooks(&workspace, &json!({ "beforeSubmitPrompt": [{ "command": refuse }] }));
        workspace
    };
    check(workspace, Vec::new, &[]);
}

/// Numbers that an inexact parser would round to adjacent ones.
#[test]
fn numbers_are_replayed_exactly() {
    let numbers: Vec<f64> = (0..200).map(|n| (f64::from(n) + 0.5).ln().exp().recip() * 1e-7).collect();
    check(
        Workspace::new,
        || vec![answer_call("t", "nowhere", &json!({ "n": numbers })), answer_text("done")],
        &[],
    );
}

#[test]
fn a_name_of_neither_a_session_nor_a_file_is_called_that() {
    let scene = Scene::new([]);
    for args in [&["replay", "zzzz"][..], &["replay", "ab"], &["replay", "abcd"], &["diff", "a", "b"]] {
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(66), "{args:?}: {output}");
        let error =
            format!("error: `{}` is neither a session nor a file\nhint: `ibeam sessions list`", args[1]);
        assert!(output.stderr.starts_with(&error), "{args:?}: {output}");
    }
}

#[test]
fn all_runs_or_one_run_are_replayed() {
    let (scene, id, [first, second]) = two_runs();
    let stream = |args: &[&str]| replay(&scene, &[args, &["--output-format", "stream-json"]].concat());
    assert_eq!(stream(&[&id]).succeeded().stdout, format!("{first}{second}"));
    assert_eq!(
        replay(&scene, &[&id]).succeeded().stdout,
        format!("{first}{second}"),
        "the default format is that of a run"
    );
    assert_eq!(stream(&[&id, "--run", "1"]).succeeded().stdout, first);
    assert_eq!(stream(&["-1", "--run", "2"]).succeeded().stdout, second);
    let none = stream(&[&id, "--run", "3", "--lang", "en"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(66), ""));
    assert!(none.stderr.starts_with(&format!("error: `{id}` has no run 3; it has 2\nhint: ")), "{none}");
    for unknown in ["-2", "0f0e0d0c-0b0a-4908-8706-050403020100", "no-such-file"] {
        let output = replay(&scene, &[unknown]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(66), ""), "{output}");
    }
}

#[test]
fn a_running_session_is_replayed_up_to_now() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let scene = scene.with_answers([Answer::new().text("Now. ").call(
        "t",
        "shell",
        &json!({ "command": lifeline.command() }),
    )]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    let now = replay(&scene, &["-1", "--output-format", "stream-json", "--lang", "en"]).succeeded();
    assert!(now.stdout.ends_with('\n') && now.stdout.contains("\"started\""), "{now}");
    assert_eq!(now.stderr, "warning: run 1 has no end in the record: it was killed, or is still running\n");
    let page = replay(&scene, &["-1", "--output-format", "html"]).succeeded();
    assert!(page.stdout.contains("no result"), "{page}");
    running.kill_alone();
    let killed = running.finish();
    let again = replay(&scene, &["-1", "--output-format", "stream-json"]).succeeded();
    assert_eq!(again.stdout, killed.stdout);
    lifeline.wait_until_gone();
}

#[test]
fn intact_runs_are_replayed_before_damage_is_reported() {
    let (scene, id, [first, second]) = two_runs();
    let journal = scene.workspace.journal(&id);
    let intact = fs::read(&journal).unwrap();
    let lines: Vec<&[u8]> = intact.split_inclusive(|byte| *byte == b'\n').collect();
    let opens = |line: &&[u8]| String::from_utf8_lossy(line).contains("\"session_started\"");
    let at = lines.iter().rposition(opens).unwrap();

    let mut damaged = intact.clone();
    let offset: usize = lines[..at].iter().map(|line| line.len()).sum();
    damaged[offset + 60] ^= 1;
    fs::write(&journal, &damaged).unwrap();
    let output = replay(&scene, &[&id, "--output-format", "stream-json", "--lang", "en"]);
    assert_eq!((output.code, &output.stdout), (Some(65), &first), "{output}");
    assert!(output.stderr.contains(&format!("is damaged at line {}", at + 1)), "{output}");
    let output = replay(&scene, &[&id, "--output-format", "stream-json", "--run", "1"]).succeeded();
    assert_eq!(output.stdout, first, "the damage is after the requested run");

    fs::write(&journal, &intact[..intact.len() - 5]).unwrap();
    let output = replay(&scene, &[&id, "--output-format", "stream-json", "--lang", "en"]).succeeded();
    assert!(output.stderr.contains("warning: the last record is torn; "), "{output}");
    let reported = second.lines().count() - 1;
    let recorded: String = second.split_inclusive('\n').take(reported).collect();
    assert_eq!(output.stdout, format!("{first}{recorded}"));
    assert_eq!(fs::read(&journal).unwrap(), intact[..intact.len() - 5], "a replay changes no file");
}

#[test]
fn a_replay_in_real_time_takes_as_long_as_the_run() {
    let pause = Duration::from_millis(600);
    let scene = Scene::new([Answer::new().text("a ").pause(pause).text("b")]);
    let output = scene.print(["--lang", "en"]).run().succeeded();
    let real = replay(&scene, &["-1", "--speed", "real", "--output-format", "stream-json"]).succeeded();
    assert_eq!(real.stdout, output.stdout);
    assert!(real.elapsed >= pause - Duration::from_millis(50), "{:?}", real.elapsed);
    let capped = ["-1", "--speed", "0.001", "--longest-pause", "1ms", "--output-format", "stream-json"];
    assert_eq!(replay(&scene, &capped).succeeded().stdout, output.stdout);
    assert_eq!(replay(&scene, &["-1", "--speed", "soon"]).code, Some(2));
}

#[test]
fn a_page_has_all_runs_and_escapes_their_content() {
    let scene = Scene::new([
        Answer::new().text("<script>alert(1)</script>\n\nand ").text("more").call(
            "t",
            "shell",
            &json!({ "command": "echo '<img src=x onerror=y>'; exit 1" }),
        ),
        answer_text("one"),
        answer_text("two"),
    ]);
    scene.print(["--force"]).run().succeeded();
    scene.print(["--continue"]).run().succeeded();
    let page = replay(&scene, &["-1", "--output-format", "html", "--lang", "fr"]).succeeded().stdout;
    assert!(page.starts_with("<!doctype html>\n<html lang=\"fr\">"), "{page}");
    assert_eq!((page.matches("<h1>").count(), page.matches("<h2>").count()), (1, 2));
    assert!(page.contains("<p>&lt;script&gt;alert(1)&lt;/script&gt;\n\nand more</p>"), "{page}");
    assert!(page.contains(r#""text":"\u003cscript>alert(1)\u003c/script>\n\nand more""#), "{page}");
    assert_eq!((page.matches("<script").count(), page.matches("<img").count()), (3, 0), "{page}");
    assert!(page.contains(r#""state":"failed""#) && page.contains("Réponse"), "{page}");
    assert!(replay(&scene, &["--help"]).succeeded().stdout.contains("--output-format html"));
    let live = scene.print(["--output-format", "html"]).run();
    assert_eq!(live.code, Some(2), "{live}");
}

/// Asserts that the replay of a stream in `format` prints `expect`, from a file and from stdin.
#[track_caller]
fn check_stream_replay(scene: &Scene, stream: &str, format: &str, expect: &str) {
    let path = scene.workspace.outside().join("stream.ndjson");
    fs::write(&path, stream).unwrap();
    let args = [path.to_str().unwrap(), "--output-format", format];
    assert_eq!(replay(scene, &args).succeeded().stdout, expect, "{format}");
    let piped = scene
        .ibeam_without_model(["replay", "-", "--output-format", format])
        .stdin(Stdin::Piped(stream.into()));
    assert_eq!(piped.run().succeeded().stdout, expect, "{format} from stdin");
}

#[test]
fn a_stream_in_a_file_prints_what_the_session_prints() {
    let scene = Scene::new([
        Answer::new().text("Look").text("ing\u{2028}.").call("t1", "read", &json!({ "path": "n.txt" })),
        answer_shell("exit 3"),
        Answer::new().call_as_written("t2", "nowhere", "{no"),
        answer_text("It is 42."),
        answer_text("More."),
        Answer::error(401, "authentication_error", "no"),
        Answer::error(401, "authentication_error", "no"),
    ])
    .with_workspace(Workspace::new().file("n.txt", "42\n"));
    scene.print(["--deny", "Shell(exit)"]).run().succeeded();
    scene.print(["--continue"]).run().succeeded();
    assert_eq!(scene.print(["--continue"]).run().code, Some(20));
    let replay_session = |format| replay(&scene, &["-1", "--output-format", format]).succeeded().stdout;
    let stream = replay_session("stream-json");
    for format in FORMATS {
        check_stream_replay(&scene, &stream, format, &replay_session(format));
    }
    let path = scene.workspace.outside().join("stream.ndjson");
    let args = ["replay", path.to_str().unwrap(), "--output-format", "html", "--lang", "en"];
    let page = scene.ibeam_without_model(args).run().succeeded().stdout;
    for message in
        ["<p>It is 42.</p>", "Not allowed to run terminal command", "Failed: ", "<code>n.txt</code>"]
    {
        assert!(page.contains(message), "{message} is missing in {page}");
    }
    assert_eq!(page.matches("<h2>").count(), 3);
}

/// Streams of the program that defined the contract, and events of later versions.
#[test]
fn unknown_keys_and_events_are_copied() {
    let init = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/w","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","model":"M","permissionMode":"default","new":{"a":1.0}}"#;
    let end = r#"{"type":"result","subtype":"success","duration_ms":5,"duration_api_ms":5,"is_error":false,"result":"x","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","request_id":"r","future":[0.1]}"#;
    let json = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"duration_api_ms":5,"result":"x","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","request_id":"r","future":[0.1]}"#;
    let other = r#"{ "type": "thinking", "x": 1 }"#;
    let stream = format!("{init}\r\n{other}\n\n{end}\n");
    let scene = Scene::new([]);
    check_stream_replay(&scene, &stream, "stream-json", &stream);
    check_stream_replay(&scene, &stream, "json", &format!("{json}\n"));
}

#[test]
fn a_stream_is_replayed_up_to_its_damage_and_a_torn_end_is_a_warning() {
    let (scene, _, [first, _]) = two_runs();
    let path = scene.workspace.outside().join("stream.ndjson");
    let file = path.to_str().unwrap();
    let run = |content: &str| {
        fs::write(&path, content).unwrap();
        replay(&scene, &[file, "--output-format", "stream-json", "--lang", "en"])
    };
    let torn = run(&first[..first.len() - 9]).succeeded();
    let lines = first.lines().count();
    let intact: String = first.split_inclusive('\n').take(lines - 1).collect();
    assert_eq!(torn.stdout, intact);
    assert!(torn.stderr.contains("warning: the last record is torn; "), "{torn}");
    let damaged = run(&format!("{intact}{{\"type\":\n{first}"));
    assert_eq!((damaged.code, damaged.stdout.as_str()), (Some(65), intact.as_str()), "{damaged}");
    assert!(
        damaged.stderr.contains(&format!("error: `{file}` is not a valid stream (line {lines}: ")),
        "{damaged}"
    );
    assert_eq!(run("no stream\n").code, Some(65));
    assert_eq!(replay(&scene, &["/"]).code, Some(66));
}

#[test]
fn input_other_than_a_stream_is_an_error() {
    let scene = Scene::new([]);
    let object = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,"result":"Done.","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff"}"#;
    let alone = "line 1: it is the object of `json`";
    for (stdin, format, expect) in [
        ("", "stream-json", "line 1: it is empty"),
        ("", "text", "line 1: it is empty"),
        ("{}\n", "text", "line 1: missing field `type` at column 2"),
        (object, "text", alone),
        (object, "html", alone),
    ] {
        let program = scene.ibeam_without_model(["replay", "-", "--lang", "en", "--output-format", format]);
        let output = program.stdin(Stdin::Piped(format!("{stdin}\n").trim_start().into())).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(65), ""), "{output}");
        assert!(output.stderr.contains(expect), "{expect}; {output}");
    }
}

#[test]
fn an_unknown_session_is_named_by_its_number() {
    let (scene, ..) = two_runs();
    for number in ["-0", "-2", "-99"] {
        let output = replay(&scene, &[number, "--lang", "en"]);
        let message = format!("error: there is no session `{number}`");
        assert_eq!((output.code, output.stderr_lines(&message).len()), (Some(66), 1), "{output}");
    }
}
