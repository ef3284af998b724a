//! `ibeam context`, which needs neither a key nor the network.

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::{Value, json};

fn workspace() -> Workspace {
    Workspace::new()
        .file("AGENTS.md", "Use tabs.")
        .file(".cursor/rules/ts.mdc", "---\nglobs: *.ts\nalwaysApply: false\n---\nx")
        .file(".agents/skills/review/SKILL.md", "---\nname: review\ndescription: Reviews\n---\nRead.")
        .file(".cursor/commands/tidy.md", "# Tidy up\n")
        .file(".cursor/mcp.json", "{\"mcpServers\": {\"files\": {\"command\": \"never-started\"}}}")
        .file("notes.txt", "some notes\n")
}

fn json(scene: &Scene, args: &[&str]) -> Value {
    let args = ["context", "--format", "json"].iter().chain(args);
    serde_json::from_str(&scene.ibeam_without_model(args).run().succeeded().stdout).unwrap()
}

fn kinds(section: &Value) -> Vec<&str> {
    section.as_array().unwrap().iter().map(|part| part["kind"].as_str().unwrap()).collect()
}

#[test]
fn the_context_lists_each_part_with_its_size() {
    let scene = Scene::new([]).with_workspace(workspace());
    let trusted = json(&scene, &["--trust", "--", "/tidy", "@notes.txt"]);
    assert_eq!(kinds(&trusted["system"]), ["role", "rules", "rule_list", "skills", "environment"]);
    assert!(trusted["system"][1]["path"].as_str().unwrap().ends_with("/AGENTS.md"));
    assert_eq!(kinds(&trusted["prompt"]), ["text", "text", "attachment"]);
    assert_eq!(kinds(&trusted["repository"]), Vec::<&str>::new());
    assert!(trusted["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "skill"));
    assert_eq!(trusted["mcp_servers"][0]["status"], "not_started");
    let names: Vec<_> =
        trusted["commands"].as_array().unwrap().iter().map(|command| &command["name"]).collect();
    assert_eq!(names, ["tidy", "review"]);
    let sections = ["system", "tools", "mcp_tools", "repository", "prompt"];
    let parts = sections.iter().flat_map(|key| trusted[key].as_array().unwrap());
    let sum: u64 = parts.map(|part| part["bytes"].as_u64().unwrap()).sum();
    assert_eq!(trusted["total"]["bytes"], sum);
}

/// The tool for sub-agents is one of those that a run sends, with the definitions that the workspace has.
#[test]
fn the_tool_for_sub_agents_is_listed() {
    let workspace = Workspace::new()
        .file(".ibeam/agents/reviewer.md", "---\nname: reviewer\ndescription: Reviews\n---\nReview.");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let context = json(&scene, &["--trust"]);
    scene.print(["--trust"]).run().succeeded();
    let offered = scene.server.requests()[0].body["tools"].clone();
    let names = |tools: &Value| -> Vec<String> {
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&offered).contains(&"task".to_owned()), "{offered}");
    assert_eq!(names(&context["tools"]), names(&offered));
}

#[test]
fn the_texts_are_those_that_a_run_sends() {
    for flags in [&["--trust"][..], &["--mode", "plan"]] {
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace());
        let context = json(&scene, &[flags, &["--full", "--append-system-prompt", "Be brief."]].concat());
        scene.print(flags).args(["--append-system-prompt", "Be brief."]).run().succeeded();
        let request = &scene.server.requests()[0];
        let text = |section: &Value| -> String {
            section.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
        };
        assert_eq!(request.body["system"][0]["text"].as_str().unwrap(), text(&context["system"]));
        let repository = text(&context["repository"]);
        assert!(request.transcript().join("\n").contains(repository.trim()), "{repository}");
        let offered: Vec<_> =
            request.body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        let listed: Vec<_> = context["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(listed, offered);
    }
}

#[test]
fn the_text_form_is_a_table() {
    let scene = Scene::new([]).with_workspace(workspace());
    let output = scene.ibeam_without_model(["context"]).run().succeeded();
    for expect in [
        "  System prompt\n",
        "    marker\n",
        "    rules ",
        "    tool read\n",
        " total (",
        "  /tidy: Tidy up\n",
    ] {
        assert!(output.stdout.contains(expect), "{expect}: {output}");
    }
    assert!(!output.stdout.contains("Use tabs."), "{output}");
    let output = scene.ibeam_without_model(["context", "--full"]).run().succeeded();
    assert!(output.stdout.contains("    | Use tabs.\n"), "{output}");
}

#[test]
fn the_tools_of_servers_are_counted_once_the_servers_are_started() {
    let Some(table) = ibeam_testkit::stdio_mcp_server::table("test", &["resources", "starts=starts"]) else {
        return;
    };
    let workspace =
        Workspace::new().file("server.py", ibeam_testkit::stdio_mcp_server::SERVER).user_config(&table);
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let without = json(&scene, &[]);
    assert_eq!(
        (&without["mcp_servers"][0]["status"], scene.workspace.read("starts")),
        (&"not_started".into(), None)
    );
    let context = json(&scene, &["--start-servers", "--full"]);
    assert_eq!(context["mcp_servers"][0]["status"], "connected");
    let server = &context["mcp_tools"][0];
    assert_eq!((&server["name"], &server["tools"]), (&"test".into(), &9.into()), "{server}");
    scene.print::<&str>([]).run().succeeded();
    let request = &scene.server.requests()[0];
    let sent = request.body["tools"].as_array().unwrap().iter();
    let bytes = sent.filter(|tool| tool["name"].as_str().unwrap().starts_with("mcp_test_")).map(|tool| {
        let text = |key: &str| tool[key].as_str().unwrap().len();
        text("name") + text("description") + tool["input_schema"].to_string().len()
    });
    assert_eq!(server["bytes"], bytes.sum::<usize>());
    let names = |tools: &Value| -> Vec<String> {
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&context["tools"]).contains(&"mcp_read_resource".to_owned()));
    let difference =
        context["total"]["bytes"].as_u64().unwrap() - without["total"]["bytes"].as_u64().unwrap();
    assert!(difference > server["bytes"].as_u64().unwrap());
    let output = scene.ibeam_without_model(["context", "--start-servers"]).run().succeeded();
    assert!(output.stdout.contains("    server test, tools: 9\n"), "{output}");
}

