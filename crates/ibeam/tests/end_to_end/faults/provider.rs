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
        let ran = ibeam.args(["--output-format", format]).run();
        check_told(&ran, exit);
        assert!(format == "text" || ran.stdout.is_empty(), "json prints nothing; {ran}");
        check_ended(&journal(&scene, &only_session(&scene)), "failed", &ran);
    }
    let (scene, ibeam) = run();
    let ran = ibeam.run();
    check_told(&ran, exit);
    let stream = ran.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["exit_code"]), (&json!("error"), &json!(exit)), "{ran}");
    check_journaled(&scene, &ran);
    check_ended(&journal(&scene, stream.session_id()), "failed", &ran);
    ran
}

/// The same for answers on both wires; gives the run on the last.
#[track_caller]
fn fails_on_both(exit: i32, config: &str, answers: impl Fn() -> Vec<Answer>) -> ProgramOutput {
    let run = |wire| {
        fails(exit, || {
            let scene = Scene::on(wire, answers()).within(configured(config));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        })
    };
    WIRES.map(run).into_iter().next_back().unwrap()
}

/// A run that ends well all the same.
#[track_caller]
fn survives(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let ran = ibeam.run().succeeded();
    assert!(ran.stderr_lines("error: ").is_empty() && !ran.stderr.contains(KEY), "{ran}");
    let stream = ran.stream();
    assert_eq!(stream.last()["subtype"], "success", "{ran}");
    check_journaled(scene, &ran);
    check_ended(&journal(scene, stream.session_id()), "completed", &ran);
    ran
}

/// The same for answers on both wires; gives both runs with what they ran in.
#[track_caller]
fn survives_on_both(config: &str, answers: impl Fn() -> Vec<Answer>) -> [(Scene, ProgramOutput); 2] {
    WIRES.map(|wire| {
        let scene = Scene::on(wire, answers()).within(configured(config));
        let ran = survives(&scene, scene.print::<&str>([]));
        (scene, ran)
    })
}

/// One `error:` line, the exit code, no success, no key.
#[track_caller]
fn check_told(ran: &ProgramOutput, exit: i32) {
    assert_eq!(ran.code, Some(exit), "{ran}");
    assert_eq!(ran.stderr_lines("error: ").len(), 1, "{ran}");
    assert!(!ran.stdout.contains(r#""subtype":"success""#), "{ran}");
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran}");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
}

/// The journal ends with the end of the run.
#[track_caller]
fn check_ended(events: &[Value], how: &str, ran: &ProgramOutput) {
    let outcome = &events.last().unwrap()["kind"]["run_finished"]["outcome"];
    assert!(*outcome == how || outcome.get(how).is_some(), "{outcome}; {ran}");
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
fn retries(ran: &ProgramOutput) -> u64 {
    ran.stream().last()["ibeam"]["retries"].as_u64().unwrap_or(0)
}
