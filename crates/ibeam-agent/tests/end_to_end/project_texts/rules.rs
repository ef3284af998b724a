//! Rules for parts of the workspace, which the model receives once it uses a file there.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Request, Workspace};
use serde_json::json;

fn read(id: &str, path: &str) -> Answer {
    answer_call(id, "read", &json!({ "path": path }))
}

/// A repository as Cursor, Claude Code and others have them.
fn workspace() -> Workspace {
    Workspace::new()
        .file("AGENTS.md", "Rule of the root.")
        .file("web/AGENTS.md", "Rule of web.")
        .file("web/app/CLAUDE.md", "Rule of the app, see @style.md.")
        .file("web/app/style.md", "Imported style.")
        .file("web/app/main.ts", "export {}\n")
        .file("web/page.html", "<p>\n")
        .file("lib.rs", "// lib\n")
        .file(
            ".cursor/rules/scripts.mdc",
            "---\ndescription: scripts\nglobs: *.ts\nalwaysApply: false\n---\nRule of scripts.",
        )
}

fn texts(request: &Request) -> String {
    request.transcript().join("\n")
}

#[test]
fn rules_of_a_directory_follow_the_first_call_that_uses_a_file_there() {
    for flags in [&["--trust"][..], &[]] {
        let answers = [
            read("1", "lib.rs"),
            read("2", "web/app/main.ts"),
            read("3", "web/page.html"),
            answer_text("done"),
        ];
        let scene = Scene::new(answers).with_workspace(workspace());
        scene.print(flags).run().succeeded();
        let requests = scene.server.requests();
        assert_eq!(requests.len(), 4);
        for request in &requests[..2] {
            let text = texts(request);
            assert!(!text.contains("Rule of web") && !text.contains("Rule of scripts"), "{text}");
        }
        for request in &requests[2..] {
            let text = texts(request);
            let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
            assert!(
                at("export {}") < at("Rule of web.") && at("Rule of web.") < at("Rule of the app"),
                "{text}"
            );
            assert!(
                at("Rule of the app") < at("Imported style.") && text.contains("Rule of scripts."),
                "{text}"
            );
            assert_eq!(text.matches("Rule of web.").count(), 1, "each once: {text}");
            assert_eq!(text.contains("content of the repository, like"), flags.is_empty(), "{text}");
        }
        // What was sent once is sent again unchanged.
        assert_eq!(requests[0].body["system"], requests[3].body["system"]);
        let (before, after) = (requests[2].transcript(), requests[3].transcript());
        assert_eq!(before[..], after[..before.len()]);
    }
}

#[test]
fn a_resumed_session_has_the_rules_of_a_directory_once() {
    let scene = Scene::new([read("1", "web/page.html"), answer_text("done")]).with_workspace(workspace());
    scene.print(["--trust"]).run().succeeded();
    let scene = scene.with_answers([read("2", "web/page.html"), answer_text("done")]);
    scene.print(["--trust", "--continue"]).run().succeeded();
    let text = texts(&scene.server.requests()[1]);
    assert_eq!(text.matches("Rule of web.").count(), 1, "{text}");
}

#[test]
fn an_edit_brings_the_rules_of_its_directory_too() {
    let write = answer_call("1", "write", &json!({ "path": "web/new.css", "fileText": "p {}\n" }));
    let scene = Scene::new([write, answer_text("done")]).with_workspace(workspace());
    scene.print(["--trust"]).run().succeeded();
    assert!(texts(&scene.server.requests()[1]).contains("Rule of web."));
}

#[test]
fn a_rule_file_that_is_not_valid_is_named_on_stderr() {
    let workspace = Workspace::new().file(".cursor/rules/a.mdc", "---\nglobs: \"*.ts\n---\ntext");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    let [warning] = warnings.as_slice() else { panic!("{output}") };
    assert!(warning.contains("a.mdc: line 2 of its header` is not used: a quote has no end"), "{warning}");
}
