//! The scripts and files of docs/fleet.md.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use ibeam_testkit::scene::{KEY, answer_call, answer_text};
use ibeam_testkit::{ModelServer, Workspace, program_path};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../../docs/fleet.md");

/// Returns the block of a page with this language that contains `word`.
fn block<'a>(page: &'a str, language: &str, word: &str) -> &'a str {
    let start = format!("```{language}\n");
    let mut blocks = page.split(start.as_str()).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(word)).unwrap_or_else(|| panic!("no {language} block has {word:?}"))
}

/// Runs a script of a page, which contains `word`, in `directory`, with a key and more `variables`. Each of its commands
/// has to succeed.
pub(crate) fn run_script(
    page: &str,
    word: &str,
    workspace: &Workspace,
    directory: &Path,
    variables: &[(&str, &str)],
) -> Output {
    let output = run_commands(block(page, "sh", word), workspace, directory, variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    output
}

fn run_commands(script: &str, workspace: &Workspace, directory: &Path, variables: &[(&str, &str)]) -> Output {
    let programs = workspace.outside().join("bin");
    fs::create_dir_all(&programs).unwrap();
    let link = programs.join("ibeam");
    if !link.exists() {
        std::os::unix::fs::symlink(program_path(), link).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command
        .args(["-e", "-c", script])
        .current_dir(directory)
        .env_clear()
        .env("PATH", path)
        .env("HOME", workspace.home())
        .env("LC_ALL", "C")
        .env("ANTHROPIC_API_KEY", KEY)
        .env("IBEAM_MODEL", "anthropic/claude-sonnet-4-5")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command.output().unwrap()
}

/// Returns a directory with a project, whose checks pass.
fn project() -> Workspace {
    Workspace::new()
        .file("project/README.md", "a typo\n")
        .file("project/Makefile", "test doc:\n\t@grep -q typo README.md\n")
}

fn outcomes(path: &Path) -> Vec<(String, String)> {
    let text = |result: &Value, key: &str| result[key].as_str().unwrap().to_owned();
    let lines = fs::read_to_string(path).unwrap();
    let results = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut outcomes: Vec<_> =
        results.map(|result| (text(&result, "id"), text(&result, "outcome"))).collect();
    outcomes.sort();
    outcomes
}

#[test]
fn the_first_fleet_of_the_page_passes() {
    let workspace = project();
    let server = ModelServer::start((0..2).map(|_| answer_text("done")));
    let root = workspace.path();
    fs::write(root.join("tasks.jsonl"), block(PAGE, "jsonl", "fix-typo")).unwrap();
    let url = server.url();
    let output = run_script(PAGE, "--jobs 8", &workspace, root, &[("ANTHROPIC_BASE_URL", url.as_str())]);
    let passed = |id: &str| (id.to_owned(), "passed".to_owned());
    assert_eq!(outcomes(&root.join("results.ndjson")), ["add-test", "fix-typo"].map(passed));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("passed: 2\n") && stdout.contains("100.0 %"), "{stdout}");
    run_script(PAGE, "all.ndjson", &workspace, root, &[]);
    assert_eq!(outcomes(&root.join("all.ndjson")), ["add-test", "fix-typo"].map(passed));
    let output = run_script(PAGE, "fleet show", &workspace, root, &[]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("state: passed\n") && stdout.contains("done"), "{stdout}");
    let output = run_script(PAGE, "--dry-run", &workspace, root, &[("ANTHROPIC_BASE_URL", url.as_str())]);
    assert_eq!(output.stdout, b"", "all have a result");
    server.assert_all_answers_sent();
}

#[test]
fn the_matrix_of_the_page_runs_each_prompt_with_each_model() {
    let workspace = project();
    let servers = [(); 2].map(|()| ModelServer::start((0..6).map(|_| answer_text("done"))));
    let urls = servers.each_ref().map(|server| server.url());
    let root = workspace.path();
    fs::write(root.join("matrix.json"), block(PAGE, "json", "\"prompts\"")).unwrap();
    let variables = [
        ("ANTHROPIC_BASE_URL", urls[0].as_str()),
        ("OPENAI_BASE_URL", urls[1].as_str()),
        ("OPENAI_API_KEY", KEY),
    ];
    run_script(PAGE, "--matrix", &workspace, root, &variables);
    let outcomes = outcomes(&root.join("results.ndjson"));
    assert_eq!(outcomes.len(), 12, "{outcomes:?}");
    assert!(outcomes.iter().all(|(_, outcome)| outcome == "passed"), "{outcomes:?}");
    assert!(outcomes.iter().any(|(id, _)| id == "docs.openai-gpt-6.2-sol.r3"), "{outcomes:?}");
    servers.iter().for_each(ModelServer::assert_all_answers_sent);
}

#[test]
fn the_page_compares_an_old_fleet_with_a_new_one() {
    let workspace = project();
    let server = ModelServer::start((0..2).map(|_| answer_text("done")));
    let (root, url) = (workspace.path(), server.url());
    let variables = [("ANTHROPIC_BASE_URL", url.as_str())];
    for (name, check) in [("old", "false"), ("new", "true")] {
        let task =
            format!("{{\"id\":\"a\",\"prompt\":\"p\",\"workspace\":\"project\",\"check\":\"{check}\"}}\n");
        fs::write(root.join("tasks.jsonl"), task).unwrap();
        let script = format!("ibeam fleet run tasks.jsonl --dir {name}.fleet || test $? = 1");
        let output = run_commands(&script, &workspace, root, &variables);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let output = run_script(PAGE, "old.fleet new.fleet", &workspace, root, &variables);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("a  failed (check_failed) -> passed\n"), "{stdout}");
    assert!(fs::read_to_string(root.join("report.html")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_task_of_the_page_starts_from_another_one_and_the_changes_become_branches() {
    let workspace = Workspace::new().file("project/main.py", "print 1\n");
    let write =
        |id: &str, text: &str| answer_call(id, "write", &json!({ "path": "main.py", "fileText": text }));
    let server = ModelServer::start([
        write("p", "print(1)\n"),
        answer_text("done"),
        write("t", "x: int = 1\nprint(x)\n"),
        answer_text("done"),
    ]);
    let (root, url) = (workspace.path(), server.url());
    let project = root.join("project");
    let git = |arguments: &[&str]| {
        let person = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        let output = Command::new("git").args(person).args(arguments).current_dir(&project).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    fs::write(root.join("tasks.jsonl"), block(PAGE, "jsonl", "\"from\"")).unwrap();
    let variables = [("ANTHROPIC_BASE_URL", url.as_str())];
    let output = run_commands("ibeam fleet run tasks.jsonl --force", &workspace, root, &variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    run_script(PAGE, "fleet apply", &workspace, root, &[]);
    assert_eq!(git(&["show", "fleet/types:main.py"]), "x: int = 1\nprint(x)\n");
    assert_eq!(fs::read_to_string(project.join("main.py")).unwrap(), "print(1)\n");
    server.assert_all_answers_sent();
}
