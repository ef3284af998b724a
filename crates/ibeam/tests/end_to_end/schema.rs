//! Compares the output of the program with the published schemas and types.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Workspace};
use jsonschema::Validator;
use serde_json::{Value, json};

static STREAM: LazyLock<Validator> =
    LazyLock::new(|| validator(include_str!("../../../../docs/schema/contract-1/stream-json.schema.json")));
static SEGMENTS: LazyLock<Validator> =
    LazyLock::new(|| validator(include_str!("../../../../docs/schema/contract-2/stream-json.schema.json")));

fn validator(schema: &str) -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap()
}

/// Asserts that each of these lines matches the published schema of contract 1.
#[track_caller]
pub(crate) fn check<'a>(lines: impl IntoIterator<Item = &'a Value>) {
    check_with(&STREAM, lines);
}

/// Asserts that each of these lines matches the published schema of contract 2.
#[track_caller]
pub(crate) fn check_two<'a>(lines: impl IntoIterator<Item = &'a Value>) {
    check_with(&SEGMENTS, lines);
}

#[track_caller]
fn check_with<'a>(schema: &Validator, lines: impl IntoIterator<Item = &'a Value>) {
    for line in lines {
        if let Err(error) = schema.validate(line) {
            panic!("{error} at `{}`: {line}", error.instance_path());
        }
    }
}

/// Returns a scene of a run with text, a read, failed calls, a refused call, invalid arguments and an unknown tool.
fn scene(end: impl IntoIterator<Item = Answer>) -> Scene {
    let workspace = Workspace::new().file("notes.txt", "alpha\n").user_config("approval = \"allowlist\"\n");
    let answers = [
        Answer::new().text("First I ").text("look.\n").call("t1", "read", &json!({ "path": "notes.txt" })),
        answer_call("t2", "read", &json!({ "path": "missing.txt" })),
        answer_call("t3", "read", &json!({ "path": 5 })),
        answer_call("t4", "shell", &json!({ "command": "make all" })),
        answer_call("t5", "weather", &json!({ "city": "Rome" })),
    ];
    Scene::new(answers.into_iter().chain(end)).with_workspace(workspace)
}

/// A program without a checkout of the repository gets the types of its version.
#[test]
fn the_program_prints_the_published_types() {
    let printed = |format: &str| {
        Scene::new([]).ibeam_without_model(["schema", "--format", format]).run().succeeded().stdout
    };
    assert_eq!(printed("ts"), std::fs::read_to_string(root().join("types/ibeam.d.ts")).unwrap());
    assert_eq!(printed("py"), std::fs::read_to_string(root().join("types/ibeam_events.py")).unwrap());
}

/// Returns the two refusals of a provider after which a run fails with exit code 20.
fn refusal() -> [Answer; 2] {
    let refused = || Answer::error(401, "authentication_error", "no");
    [refused(), refused()]
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_program_prints_the_published_schemas() {
    let scene = Scene::new([]);
    let published = |contract: &str, name: &str| {
        let path = format!("docs/schema/contract-{contract}/{name}.schema.json");
        std::fs::read_to_string(root().join(path)).unwrap()
    };
    for contract in ["1", "2"] {
        for name in ["text", "json", "stream-json", "error"] {
            let output = scene
                .ibeam_without_model(["schema", "--contract", contract, "--format", name])
                .run()
                .succeeded();
            assert_eq!(output.stdout, published(contract, name), "{contract} {name}");
        }
    }
    assert_eq!(scene.ibeam_without_model(["schema"]).run().succeeded().stdout, published("1", "stream-json"));
}

#[test]
fn a_successful_run_matches_the_schema() {
    check(&scene([answer_text("Done.")]).print::<&str>([]).run().succeeded().stream().events);
}

#[test]
fn a_failed_run_matches_the_schema_on_stdout_and_stderr() {
    let scene = scene(refusal());
    let output = scene.print(["--error-format", "json"]).run();
    assert_eq!(output.code, Some(20), "{output}");
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    check(&lines);
    let error: Value = serde_json::from_str(output.stderr.lines().last().unwrap()).unwrap();
    for schema in [
        include_str!("../../../../docs/schema/contract-1/error.schema.json"),
        include_str!("../../../../docs/schema/contract-1/json.schema.json"),
    ] {
        assert!(validator(schema).is_valid(&error), "{error}");
    }
}

#[test]
fn the_object_of_json_matches_the_schema() {
    let object = scene([answer_text("Done.")]).print(["--output-format", "json"]).run().succeeded().json();
    let schema = validator(include_str!("../../../../docs/schema/contract-1/json.schema.json"));
    assert!(schema.is_valid(&object), "{object}");
}

/// Checks the output of an example for a successful and for a failed run.
fn check_example(program: &str, example: &str) {
    if Command::new(program).arg("--version").output().is_err() {
        return eprintln!("SKIP: {program} is not installed to run types/examples/{example}");
    }
    let read = |end: Vec<Answer>, flags: &[&str]| {
        let scene = scene(end);
        let output = scene.print(flags).run();
        let path = scene.workspace.path().join("printed");
        std::fs::write(&path, &output.stdout).unwrap();
        (run_example(program, example, &path), output.code)
    };
    let segments = ["--contract=2", "--output-format=stream-json", "--stream-partial-output"];
    for flags in [&[][..], &segments[..2], &segments] {
        let (output, _) = read(vec![Answer::new().text("Do").text("ne.")], flags);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "First I look.\nDone.", "{flags:?}");
        let tools = "readToolCall\nreadToolCall\nreadToolCall\nshellToolCall\nfunction\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), tools);
    }

    let (output, code) = read(refusal().into(), &[]);
    assert_eq!((output.status.code(), code), (Some(20), Some(20)), "{output:?}");
}

fn run_example(program: &str, example: &str, stdin: &PathBuf) -> Output {
    Command::new(program)
        .arg(root().join("types/examples").join(example))
        .env("PYTHONPATH", root().join("types"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(std::fs::File::open(stdin).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

#[test]
fn the_example_in_javascript_reads_what_is_printed() {
    check_example("node", "reader.mjs");
}

#[test]
fn the_example_in_python_reads_what_is_printed() {
    check_example("python3", "reader.py");
}

#[test]
fn the_types_for_python_name_only_types_that_exist() {
    let script = "import sys, typing, ibeam_events as m\n\
        types = [c for c in vars(m).values() if typing.is_typeddict(c)]\n\
        [typing.get_type_hints(c, include_extras=True) for c in types]\n\
        assert len(types) > 50 and len(typing.get_args(m.StreamEvent)) == 8\n\
        required = m.InitEvent.__required_keys__\n\
        assert 'cwd' in required and 'tools' not in required, required\n";
    let Ok(output) = Command::new("python3")
        .args(["-c", script])
        .env("PYTHONPATH", root().join("types"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
    else {
        return eprintln!("SKIP: python3 is not installed types/ibeam_events.py");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_types_for_typescript_compile_in_strict_mode() {
    let types = root().join("types/ibeam.d.ts");
    let Ok(output) = Command::new("tsc").args(["--noEmit", "--strict"]).arg(types).output() else {
        return eprintln!("SKIP: tsc is not installed types/ibeam.d.ts");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
