//! The examples of docs/rules.md and docs/skills.md: their files in a workspace, and their commands.

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::json;

const RULES: &str = include_str!("../../../../../docs/rules.md");
const SKILLS: &str = include_str!("../../../../../docs/skills.md");

/// Returns a workspace with the files of a page: a line with the path, then a code block.
fn workspace(page: &str) -> Workspace {
    let mut workspace = Workspace::new();
    let mut parts = page.split("\n```");
    let mut before = parts.next().unwrap_or_default();
    while let (Some(block), after) = (parts.next(), parts.next()) {
        let path =
            before.trim_end().rsplit('\n').next().and_then(|line| line.strip_prefix('`')?.strip_suffix("`:"));
        if let (Some(path), Some((_, text))) = (path, block.split_once('\n')) {
            workspace = workspace.file(path, format!("{text}\n"));
        }
        before = after.unwrap_or_default();
    }
    workspace
}

/// Returns the words of the commands of a page.
fn commands(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("\n```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("ibeam "));
    let words = |line: &str| -> Vec<String> {
        let quoted = line.split('"').enumerate();
        quoted
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect()
    };
    lines.map(words).collect()
}

#[test]
fn the_rules_of_the_page_arrive_as_it_states() {
    let rules = ["Run `make check`", "one file each", "no default exports"];
    let read = |id, path| answer_call(id, "read", &json!({ "path": path }));
    let answers = [read("1", "web/page.html"), read("2", "scripts/run"), answer_text("done")];
    let workspace = workspace(RULES).file("web/page.html", "<p>\n").file("scripts/run", "true\n");
    let scene = Scene::new(answers).with_workspace(workspace);
    scene.print(["--trust"]).run().succeeded();
    let requests = scene.server.requests();
    for (request, expect) in requests.iter().zip([[true, false, false], [true, true, false], [true; 3]]) {
        let text = request.body.to_string();
        assert_eq!(rules.map(|rule| text.contains(rule)), expect, "{text}");
    }
    let commands = commands(RULES);
    let [command] = commands.as_slice() else { panic!("{commands:?}") };
    let output = scene.ibeam_without_model(command).run().succeeded();
    assert!(output.stdout.contains("  rules ") && output.stdout.contains("rule_list"), "{output}");
}

#[test]
fn the_skill_and_the_command_of_the_page_work() {
    let commands = commands(SKILLS);
    let [skill, command] = commands.as_slice() else { panic!("{commands:?}") };
    let call = answer_call("1", "skill", &json!({ "name": "release-notes" }));
    let scene = Scene::new([call, answer_text("done")]).with_workspace(workspace(SKILLS));
    scene.ibeam(skill).run().succeeded();
    let text = scene.server.requests()[1].transcript().join("\n");
    assert!(
        text.contains("2. Group them as in `template.md`.") && text.contains("- scripts/changes.sh"),
        "{text}"
    );
    let scene = scene.with_answers([answer_text("done")]);
    scene.ibeam(command).run().succeeded();
    let text = scene.server.requests()[0].transcript().join("\n");
    assert!(text.contains("Fix issue 123 with priority high."), "{text}");
}
