//! The debug log of `--debug FILE`, and its part of `ibeam report`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{KEY, Scene, answer_shell, answer_text};
use serde_json::Value;

/// Returns the values of the lines with this key.
fn select_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter_map(|line| line.get(kind)).collect()
}

#[test]
fn a_debug_log_has_requests_answers_decisions_and_times_without_keys() {
    let scene = Scene::new([answer_shell("echo hello-from-command"), answer_text("all done")])
        .with_workspace(Workspace::new());
    let path = scene.workspace.outside().join("debug.jsonl");
    let file = path.to_str().unwrap();
    let prompt = format!("do it, my key is {KEY}");
    scene.ibeam(["-p", &prompt, "--force", "--debug", file]).run().succeeded();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(KEY), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times: Vec<u64> = lines.iter().map(|line| line["ms"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(select_kind(&lines, "start")[0]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(select_kind(&lines, "step"), ["sandbox ready", "MCP servers started", "session open"]);
    let exchanges = select_kind(&lines, "exchange");
    assert_eq!(exchanges.len(), 2, "{text}");
    assert!(exchanges[0]["request"].to_string().contains("do it, my key is"), "{}", exchanges[0]);
    assert!(exchanges[1]["request"].to_string().contains("hello-from-command"), "{}", exchanges[1]);
    assert_eq!(exchanges[1]["response"]["status"], 200);
    assert!(exchanges[1]["response"]["chunks"][0]["at_ms"].is_u64(), "{}", exchanges[1]);
    let kinds = select_kind(&lines, "event");
    let decision = kinds.iter().find_map(|event| event["kind"].get("permission_decided")).unwrap();
    assert_eq!((&decision["allowed"], &decision["rule"]), (&Value::from(true), &Value::from("--force")));
    assert!(kinds.last().unwrap()["kind"]["run_finished"].is_object(), "{text}");
    assert!(kinds.iter().all(|event| event["kind"].get("text_delta").is_none()), "{text}");

    let report = scene.workspace.outside().join("report.txt");
    let listed = scene.ibeam(["report", report.to_str().unwrap(), "--no-session", "--log", file]).run();
    assert!(listed.succeeded().stdout.contains("\ndebug log: "));
    let report = fs::read_to_string(report).unwrap();
    assert!(report.contains("## debug log\n\n{") && report.contains("\"exchange\""), "{report}");
}

#[test]
fn a_debug_log_names_the_failure_that_ended_the_program_also_before_a_run() {
    let scene = Scene::new([]).with_workspace(Workspace::new());
    let path = scene.workspace.outside().join("debug.jsonl");
    let file = path.to_str().unwrap();
    let failed = scene.ibeam(["-p", "x", "--lang", "en", "--resume", "ffffffff", "--debug", file]).run();
    assert_ne!(failed.code, Some(0), "{failed}");
    let text = fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(failed.stderr.contains(last["failure"].as_str().unwrap()), "{text}\n{failed}");
    let missing = scene.workspace.missing().join("debug.jsonl");
    let impossible = scene.ibeam(["-p", "x", "--debug", missing.to_str().unwrap()]).run();
    assert_eq!(impossible.code, Some(73), "{impossible}");
    let config = scene.workspace.home().join(".config/ibeam/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "model = [\n").unwrap();
    let failed = scene.ibeam(["-p", "x", "--lang", "en", "--debug", file]).run();
    assert_eq!(failed.code, Some(78), "{failed}");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(failed.stderr.contains(lines[1]["failure"].as_str().unwrap()), "{text}\n{failed}");
}

#[test]
fn a_debug_log_and_recordings_can_be_written_together_and_change_no_request() {
    let scene = |args: &[&str]| {
        let scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new());
        let outside = scene.workspace.outside();
        let args = args.iter().map(|arg| arg.replace("OUT", outside.to_str().unwrap()));
        scene.ibeam(["-p", "do it"].into_iter().map(str::to_owned).chain(args)).run().succeeded();
        scene
    };
    let logged = scene(&["--debug", "OUT/log", "--record", "OUT/recordings"]);
    let recording = fs::read_to_string(logged.workspace.outside().join("recordings/000001.json")).unwrap();
    let recording: Value = serde_json::from_str(&recording).unwrap();
    let log = fs::read_to_string(logged.workspace.outside().join("log")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(select_kind(&lines, "exchange"), [&recording]);
}
