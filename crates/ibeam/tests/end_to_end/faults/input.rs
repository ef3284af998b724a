//! Faults of the input: prompts, flags, environment variables, sessions and output on stdout.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use ibeam_testkit::fault_injection::{build_preload_library, check_failure};
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, check_journaled, journal};
use ibeam_testkit::{Answer, Stdin, Workspace, descriptor_target};

use crate::end_to_end::faults::journal_line;

#[test]
fn f160_an_own_variable_with_invalid_utf_8_is_named() {
    for name in ["IBEAM_MODEL", "IBEAM_LANG", "IBEAM_NO_SUCH", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"] {
        let scene = Scene::new([]);
        let output = scene.print::<&str>([]).env(name, OsStr::from_bytes(b"br\xffken")).run();
        check_failure(&output, 2);
        assert!(output.stderr.contains(name), "{output}");
    }
}

/// Other variables are not checked, and commands receive them unchanged.
#[test]
fn f160_other_variables_and_paths_may_be_invalid_utf_8() {
    let invalid = OsStr::from_bytes(b"br\xffken");
    let workspace = Workspace::new().user_config("[sandbox]\nenvironment = [\"OTHER_VARIABLE\"]\n");
    let scene = Scene::new([answer_shell("printf %s \"$OTHER_VARIABLE\" | od -An -tx1"), answer_text("ok")])
        .with_workspace(workspace);
    let home = scene.workspace.outside().join(invalid);
    std::fs::create_dir(&home).unwrap();
    let run = scene
        .print(["--force", "--sandbox", "disabled"])
        .env("OTHER_VARIABLE", invalid)
        .env("HOME", &home)
        .env("XDG_DATA_HOME", home.join("data"));
    let output = run.env("LANG", invalid).run().succeeded();
    let stdout = output.stream().completed()[0].1["result"]["success"]["stdout"].to_string();
    assert!(stdout.contains("62 72 ff 6b 65 6e"), "{stdout}");
    assert!(
        home.join("data/ibeam/sessions").is_dir(),
        "the session is stored in a home directory with this name"
    );
}

#[test]
fn f160_a_flag_with_invalid_utf_8_is_an_error() {
    let invalid = OsStr::from_bytes(b"--br\xffken");
    for args in [vec![OsStr::new("-p"), OsStr::new("x"), invalid], vec![OsStr::new("--model"), invalid]] {
        let scene = Scene::new([]);
        let output = scene.ibeam(args).run();
        check_failure(&output, 2);
    }
}

#[test]
fn f162_the_wait_for_stdin_next_to_a_prompt_is_configurable() {
    let config = "[timeouts]\nstdin_context = \"200ms\"\n";
    let scene = Scene::new([answer_text("ok")]).with_workspace(Workspace::new().user_config(config));
    let output = scene.print::<&str>([]).stdin(Stdin::SilentPipe).run().succeeded();
    assert_eq!(output.stream().prompt(), ["do it"]);
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.elapsed < Duration::from_millis(2500), "{output}");
}

/// With `--print` there are no slash commands: each prompt is sent to the model.
#[test]
fn f164_a_prompt_that_starts_with_a_slash_is_text() {
    for prompt in ["/nope", "/help", "/", "/compact now", "!ls", "@file", "#note"] {
        let scene = Scene::new([answer_text("ok")]);
        let output = scene.ibeam(["-p", prompt]).run().succeeded();
        assert_eq!(output.stream().prompt(), [prompt]);
        assert_eq!(scene.server.requests()[0].transcript(), [format!("user: {prompt}")]);
    }
}

