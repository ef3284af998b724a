//! `ibeam check`: its reports and its exit codes. The tests of `ibeam-wire` cover the rules.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, Stdin};
use serde_json::json;

const ES: &str = include_str!("../samples/es.ndjson");
const JA: &str = include_str!("../samples/ja.ndjson");

fn check(args: &[&str], stdin: &str) -> ProgramOutput {
    let scene = Scene::new([]);
    scene
        .ibeam_without_model([&["check"], args].concat())
        .stdin(Stdin::Piped(stdin.as_bytes().to_vec()))
        .run()
}

#[test]
fn the_output_of_a_run_keeps_the_contract_in_both_formats() {
    for format in ["stream-json", "json"] {
        let read = answer_call("t1", "read", &json!({ "path": "a" }));
        let scene = Scene::new([read, answer_text("né\u{2028}\u{9b}")]);
        let output = scene.print(["--output-format", format]).run().succeeded();
        std::fs::write(scene.workspace.path().join("printed"), &output.stdout).unwrap();
        let checked = scene.ibeam_without_model(["check", "printed"]).run().succeeded();
        assert!(checked.stdout.starts_with("`printed` keeps contract 1 ("), "{checked}");
        assert_eq!((checked.stdout.lines().count(), checked.stderr.as_str()), (1, ""));
    }
}

#[test]
fn a_failed_run_keeps_the_contract() {
    let refused = || Answer::error(401, "authentication_error", "no");
    let scene = Scene::new([refused(), refused()]);
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(20), "{output}");
    check(&["-"], &output.stdout).succeeded();
}

#[test]
fn an_error_object_keeps_the_contract_with_and_without_a_run() {
    let refused = || Answer::error(401, "authentication_error", "no");
    for (model, code) in [("anthropic/claude-sonnet-4-6", 20), ("nobody/nothing", 21)] {
        let scene = Scene::new([refused(), refused()]);
        let args = ["--output-format=json", "--error-format=json", "--error-file=failure", "--model", model];
        let output = scene.print(args).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(code), ""), "{output}");
        let object = output.stderr.lines().last().unwrap().to_owned() + "\n";
        let file = scene.ibeam_without_model(["check", "failure", "--json"]).run().succeeded().json();
        assert_eq!((&file["format"], &file["ours"]), (&json!("json"), &json!(true)));
        check(&[], &object).succeeded();
        let broken = check(&[], &object.replace("\"retryable\":false", "\"retryable\":true"));
        assert!(broken.stdout.contains(": exit-code-differs: "), "{broken}");
        let late = check(&[], &object.repeat(2));
        assert!(late.stdout.starts_with("-:2:1: late-output: "), "{late}");
    }
}

#[test]
fn a_published_sample_is_accepted_and_a_mistake_in_one_is_reported() {
    assert_eq!(check(&[], ES).succeeded().stdout, "`-` keeps contract 1 (events: 10, warnings: 0)\n");
    let mistake = check(&["-", "--lang", "fr"], JA).succeeded();
    assert_eq!(
        mistake.stdout,
        "-:10:106: result-differs: warning: `result` differs from the texts of the `assistant` events: it has 20 characters, \
         they have 26\n`-` respecte le contrat 1 (événements : 10, avertissements : 1)\n"
    );
}

#[test]
fn a_stream_that_breaks_the_contract_is_exit_65() {
    let cut: String = ES.lines().take(9).map(|line| format!("{line}\n")).collect();
    let output = check(&[], &cut);
    assert_eq!(output.code, Some(65), "{output}");
    assert_eq!(
        output.stdout,
        "-:10:1: no-end: the stream ends without `result` or `error`\n\
         `-` breaks contract 1 (events: 9, errors: 1, warnings: 0)\n"
    );
    assert_eq!(output.stderr, "");

    for args in [["--json", "-"].as_slice(), &["--format", "json"]] {
        let output = check(args, &cut);
        assert_eq!(output.code, Some(65), "{output}");
        assert_eq!(
            output.json(),
            json!({
                "file": "-",
                "contract": "1",
                "keeps": false,
                "format": "stream-json",
                "ours": false,
                "events": 9,
                "errors": 1,
                "warnings": 0,
                "findings": [{
                    "line": 10,
                    "column": 1,
                    "rule": "no-end",
                    "severity": "error",
                    "message": "the stream ends without `result` or `error`",
                }],
            })
        );
    }
}

#[test]
fn a_hundred_findings_are_printed_and_all_are_counted() {
    let output = check(&[], &"x\n".repeat(150));
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 102, "{output}");
    assert_eq!(lines[0], "-:1:1: not-json: not JSON: expected value");
    assert_eq!(lines[100], "further findings, not shown: 51");
    assert!(lines[101].contains("errors: 151"), "{output}");
}

#[test]
fn a_file_that_cannot_be_read_is_exit_66() {
    let scene = Scene::new([]);
    for path in ["none", "."] {
        let output = scene.ibeam_without_model(["check", path]).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(66), ""), "{output}");
        assert!(output.stderr.starts_with(&format!("error: cannot read `{path}`")), "{output}");
    }
}
