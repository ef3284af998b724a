//! Flags that a command does not use.

use ibeam_testkit::scene::Scene;
use serde_json::Value;

#[test]
fn a_flag_that_a_command_does_not_use_is_an_error_with_a_hint() {
    for args in [["trust", "list", "--model", "foo"], ["--model", "foo", "trust", "list"]] {
        let output = Scene::new([]).ibeam_without_model(args).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        let expected = "error: `ibeam trust list` does not use `--model`; leave it out\n\
                        hint: `ibeam trust list --help`";
        assert!(output.stderr.starts_with(expected), "{output}");
    }
}

#[test]
fn its_error_has_the_requested_language_and_format() {
    let args = ["sessions", "list", "--max-turns=3", "--lang", "es"];
    let output = Scene::new([]).ibeam_without_model(args).run();
    assert!(output.stderr.contains("`ibeam sessions list` no usa `--max-turns`; quítala"), "{output}");
    let output = Scene::new([]).ibeam_without_model(args).args(["--error-format", "json"]).run();
    let error: Value = serde_json::from_str(&output.stderr).unwrap();
    assert!(error["code"] == "usage" && error["exit_code"] == 2, "{output}");
}

#[test]
fn commands_of_the_cursor_cli_accept_its_flags() {
    for command in [&["create-chat"][..], &["models"], &["whoami", "--format", "json"], &["about"], &["ls"]] {
        let flags = ["--print", "--output-format", "json", "--force", "--trust", "--approve-mcps"];
        let scene = Scene::new([]);
        scene.ibeam(command).args(flags).args(["--mode", "plan", "--add-dir", "."]).run().succeeded();
    }
}
