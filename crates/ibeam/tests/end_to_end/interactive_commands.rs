//! The `/` commands and `!COMMAND` of a conversation, with unusual arguments and at unusual times.

use ibeam_testkit::RunningProgram;

use crate::scene::{Scene, answer_text};

/// Starts a conversation with whole lines only, and waits until it reads one.
#[track_caller]
fn start_lines(scene: &Scene) -> RunningProgram {
    let running = scene.ibeam(["--screen-reader"]).terminal().start();
    running.wait_for_stderr("> ");
    running
}

#[test]
fn the_output_of_a_command_belongs_to_the_session_in_which_it_ran() {
    let scene = Scene::new(["One.\n", "Two.\n"].map(answer_text));
    let running = start_lines(&scene);
    for (line, printed) in [
        ("!echo kept$((40 + 2))", "kept42"),
        // The same session, opened again.
        ("/mode plan", "mode: plan"),
        ("begin", "One."),
        ("!echo left$((40 + 2))", "left42"),
        ("/compact", "shortened"),
        ("/new", "session: "),
        ("again", "Two."),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    running.type_text("/exit\n");
    running.finish().succeeded();
    let requests = scene.server.requests();
    assert!(requests[0].transcript().join("\n").contains("kept42"), "{:?}", requests[0].transcript());
    assert_eq!(requests[1].transcript(), ["user: again"]);
}
