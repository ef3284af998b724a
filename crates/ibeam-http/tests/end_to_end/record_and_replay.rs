//! Record and replay of model traffic, as docs/recordings.md describes it.

use std::path::{Path, PathBuf};

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Wire, Workspace, program_path};
use serde_json::{Value, json};

const PROMPT: &[&str] = &["-p", "do it", "--force", "--sandbox", "disabled"];

fn workspace() -> Workspace {
    Workspace::new().user_config("[retry]\nfirst_pause = \"1ms\"\n").file("a", "one\n").file("b", "two\n")
}

/// Returns a script with a failed attempt, parallel calls, a command and a text.
fn answers() -> Vec<Answer> {
    vec![
        Answer::error(503, "overloaded_error", "busy"),
        Answer::new().text("I look. ").call("toolu_1", "read", &json!({ "path": "a" })).call(
            "toolu_2",
            "read",
            &json!({ "path": "b" }),
        ),
        answer_shell("pwd; echo done > c; sleep 0.02"),
        answer_text("It is done."),
    ]
}

fn recordings(scene: &Scene) -> PathBuf {
    scene.workspace.outside().join("recordings")
}

fn record(scene: &Scene) -> ProgramOutput {
    scene.ibeam(PROMPT).args(["--record"]).args([recordings(scene)]).run()
}

/// Returns a replay without key, server and model.
fn replay(workspace: &Workspace, recordings: &Path) -> Ibeam {
    Ibeam::new(program_path(), workspace).args(PROMPT).args(["--from-recording"]).args([recordings])
}

fn contents(recordings: &Path) -> Vec<String> {
    let mut paths: Vec<_> =
        std::fs::read_dir(recordings).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn two_replays_are_byte_identical_on_every_api() {
    for wire in Wire::ALL {
        let scene = Scene::with_wire(wire, answers()).with_workspace(workspace());
        let recorded = record(&scene).succeeded();
        let directory = recordings(&scene);
        assert_eq!(contents(&directory).len(), 4, "{wire:?}");
        let first = replay(&scene.workspace, &directory).run().succeeded();
        let second = replay(&scene.workspace, &directory).run().succeeded();
        assert_eq!((&first.stdout, &first.stderr), (&second.stdout, &second.stderr), "{wire:?}");
        let (recorded, replayed) = (recorded.stream(), first.stream());
        assert_eq!(replayed.deltas(), recorded.deltas(), "{wire:?}");
        assert_eq!(replayed.last()["usage"], recorded.last()["usage"], "{wire:?}");
        assert_eq!(replayed.last()["duration_ms"], 0);
        assert_eq!(replayed.last()["ibeam"]["retries"], 1);
        assert_eq!(scene.server.requests().len(), 4, "a replay sends nothing");
    }
}

#[test]
fn a_replay_works_in_another_directory_and_in_any_format() {
    let scene = Scene::new(answers()).with_workspace(workspace());
    record(&scene).succeeded();
    let (directory, other) = (recordings(&scene), workspace());
    let json = |workspace| {
        let output = replay(workspace, &directory).args(["--output-format", "json"]).run().succeeded();
        output.json()["result"].clone()
    };
    assert_eq!(json(&other), "I look. It is done.");
    assert_eq!(other.read("c").as_deref(), Some("done\n"), "tools are executed");
    let at_recorded_speed = replay(&other, &directory).args(["--recording-speed", "1"]).run().succeeded();
    assert_eq!(at_recorded_speed.stream().deltas().concat(), "I look. It is done.");
}

#[test]
fn an_unknown_request_ends_a_replay_with_code_25_and_the_difference() {
    let scene = Scene::new([answer_text("fine")]);
    record(&scene).succeeded();
    let output = Ibeam::new(program_path(), &scene.workspace)
        .args(["-p", "do more", "--force", "--sandbox", "disabled", "--from-recording"])
        .args([recordings(&scene)])
        .run();
    let errors = output.stderr_lines("error: ");
    assert_eq!((output.code, errors.len()), (Some(25), 1), "{output}");
    for expected in ["`000001.json`", "messages[0]", "do it", "do more"] {
        assert!(errors[0].contains(expected), "{expected}: {output}");
    }
    let last: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["code"]), (&"error".into(), &"provider".into()));
}

#[test]
fn recordings_contain_no_secret() {
    let answers = [answer_call("toolu_1", "read", &json!({ "path": "key" })), answer_text("seen")];
    let scene = Scene::new(answers).with_workspace(workspace().file("key", KEY));
    let prompt = format!("my key is {KEY}");
    let args = ["-p", &prompt, "-H", "x-token: other-secret-123456", "--force", "--sandbox", "disabled"];
    scene.ibeam(args).args(["--record"]).args([recordings(&scene)]).run().succeeded();
    let contents = contents(&recordings(&scene));
    assert_eq!(contents.len(), 2);
    for content in contents {
        assert!(!content.contains(KEY) && !content.contains("other-secret"), "{content}");
        assert!(!content.contains(scene.workspace.path().to_str().unwrap()), "{content}");
    }
}

