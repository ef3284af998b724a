//! Output contains neither keys that the model repeats nor invisible characters of foreign text.

use ibeam_protocol::invisible::is_invisible;
use ibeam_testkit::scene::{KEY, Scene, WIRES, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, ProgramOutput, Workspace};
use serde_json::json;

/// An escape sequence, a direction mark, a tag character, a C1 control character and a carriage return.
const HOSTILE: &str = "a\u{1b}[2K\u{202e}b\u{e0041}\u{9b}c\rd";

#[track_caller]
fn check_no_key(scene: &Scene, output: &ProgramOutput) {
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output}");
    let id = output.stream().session_id().to_owned();
    let stored = std::fs::read_to_string(scene.workspace.journal(&id)).unwrap();
    assert!(!stored.contains(KEY), "{stored}");
}

#[test]
fn a_key_in_an_answer_is_neither_printed_nor_stored() {
    for wire in WIRES {
        let (one, other) = KEY.split_at(9);
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let answer = Answer::new().text("It is ").text(one).text(other).text(" or ").text(&hex).text(".");
        let scene = Scene::with_wire(wire, [answer, answer_text("Bye.")]);
        let output = scene.print::<&str>([]).run().succeeded();
        check_no_key(&scene, &output);
        assert!(!output.stdout.contains(&hex), "{output}");
        let stream = output.stream();
        assert_eq!(stream.deltas().concat(), "It is key*** or 6b6***.");
        assert_eq!(stream.last()["result"], "It is key*** or 6b6***.", "{output}");
        let output = scene.ibeam(["-p", "more", "--continue"]).run().succeeded();
        check_no_key(&scene, &output);
        assert!(!scene.server.requests()[1].body.to_string().contains(KEY), "the key is not sent again");
    }
}

#[test]
fn a_call_with_a_key_is_redacted_and_not_executed() {
    let write = answer_call("t", "write", &json!({ "path": "note", "fileText": format!("x {KEY}") }));
    let scene = Scene::new([write, answer_text("Done.")]);
    let output = scene.print(["--force"]).run().succeeded();
    check_no_key(&scene, &output);
    assert_eq!(scene.workspace.read("note"), None);
    let id = output.stream().session_id().to_owned();
    let recorded = journal(&scene, &id);
    let started = recorded.iter().find_map(|event| event.pointer("/kind/tool_call_started/call/arguments"));
    assert_eq!(started.unwrap()["fileText"], "x key***");
    let request = scene.server.requests()[1].body.to_string();
    assert!(
        request.contains("not executed: its arguments hold a key") && !request.contains(KEY),
        "{request}"
    );
}

/// Asserts that the output contains `part` and no invisible character.
#[track_caller]
fn check_shown(output: &ProgramOutput, part: &str) {
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.contains(|c: char| is_invisible(c)), "{text:?}");
    }
    assert!(output.stdout.contains(part), "{output}");
}

#[test]
fn listed_prompts_have_no_invisible_characters() {
    let scene = Scene::new([answer_text("Yes.")]);
    scene.ibeam(["-p", &format!("say {HOSTILE}")]).run().succeeded();
    check_shown(&scene.ibeam_without_model(["ls"]).run().succeeded(), "say a<U+001B>[2K<U+202E>b");
    check_shown(
        &scene.ibeam_without_model(["ls", "--format", "json"]).run().succeeded(),
        r"say a\u001b[2K\u202eb",
    );
}

#[test]
fn listed_rules_have_no_invisible_characters() {
    // A token with a control character is refused.
    let config = "[permissions]\ndeny = [\"Read(a\u{202e}b\u{e0041}c)\"]\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    check_shown(
        &scene.ibeam_without_model(["policy", "list"]).run().succeeded(),
        "Read(a<U+202E>b<U+E0041>c)",
    );
    check_shown(
        &scene.ibeam_without_model(["policy", "list", "--format", "json"]).run().succeeded(),
        r"\u202e",
    );
}

#[test]
fn listed_servers_have_no_invisible_characters() {
    let servers =
        json!({ "mcpServers": { "plain": { "command": format!("run {HOSTILE}"), "args": ["x\ny"] } } });
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".cursor/mcp.json", servers.to_string()));
    let output = scene.ibeam_without_model(["mcp", "list"]).run().succeeded();
    check_shown(&output, "<U+202E>b<U+E0041>");
    assert!(output.stdout.contains("x<U+000A>y"), "{output}");
}

#[test]
fn paths_in_errors_have_no_invisible_characters() {
    let scene = Scene::new([]);
    let path = format!("/no/{HOSTILE}");
    for format in ["text", "json"] {
        let output =
            scene.ibeam_without_model(["-p", "x", "--error-format", format, "--workspace", &path]).run();
        assert_ne!(output.code, Some(0), "{output}");
        check_shown(&output, "");
        assert!(output.stderr.contains("202"), "the message contains the escaped path: {output}");
    }
}