#[test]
fn texts_that_are_too_long_are_named() {
    let workspace = Workspace::new().file("AGENTS.md", "x".repeat(40_000));
    let scene = Scene::new([]).with_workspace(workspace);
    let output = scene.ibeam_without_model(["context"]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert!(matches!(warnings.as_slice(), [line] if line.contains("AGENTS.md (`ibeam context`")), "{output}");
}

#[test]
fn the_context_of_a_resumed_session_has_its_conversation() {
    let read = answer_call("r", "read", &json!({ "path": "notes.txt" }));
    let scene = Scene::new([read, answer_text("A long answer.")]).with_workspace(workspace());
    scene.print::<&str>([]).run().succeeded();
    let context = |flags: &[&str]| json(&scene, flags);
    let (first, resumed) = (context(&[]), context(&["--continue"]));
    assert_eq!(kinds(&first["conversation"]), Vec::<&str>::new());
    assert_eq!(kinds(&resumed["conversation"]), ["messages", "tool_results"]);
    let total = |context: &Value| context["total"]["tokens"].as_u64().unwrap();
    assert!(total(&resumed) > total(&first), "{resumed}");
}

#[test]
fn the_context_of_a_resumed_session_has_its_prompt_and_what_has_changed() {
    let scene = Scene::new([answer_text("one"), answer_text("two")]).with_workspace(workspace());
    scene.print(["--trust"]).run().succeeded();
    std::fs::write(scene.workspace.path().join("AGENTS.md"), "Use spaces.").unwrap();
    std::fs::create_dir_all(scene.workspace.path().join(".git")).unwrap();
    std::fs::write(scene.workspace.path().join(".git/HEAD"), "ref: refs/heads/trunk\n").unwrap();
    let flags = ["--trust", "--continue", "--mode", "plan"];
    let context = json(&scene, &[&flags[..], &["--full"]].concat());
    scene.print(flags).run().succeeded();
    let request = &scene.server.requests()[1];
    let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
    let system: String = context["system"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(request.body["system"][0]["text"], system);
    assert!(system.contains("Use tabs.") && !system.contains("Use spaces."), "{system}");
    let (offered, listed) = (request.body["tools"].as_array().unwrap(), context["tools"].as_array().unwrap());
    assert_eq!(listed.len(), offered.len());
    assert_eq!(kinds(&context["conversation"]), ["messages", "changes", "changes"]);
    let messages = request.body["messages"].to_string();
    for change in &context["conversation"].as_array().unwrap()[1..] {
        assert!(messages.contains(&change["text"].to_string()), "{change}");
    }
    let changes: String = context["conversation"].as_array().unwrap().iter().map(text).collect();
    for expect in ["Use spaces.", "You are in plan mode", "Git repository: "] {
        assert!(changes.contains(expect), "{expect}: {changes}");
    }
}