#[test]
fn f165_an_unknown_model_is_reported_before_the_first_request() {
    for name in ["nope", "unknown/nope", "anthropic/"] {
        let scene = Scene::new([]);
        let output = scene
            .ibeam_without_model(["--model", name, "-p", "x"])
            .env("ANTHROPIC_BASE_URL", scene.server.url())
            .env("ANTHROPIC_API_KEY", "k")
            .env("OPENAI_API_KEY", "k")
            .run();
        check_failure(&output, 21);
        assert!(output.stderr.contains(name), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
}

/// The run ends at once and does not ask for a login.
#[test]
fn f166_a_missing_key_is_reported_at_once() {
    let scene = Scene::new([]);
    for stdin in [Stdin::Closed, Stdin::SilentPipe] {
        let output = scene.ibeam_without_key(["-p", "x"]).stdin(stdin).run();
        check_failure(&output, 20);
        assert!(output.stderr.contains("ANTHROPIC_API_KEY"), "{output}");
        assert!(output.elapsed < Duration::from_secs(2), "{output}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn f181_a_journal_that_is_nested_deeply_is_damaged() {
    let scene = Scene::new([answer_text("first")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    let path = scene.workspace.journal(&id);
    let complete = std::fs::read(&path).unwrap();
    let header = complete.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for deep in
        ["[".repeat(100_000) + &"]".repeat(100_000), "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000)]
    {
        let call = format!("{{\"id\":\"t\",\"name\":\"read\",\"arguments\":{deep}}}");
        let event = format!(
            "{{\"seq\":0,\"at_ms\":0,\"kind\":{{\"tool_call_started\":{{\"model_call_id\":\"m\",\"call\":{call}}}}}}}"
        );
        std::fs::write(
            &path,
            [&complete[..header], &journal_line("event", &event), &complete[header..]].concat(),
        )
        .unwrap();
        let output = scene.print([format!("--resume={id}")]).run();
        check_failure(&output, 65);
        assert!(output.stderr.contains("line 2"), "{output}");
    }
}

/// The model receives an error for a call with deeply nested arguments.
#[test]
fn f181_arguments_that_are_nested_deeply_are_rejected() {
    for wire in ibeam_testkit::scene::WIRES {
        let deep =
            format!("{{\"path\":\"a.txt\",\"fileText\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let scene = Scene::with_wire(
            wire,
            [Answer::new().call_as_written("t", "write", &deep), answer_text("sorry")],
        );
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(scene.workspace.read("a.txt"), None);
        assert_eq!(output.stream().last()["result"], "sorry");
        let transcript = scene.server.requests()[1].transcript();
        assert!(transcript.iter().any(|line| line.starts_with("result ")), "{transcript:?}");
        check_journaled(&scene, &output);
    }
}

/// A depth that one run accepts is accepted by the next run.
#[test]
fn f181_a_session_with_nested_arguments_can_be_resumed() {
    for depth in [10, 50, 100] {
        let deep = format!("{{\"pattern\":\"x\",\"deep\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let scene = Scene::new([Answer::new().call_as_written("t", "grep", &deep), answer_text("first")]);
        let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
        let scene = scene.with_answers([answer_text("second")]);
        let output = scene.print([format!("--resume={id}")]).run();
        assert_eq!(output.code, Some(0), "nested {depth} deep: {output}");
    }
}

/// Output of a library and of a command that writes to the descriptor of the run is not in the stream.
#[test]
fn f180_other_output_on_stdout_is_not_in_the_stream() {
    for format in ["stream-json", "json"] {
        let scene = Scene::new([
            answer_shell("echo spoiled by a child >/proc/$PPID/fd/1; echo done"),
            answer_text("ok"),
        ]);
        let Some(library) = build_preload_library(&scene) else { return };
        let run = scene.print(["--force", "--output-format", format]).env("LD_PRELOAD", library);
        let output = run.env("SPOIL_STDOUT", "1").run().succeeded();
        for line in output.stdout.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{output}"));
            assert!(object["type"].is_string(), "{output}");
        }
        for spoiled in ["spoiled by printf", "spoiled by write"] {
            assert!(output.stderr.contains(spoiled), "the library printed; {output}");
        }
    }
}

#[test]
fn f180_descriptor_1_is_stderr_except_for_the_stream() {
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).start();
    running.wait_for_stdout("one ");
    assert_eq!(descriptor_target(running.pid(), 1), descriptor_target(running.pid(), 2));
}

#[test]
fn f169_a_session_of_another_project_is_an_error() {
    let scene = Scene::new([answer_text("one")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    let scene = scene.with_answers([answer_text("never")]);
    let output = scene.print([format!("--resume={id}"), format!("--workspace={}", other.display())]).run();
    check_failure(&output, 66);
    assert!(output.stderr.contains(scene.workspace.path().to_str().unwrap()), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
    let before = journal(&scene, &id).len();
    assert!(before > 0, "the session is unchanged");
}

/// A created session without prompts belongs to the project of its first run.
#[test]
fn f169_a_session_without_prompts_belongs_to_no_project() {
    let scene = Scene::new([answer_text("one")]);
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    scene.print([format!("--resume={id}"), format!("--workspace={}", other.display())]).run().succeeded();
}
