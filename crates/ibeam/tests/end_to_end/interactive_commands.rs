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

#[test]
fn a_long_output_states_how_many_lines_are_left_out() {
    let scene = Scene::new([answer_text("One.\n")]);
    let running = start_lines(&scene);
    running.type_text("!seq 5000\n");
    running.wait_for_stdout("… 4800 more lines");
    running.type_text("begin\n");
    running.wait_for_stdout("One.");
    running.type_text("/exit\n");
    running.finish().succeeded();
    let sent = scene.server.requests()[0].transcript().join("\n");
    // The last 16 KiB begin within line 1724.
    assert!(sent.contains("Its output, without its first 1724 lines:\n1725\n1726\n"), "{sent}");
}

#[test]
fn a_command_ends_with_its_shell_and_leaves_what_it_started_running() {
    let scene = Scene::new([]);
    let running = start_lines(&scene);
    for (line, printed) in [
        ("!(sleep 1; yes | head -c 100000; touch written; sleep 200) & echo $! > pid; echo begun", "begun"),
        (
            "!while ! test -e written; do sleep 0.1; done; kill -0 $(cat pid) && echo alive$((40 + 2))",
            "alive42",
        ),
        ("!pkill -P $(cat pid); kill $(cat pid); echo ended$((40 + 2))", "ended42"),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    running.type_text("/exit\n");
    running.finish().succeeded();
}