#[test]
fn a_session_of_several_runs_is_replayed_under_its_own_id() {
    const ID: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let scene = Scene::new([answer_text("one"), answer_text("two")]);
    let directory = recordings(&scene);
    let resume = format!("--resume={ID}");
    let run = |ibeam: Ibeam, flag: &str| {
        ibeam.args(["-p", "count", &resume, flag]).args([&directory]).run().succeeded()
    };
    for text in ["one", "two"] {
        assert_eq!(run(scene.ibeam::<&str>([]), "--record").stream().deltas(), [text]);
    }
    let other = Workspace::new();
    for text in ["one", "two"] {
        let output = run(Ibeam::new(program_path(), &other), "--from-recording");
        assert_eq!((output.stream().deltas(), output.stream().session_id()), (vec![text], ID));
    }
}

#[test]
fn wrong_uses_of_the_flags_are_explained() {
    let scene = Scene::new([]);
    std::fs::write(scene.workspace.path().join("x.json"), "{}").unwrap();
    let directory = scene.workspace.path().to_str().unwrap().to_owned();
    let empty = scene.workspace.outside().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    for (code, args, expected) in [
        (2, vec!["--recording-speed", "1"], "needs `--from-recording DIR`"),
        (2, vec!["--from-recording", &directory, "--record", "x"], "--record"),
        (2, vec!["--from-recording", &directory, "--recording-speed", "2"], "2"),
        (66, vec!["--from-recording", "missing"], "missing"),
        (66, vec!["--from-recording", empty.to_str().unwrap()], "no recordings"),
        (66, vec!["--from-recording", &directory], "x.json"),
        (73, vec!["--record", "x.json"], "x.json"),
    ] {
        let output = scene.ibeam(["-p", "do it"]).args(&args).run();
        let error = output.stderr_lines("error: ").concat();
        assert_eq!((output.code, error.contains(expected)), (Some(code), true), "{args:?}: {output}");
    }
    let output = scene.ibeam_without_model(["models", "--from-recording", &directory]).run();
    assert_eq!(
        (output.code, output.stderr.contains("does not use `--from-recording`")),
        (Some(2), true),
        "{output}"
    );
}

/// Returns the shell scripts of docs/recordings.md.
fn documented_scripts() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/recordings.md");
    page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_recipe_for_ci_works_as_documented() {
    let call = answer_call("toolu_1", "write", &json!({ "path": "count.txt", "fileText": "2\n" }));
    let scene = Scene::new([call, answer_text("There are 2.")]);
    let root = scene.workspace.path();
    std::fs::create_dir_all(root.join("project")).unwrap();
    std::fs::write(root.join("project/names.txt"), "Ann\nBen\n").unwrap();
    let programs = scene.workspace.outside().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(program_path(), programs.join("ibeam")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let scripts = documented_scripts();
    assert_eq!(scripts.len(), 2);
    let run = |script: &str, with_key: bool| {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", script]).current_dir(root).env_clear();
        command.env("PATH", &path).env("HOME", scene.workspace.home()).stdin(std::process::Stdio::null());
        if with_key {
            command.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}\n{output:?}");
    };
    run(scripts[0], true);
    run(scripts[1], false);
    scene.server.assert_all_answers_sent();
}

#[test]
fn a_replay_opens_no_socket() {
    let scene = Scene::new(answers()).with_workspace(workspace());
    record(&scene).succeeded();
    let log = scene.workspace.outside().join("calls");
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIP: `strace` is not installed");
        return;
    }
    let tracer = ["strace", "-f", "-e", "trace=socket,connect", "-o", log.to_str().unwrap()];
    let output = replay(&scene.workspace, &recordings(&scene)).through(tracer).run();
    if output.code == Some(1) && output.stderr.contains("ptrace") {
        eprintln!("SKIP: this system forbids tracing");
        return;
    }
    output.succeeded();
    let calls = std::fs::read_to_string(&log).unwrap();
    assert!(!calls.contains("AF_INET"), "{calls}");
}

#[test]
fn the_former_names_of_the_flags_still_work() {
    let scene = Scene::new(answers()).with_workspace(workspace());
    record(&scene).succeeded();
    let directory = recordings(&scene);
    let (now, before) = (workspace(), workspace());
    let expected = replay(&now, &directory).args(["--recording-speed", "0"]).run().succeeded();
    let former = Ibeam::new(program_path(), &before).args(PROMPT).args(["--replay"]).args([&directory]);
    let former = former.args(["--replay-speed", "0"]).run().succeeded();
    assert_eq!(former.stream().deltas(), expected.stream().deltas());
}
