//! `--from-plan`: the plan of one session is the start of another.

use ibeam_testkit::Stdin;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text};

const PLAN: &str = "1. Rename the crate.\n2. Run the tests.";

/// Returns a scene with a session in plan mode, and the id of the session.
fn planned(mode: &str) -> (Scene, String) {
    let scene = Scene::new([answer_shell("touch x"), answer_text(PLAN)]);
    let output = scene.ibeam(["-p", "plan it", "--mode", mode]).run().succeeded();
    let id = output.stream().session_id().to_owned();
    (scene, id)
}

#[test]
fn a_plan_is_the_start_of_a_new_session() {
    let (mut scene, id) = planned("plan");
    let block = format!("The plan at the end of session {id}:\n\n{PLAN}");
    for (args, expect) in [
        (vec!["-p", "--from-plan", &id], "Carry out this plan."),
        (vec!["-p", "only step 1", "--from-plan", &id], "only step 1"),
    ] {
        scene = scene.with_answers([answer_text("done")]);
        let output = scene.ibeam(&args).run().succeeded();
        let stream = output.stream();
        assert_ne!(stream.session_id(), id);
        assert_eq!(stream.init()["permissionMode"], "default");
        assert_eq!(stream.prompt(), [expect, &block]);
        let sent = scene.server.requests()[0].transcript();
        assert!(sent.iter().any(|line| line.contains("Run the tests.")), "{sent:?}");
        assert!(!sent.iter().any(|line| line.contains("plan it")), "only the plan is handed over: {sent:?}");
    }
}

#[test]
fn the_newest_session_is_named_by_its_position_and_piped_text_follows_the_plan() {
    let (scene, id) = planned("ask");
    let scene = scene.with_answers([answer_text("done")]);
    let output = scene
        .ibeam(["-p", "go", "--from-plan", "-1"])
        .stdin(Stdin::Piped(b"context".to_vec()))
        .run()
        .succeeded();
    let block = format!("The answer at the end of session {id}:\n\n{PLAN}");
    assert_eq!(output.stream().prompt(), ["go", &block, "context"]);
}

#[test]
fn a_session_without_a_plan_is_an_error_that_names_the_session() {
    let scene = Scene::new([answer_text("done")]);
    let id = scene.ibeam(["-p", "do it"]).run().succeeded().stream().session_id().to_owned();
    let output = scene.ibeam(["-p", "--from-plan", &id]).run();
    assert_eq!(output.code, Some(66), "{output}");
    assert!(output.stderr.contains(&id) && output.stderr.contains("--mode plan"), "{output}");
}

#[test]
fn a_plan_that_cannot_be_handed_over_is_an_error() {
    let (scene, id) = planned("plan");
    let unknown = "0f0e0d0c-0b0a-4908-8706-050403020100";
    for (args, code, part) in [
        (vec!["-p", "x", "--from-plan", unknown], 66, unknown),
        (vec!["-p", "x", "--from-plan", "nothing"], 66, "nothing"),
        (vec!["-p", "x", "--from-plan", &id, "--continue"], 2, "--from-plan"),
        (vec!["-p", "x", "--from-plan", &id, "--resume", &id], 2, "--from-plan"),
        (vec!["-p", "x", "--from-plan", ""], 2, "--from-plan"),
        (vec!["-p", "--from-plan", &id, "--input-format", "stream-json"], 2, "--from-plan"),
    ] {
        let output = scene.ibeam(&args).run();
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
        assert!(output.stderr.contains(part), "{args:?}: {output}");
    }
    assert_eq!(scene.server.requests().len(), 2, "no further request was sent");
}
