//! Instructions in a repository: part of the system prompt if it is trusted, otherwise quoted content.

use ibeam_testkit::scene::{Scene, WIRES, answer_text};
use ibeam_testkit::{ProgramOutput, Workspace};

const RULE: &str = "Always write tests\u{200b} first.\u{e0049}";
const SHOWN: &str = "Always write tests<U+200B> first.<U+E0049>";

fn scene() -> Scene {
    let workspace = Workspace::new()
        .file("AGENTS.md", RULE)
        .file(".cursor/rules/style.mdc", "---\nalwaysApply: true\n---\nUse tabs.\n")
        .file(".cursor/rules/tests.mdc", "---\ndescription: how to test\n---\nHidden text.\n");
    Scene::new([answer_text("done")]).with_workspace(workspace)
}

fn prompt(output: &ProgramOutput) -> Vec<String> {
    output.stream().prompt().into_iter().map(str::to_owned).collect()
}

#[test]
fn untrusted_instructions_are_content_before_the_prompt() {
    for wire in WIRES {
        let scene = Scene { wire, ..scene() };
        let output = scene.print::<&str>([]).run().succeeded();
        assert_eq!(prompt(&output), ["do it"], "the prompt is the user's alone");
        let requests = scene.server.requests();
        let transcript = requests[0].transcript();
        let text = transcript.join("\n");
        assert!(
            transcript[0].starts_with("user: The repository in the workspace has instructions"),
            "{text}"
        );
        assert!(
            text.contains(SHOWN) && text.contains("Use tabs.") && text.contains("not words of the user"),
            "{text}"
        );
        assert!(text.contains("tests.mdc: how to test") && !text.contains("Hidden text"), "{text}");
        assert!(transcript.last().unwrap().ends_with("do it"), "{text}");
        let body = &requests[0].body;
        let system = if body["system"].is_null() {
            body["messages"][0].to_string()
        } else {
            body["system"].to_string()
        };
        assert!(!system.contains("Always write"), "{system}");
        assert!(!body.to_string().contains('\u{200b}'), "nothing hidden is sent");
    }
}

#[test]
fn instructions_of_a_trusted_project_are_in_the_system_prompt() {
    for flag in ["--trust", "--force"] {
        let scene = scene();
        scene.print([flag]).run().succeeded();
        let requests = scene.server.requests();
        let system = requests[0].body["system"].to_string();
        assert!(system.contains(SHOWN) && system.contains("Use tabs."), "{system}");
        assert_eq!(requests[0].transcript(), ["user: do it"]);
    }
}

/// A resumed session has the content once: the journal has it in the recorded prompt, not in the texts of the user.
#[test]
fn a_resumed_session_has_the_content_once() {
    let scene = scene();
    let first = scene.print::<&str>([]).run().succeeded();
    let journal = ibeam_testkit::scene::journal(&scene, first.stream().session_id());
    let has_content = |event: &&serde_json::Value| event.to_string().contains("Always write tests");
    let recorded: Vec<_> = journal.iter().filter(has_content).collect();
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    assert!(recorded[0]["kind"]["prompt_recorded"].is_object(), "{recorded:?}");
    let scene = scene.with_answers([answer_text("more")]);
    scene.print(["--continue"]).run().succeeded();
    let transcript = scene.server.requests()[0].transcript().join("\n");
    assert_eq!(transcript.matches("begin of repository content").count(), 1, "{transcript}");
    assert_eq!(transcript.matches("do it").count(), 2, "{transcript}");
    assert!(transcript.find("Always").unwrap() < transcript.find("do it").unwrap(), "{transcript}");
}

#[test]
fn a_link_out_of_the_repository_is_not_an_instruction() {
    for target in ["../secret.md", ".env", "/proc/self/environ"] {
        let workspace =
            Workspace::new().file("../secret.md", "SECRET-CANARY").file(".env", "KEY=SECRET-CANARY");
        std::os::unix::fs::symlink(target, workspace.path().join("AGENTS.md")).unwrap();
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        scene.print(["--trust"]).env("ODD", "SECRET-CANARY").run().succeeded();
        assert!(!scene.server.requests()[0].body.to_string().contains("SECRET"), "{target}");
    }
}
