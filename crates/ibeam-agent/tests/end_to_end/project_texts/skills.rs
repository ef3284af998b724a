//! Skills in the published format: offered by description, loaded with the tool `skill`.

use ibeam_testkit::hook_files::write_hooks;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, result};
use ibeam_testkit::{Answer, Workspace};
use serde_json::json;

const SKILL: &str = "---\nname: release-notes\ndescription: Writes release notes. Use it before a release.\nlicense: \
                     MIT\nallowed-tools: Bash(touch:*)\n---\n\n# Release notes\n\nRun `scripts/notes.sh`.\n";

fn workspace() -> Workspace {
    Workspace::new()
        .file(".claude/skills/release-notes/SKILL.md", SKILL)
        .file(".claude/skills/release-notes/scripts/notes.sh", "touch made\n")
}

fn load() -> Answer {
    answer_call("toolu_skill", "skill", &json!({ "name": "release-notes" }))
}

#[test]
fn a_skill_is_offered_by_description_and_loaded_when_it_is_used() {
    let scene = Scene::new([load(), answer_text("done")]).with_workspace(workspace());
    let output = scene.print(["--trust"]).run().succeeded();
    let requests = scene.server.requests();
    let first = requests[0].body.to_string();
    assert!(first.contains("- release-notes: Writes release notes. Use it before a release."), "{first}");
    assert!(!first.contains("scripts/notes.sh"), "{first}");
    let text = requests[1].transcript().join("\n");
    assert!(text.contains("# Release notes") && text.contains("- scripts/notes.sh"), "{text}");
    assert!(!text.contains("not words of the user"), "{text}");
    let (arm, payload) = result(&output);
    assert_eq!((arm.as_str(), payload["name"].as_str()), ("success", Some("release-notes")), "{output}");
}

/// The skill permits nothing, and its script is a command like any other.
#[test]
fn a_skill_of_an_untrusted_repository_is_marked_content_and_allows_no_command() {
    let flags = ["--approval", "allowlist"];
    let scene =
        Scene::new([load(), answer_shell("touch made"), answer_text("done")]).with_workspace(workspace());
    let output = scene.print(flags).run().succeeded();
    let requests = scene.server.requests();
    let system = requests[0].body["system"].to_string();
    assert!(!system.contains("release-notes"), "{system}");
    assert!(requests[0].transcript()[0].contains("- release-notes: "), "in the marked content");
    let text = requests[1].transcript().join("\n");
    assert!(text.contains("The skill is content of the repository"), "{text}");
    assert_eq!(scene.workspace.read("made"), None, "{output}");
}

#[test]
fn without_skills_there_is_no_tool_for_them() {
    let scene = Scene::new([answer_text("done")]);
    scene.print(["--trust"]).run().succeeded();
    let body = scene.server.requests()[0].body.to_string();
    assert!(!body.contains("\"name\":\"skill\""), "{body}");
}

#[test]
fn without_the_tool_no_skill_is_offered() {
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
    scene.print(["--trust", "--without", "skill"]).run().succeeded();
    let body = scene.server.requests()[0].body.to_string();
    assert!(!body.contains("release-notes"), "{body}");
}

#[test]
fn a_skill_that_does_not_exist_is_an_error_with_the_names_of_those_that_do() {
    let call = answer_call("1", "skill", &json!({ "name": "other" }));
    let scene = Scene::new([call, answer_text("done")]).with_workspace(workspace());
    scene.print(["--trust"]).run().succeeded();
    let text = scene.server.requests()[1].transcript().join("\n");
    assert!(text.contains("there is no skill `other`; there are: release-notes"), "{text}");
}

#[test]
fn rules_and_hooks_decide_about_a_skill_as_about_any_file() {
    let scene = Scene::new([load(), answer_text("done")]).with_workspace(workspace());
    let output = scene.print(["--trust", "--deny", "Read(.claude/**)"]).run().succeeded();
    assert!(!scene.server.requests()[0].body.to_string().contains("release-notes:"), "{output}");
    let scene = Scene::new([load(), answer_text("done")]).with_workspace(workspace());
    let deny = "cat > /dev/null; echo '{\"permission\": \"deny\", \"user_message\": \"no skills\"}'";
    write_hooks(&scene.workspace, &json!({ "preToolUse": [{ "command": deny, "matcher": "^skill$" }] }));
    let output = scene.print(["--trust"]).run().succeeded();
    assert_eq!(result(&output).0, "rejected", "{output}");
}

#[test]
fn a_skill_of_the_user_is_an_instruction_in_every_workspace() {
    let workspace = Workspace::new()
        .file("../home/.agents/skills/mine/SKILL.md", "---\ndescription: my way\n---\nMy text.");
    let call = answer_call("1", "skill", &json!({ "name": "mine" }));
    let scene = Scene::new([call, answer_text("done")]).with_workspace(workspace);
    scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    assert!(requests[0].body["system"].to_string().contains("- mine: my way"));
    let text = requests[1].transcript().join("\n");
    assert!(text.contains("My text.") && !text.contains("content of the repository"), "{text}");
}
