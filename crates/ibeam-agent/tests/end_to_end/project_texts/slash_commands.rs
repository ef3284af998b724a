//! Slash commands in print mode, interactive mode and messages on stdin.

use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{Stdin, Workspace};
use serde_json::json;

fn workspace() -> Workspace {
    Workspace::new()
        .file(
            ".claude/commands/fix-issue.md",
            "---\nallowed-tools: Bash(gh:*)\nargument-hint: [issue] [priority]\ndescription: Fix an issue\n---\n\
             Fix issue $1 with priority $2. All: $ARGUMENTS\n",
        )
        .file(".cursor/commands/tidy.md", "# Tidy\n\nTidy the code.\n")
}

/// Returns the texts of the user in the first request.
fn prompt_texts(scene: &Scene) -> String {
    scene.server.requests()[0].transcript().join("\n")
}

#[test]
fn a_command_adds_its_text_after_the_words_of_the_user() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    let output = scene.ibeam(["-p", "--trust", "/fix-issue 123 high"]).run().succeeded();
    let text = prompt_texts(&scene);
    assert!(text.contains("Fix issue 123 with priority high. All: 123 high"), "{text}");
    assert!(!text.contains("allowed-tools"), "{text}");
    let prompt = output.stream().prompt().into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(prompt[0], "/fix-issue 123 high");
    assert!(prompt[1].starts_with("The text of the command `/fix-issue`, from `"), "{prompt:?}");
}

#[test]
fn a_command_of_an_untrusted_repository_is_marked_content() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    scene.ibeam(["-p", "/tidy"]).run().succeeded();
    let text = prompt_texts(&scene);
    assert!(text.contains("Tidy the code.") && text.contains("not words of the user"), "{text}");
}

#[test]
fn a_path_and_an_unknown_command_stay_text() {
    for prompt in ["/usr/bin is full", "/unknown word", "/"] {
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
        let output = scene.ibeam(["-p", "--trust", "--", prompt]).run().succeeded();
        assert_eq!(output.stream().prompt(), [prompt]);
    }
}

#[test]
fn a_prompt_on_stdin_may_name_a_command() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    scene.ibeam(["-p", "--trust"]).stdin(Stdin::Piped(b"/tidy\n".to_vec())).run().succeeded();
    assert!(prompt_texts(&scene).contains("Tidy the code."));
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    let content = json!([{ "type": "text", "text": "/tidy" }]);
    let message = json!({ "type": "user", "message": { "role": "user", "content": content } });
    let message = format!("{message}\n");
    let flags = ["-p", "--trust", "--output-format", "stream-json", "--input-format", "stream-json"];
    scene.ibeam(flags).stdin(Stdin::Piped(message.into())).run().succeeded();
    assert!(prompt_texts(&scene).contains("Tidy the code."));
}

#[test]
fn piped_text_next_to_a_prompt_names_no_command() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    scene.ibeam(["-p", "--trust", "explain"]).stdin(Stdin::Piped(b"/tidy\n".to_vec())).run().succeeded();
    assert!(!prompt_texts(&scene).contains("Tidy the code."));
}

#[test]
fn a_person_may_type_a_command() {
    let scene =
        Scene::new([answer_text("One it is.\n"), answer_text("Two it is.\n")]).with_workspace(workspace());
    let running = scene.ibeam(["--trust", "say one"]).terminal().start();
    running.wait_for_stdout("One it is.");
    running.type_text("/tidy\n");
    running.wait_for_stdout("Two it is.");
    running.type_text("\u{4}");
    running.finish().succeeded();
    let text = scene.server.requests()[1].transcript().join("\n");
    assert!(text.contains("Tidy the code."), "{text}");
}
