//! Faults of the model's side: what a server, a proxy or a network does.
//!
//! Every test looks at the exit code, at what is told of a failure, and at the journal: nothing that was printed is
//! missing there.

#[path = "provider/answers.rs"]
mod answers;
#[path = "provider/network.rs"]
mod network;
#[path = "provider/raw.rs"]
mod raw;
#[path = "provider/statuses.rs"]
mod statuses;
#[path = "provider/streams.rs"]
mod streams;
#[path = "provider/tls.rs"]
mod tls;

use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Workspace};
use serde_json::{Value, json};

use crate::scene::{KEY, Scene, WIRES, check_journaled, journal};

/// The usual attempts, without the usual waits.
const QUICK: &str = "[retry]\nfirst_pause = \"1ms\"\n";

/// A workspace with this configuration.
fn configured(config: &str) -> Workspace {
    Workspace::new().user_config(config)
}

/// A run that fails so, in every format; gives the one in `stream-json`.
#[track_caller]
fn fails(exit: i32, run: impl Fn() -> (Scene, Ibeam)) -> ProgramOutput {
    for format in ["json", "text"] {
        let (scene, ibeam) = run();
        let output = ibeam.args(["--output-format", format]).run();
        check_failure(&output, exit);
        assert!(format == "text" || output.stdout.is_empty(), "json prints nothing; {output}");
        check_ended(&journal(&scene, &only_session(&scene)), "failed", &output);
    }
    let (scene, ibeam) = run();
    let output = ibeam.run();
    check_failure(&output, exit);
    let stream = output.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["exit_code"]), (&json!("error"), &json!(exit)), "{output}");
    check_journaled(&scene, &output);
    check_ended(&journal(&scene, stream.session_id()), "failed", &output);
    output
}

/// The same for answers on both wires; gives the run on the last.
#[track_caller]
fn fails_on_both(exit: i32, config: &str, answers: impl Fn() -> Vec<Answer>) -> ProgramOutput {
    let run = |wire| {
        fails(exit, || {
            let scene = Scene::with_wire(wire, answers()).with_workspace(configured(config));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        })
    };
    WIRES.map(run).into_iter().next_back().unwrap()
}

/// A run that ends well all the same.
#[track_caller]
fn survives(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let output = ibeam.run().succeeded();
    assert!(output.stderr_lines("error: ").is_empty() && !output.stderr.contains(KEY), "{output}");
    let stream = output.stream();
    assert_eq!(stream.last()["subtype"], "success", "{output}");
    check_journaled(scene, &output);
    check_ended(&journal(scene, stream.session_id()), "completed", &output);
    output
}

/// The same for answers on both wires; gives both runs with what they ran in.
#[track_caller]
fn survives_on_both(config: &str, answers: impl Fn() -> Vec<Answer>) -> [(Scene, ProgramOutput); 2] {
    WIRES.map(|wire| {
        let scene = Scene::with_wire(wire, answers()).with_workspace(configured(config));
        let output = survives(&scene, scene.print::<&str>([]));
        (scene, output)
    })
}

/// One `error:` line, the exit code, no success, no key.
#[track_caller]
fn check_failure(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
}

/// The journal ends with the end of the run.
#[track_caller]
fn check_ended(events: &[Value], how: &str, output: &ProgramOutput) {
    let outcome = &events.last().unwrap()["kind"]["run_finished"]["outcome"];
    assert!(*outcome == how || outcome.get(how).is_some(), "{outcome}; {output}");
}

/// The only session there is.
#[track_caller]
fn only_session(scene: &Scene) -> String {
    let nobody = scene.workspace.journal("nobody");
    let sessions = nobody.parent().unwrap().parent().unwrap();
    let mut names = std::fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().file_name());
    let name = names.next().unwrap().into_string().unwrap();
    assert!(names.next().is_none(), "one session");
    name
}

/// How often the run asked again.
fn retries(output: &ProgramOutput) -> u64 {
    output.stream().last()["ibeam"]["retries"].as_u64().unwrap_or(0)
}
