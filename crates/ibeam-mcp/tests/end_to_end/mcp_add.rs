//! `mcp add` and `mcp remove`, and the examples of docs/mcp.md.

use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::Value;

use ibeam_testkit::stdio_mcp_server as mcp;

const PAGE: &str = include_str!("../../../../docs/mcp.md");

fn run(scene: &Scene, args: &[&str]) -> ProgramOutput {
    scene.ibeam_without_model([&["mcp"], args].concat()).run()
}

/// Returns the names of the servers that `mcp list` shows, with their status.
fn listed(scene: &Scene) -> Vec<(String, String)> {
    let rows = run(scene, &["list", "--format", "json"]).succeeded().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (text(&row["name"]), text(&row["status"]))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn a_server_of_the_user_is_added_used_and_removed() {
    let Some(python) = mcp::python() else { return };
    let workspace =
        Workspace::new().file("server.py", mcp::SERVER).user_config("# mine\n[limits]\nmax_turns = 9\n");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let added =
        run(&scene, &["add", "test", "--env", "GREETING=hello", python, "server.py", "starts=starts"]);
    assert!(added.succeeded().stdout.starts_with("added `test` to "));
    assert_eq!(listed(&scene), pairs(&[("test", "enabled")]));
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(mcp::servers(&scene, &output)[0]["status"], "connected", "{output}");

    let again = run(&scene, &["add", "test", "https://a.test/mcp"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(
        again.stderr.contains("already declares the MCP server `test`; `ibeam mcp remove test` removes it"),
        "{again}"
    );

    let removed = run(&scene, &["remove", "test"]).succeeded();
    assert!(removed.stdout.starts_with("removed `test` from "), "{removed}");
    assert_eq!(listed(&scene), pairs(&[]));
    let gone = run(&scene, &["remove", "test"]);
    assert_eq!(gone.code, Some(2), "{gone}");
    assert!(gone.stderr.contains("`ibeam mcp list` lists all servers"), "{gone}");
}

#[test]
fn a_server_of_the_project_is_added_without_secrets_and_removed_from_every_file() {
    let foreign = r#"{"mcpServers": {"docs": {"command": "x"}}, "other": [1]}"#;
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".mcp.json", foreign));
    let add =
        |header: &str| run(&scene, &["add", "--project", "docs", "--header", header, "https://a.test/mcp"]);
    let refused = add("Authorization: Bearer hush-0123456789");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused.stderr.contains("`Authorization`") && refused.stderr.contains("${env:NAME}"),
        "{refused}"
    );
    assert!(!refused.stderr.contains("hush"), "{refused}");
    assert_eq!(scene.workspace.read(".ibeam/config.toml"), None);

    add("Authorization: Bearer ${env:TOKEN}").succeeded();
    let expect = "[mcp_servers.docs]\nurl = \"https://a.test/mcp\"\nheaders = { Authorization = \"Bearer ${env:TOKEN}\" }\n";
    assert_eq!(scene.workspace.read(".ibeam/config.toml").as_deref(), Some(expect));
    assert_eq!(listed(&scene), pairs(&[("docs", "untrusted")]));

    let hint = run(&scene, &["remove", "docs"]);
    assert_eq!(hint.code, Some(2), "{hint}");
    assert!(hint.stderr.contains("add `--project`"), "{hint}");
    run(&scene, &["remove", "--project", "docs"]).succeeded();
    assert_eq!(listed(&scene), pairs(&[]));
    let left = "{\n  \"mcpServers\": {},\n  \"other\": [1]\n}\n";
    assert_eq!(scene.workspace.read(".mcp.json").as_deref(), Some(left));
}

#[test]
fn the_commands_and_files_of_the_page_declare_two_servers() {
    let expect = pairs(&[("docs", "enabled"), ("github", "enabled")]);
    let scene = Scene::new([]);
    let commands: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("ibeam mcp add ")).collect();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let words = shell_words(command);
        let words: Vec<&str> = words.iter().skip(2).map(String::as_str).collect();
        run(&scene, &words).succeeded();
    }
    assert_eq!(listed(&scene), expect);

    let blocks = |language: &str| {
        let start = format!("```{language}\n");
        let blocks = PAGE.split(start.as_str()).skip(1);
        blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let toml = blocks("toml");
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(&toml[..2].concat()));
    assert_eq!(listed(&scene), expect);
    for (number, file) in blocks("json").iter().enumerate() {
        for path in [".ibeam/mcp.json", ".mcp.json", ".cursor/mcp.json"] {
            let scene = Scene::new([]).with_workspace(Workspace::new().file(path, file));
            let rows = listed(&scene);
            assert_eq!(rows.len(), 2, "{number}: {rows:?}");
        }
        let scene = Scene::new([]);
        let rows = run(&scene, &["list", "--format", "json", "--mcp-config", file]).succeeded().json();
        assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    }
}

/// Splits a command of the page at spaces outside of single quotes.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}
