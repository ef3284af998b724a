//! The `/` commands and `!COMMAND` of a conversation, with unusual arguments and at unusual times.

use std::thread::sleep;
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, RunningProgram};
use serde_json::json;

/// Longer than the time after which a key can answer a question.
const PAUSE: Duration = Duration::from_millis(800);

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
    // More than is kept.
    running.type_text("!seq 1000000\n");
    running.wait_for_stdout("… 999800 more lines");
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

#[test]
fn commands_with_nothing_to_do_say_so_in_plain_words() {
    let scene = Scene::new(
        ["One.\n", "A summary that is longer than the conversation.\n", "Two.\n"].map(answer_text),
    );
    let running = start_lines(&scene);
    for (line, printed) in [
        ("/resume", "no other session is stored yet"),
        ("/undo", "nothing to undo: no turn of this session has changed files"),
        ("/redo", "nothing to redo"),
        ("/compact", "nothing to compact yet"),
        ("begin", "One."),
        ("/undo", "nothing to undo: no turn of this session has changed files"),
        ("/redo", "nothing to redo"),
        ("/undo x", "`x` is not the number of a turn"),
        ("/diff x", "`x` is not the number of a turn"),
        ("/redo 1", "`/redo` takes nothing after it"),
        ("/undo --force", "nothing to undo"),
        ("/new begin", "`/new` takes nothing after it"),
        ("/exit now", "`/exit` takes nothing after it"),
        ("/compact", "before the next request"),
        ("go on", "Two."),
        ("/context", "  Conversation"),
        ("/context", "tool web_fetch"),
        ("/status", "mode: agent"),
        ("/mode ask", "mode: ask"),
        ("/context", "    changes"),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    running.type_text("/exit\n");
    let output = running.finish().succeeded();
    assert!(output.stderr.contains("a summary would not be shorter"), "{output}");
    assert!(!output.stdout.contains("ibeam undo") && !output.stderr.contains("error: "), "{output}");
    assert_eq!(scene.server.requests().len(), 3, "no command went to the model");
}

#[test]
fn a_model_is_chosen_from_a_list_and_unknown_names_are_warned_of() {
    let scene = Scene::new([]);
    let running = start_lines(&scene);
    running.type_text("/model nothing-like-it\n");
    running.wait_for_stderr("hint: name it with `/model PROVIDER/NAME`");
    running.type_text("/model two words\n");
    running.wait_for_stderr("the name of a model has no spaces");
    for (line, printed) in [
        ("/model anthropic/nothing-like-it", "is not in the table of known models; `/model` lists"),
        ("/model anthropic/claude-sonet-4-5", "did you mean `claude-sonnet-4-5`?"),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    // The current model is the first one.
    running.type_text("/model\n");
    running.wait_for_stderr("1 ");
    running.type_text("\n/exit\n");
    running.finish().succeeded();
}

#[test]
fn a_command_that_times_out_is_reported_without_the_words_of_the_model() {
    for screen in ["dumb", "xterm-256color"] {
        let arguments = json!({ "command": "echo begun; sleep 60", "timeout": 1000 });
        let scene = Scene::new([answer_call("t", "shell", &arguments), answer_text("Done.\n")]);
        let running = scene.ibeam(["begin"]).env("TERM", screen).terminal().start();
        running.wait_for_stdout("Timed out after 1 s");
        running.wait_for_stdout("Done.");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        assert!(output.stdout.contains("begun") && !output.stdout.contains("isBackground"), "{output}");
        let sent = scene.server.requests()[1].transcript().join("\n");
        assert!(sent.contains("isBackground"), "the model can set it: {sent}");
    }
}

#[test]
fn a_command_in_the_background_is_shown_as_one() {
    let arguments = json!({ "command": "echo begun; sleep 60", "isBackground": true });
    let scene = Scene::new([answer_call("t", "shell", &arguments), answer_text("Done.\n")]);
    let running = start_lines(&scene);
    running.type_text("begin\n");
    running.wait_for_stdout("Started background command: echo begun; sleep 60");
    running.wait_for_stdout("Done.");
    running.type_text("/exit\n");
    let output = running.finish().succeeded();
    assert!(!format!("{output}").contains("isBackground"), "{output}");
}

#[test]
fn the_question_about_a_command_names_the_background() {
    for screen in ["dumb", "xterm-256color"] {
        let call = answer_call("t", "shell", &json!({ "command": "sleep 60", "isBackground": true }));
        let scene = Scene::new([call, answer_text("So be it.\n")]);
        let ibeam = scene.ibeam(["begin", "--sandbox", "disabled"]).env("TERM", screen);
        let running = ibeam.terminal().start();
        for text in ["in the background: it may keep running", "no, and tell the model why"] {
            if screen == "dumb" { running.wait_for_stderr(text) } else { running.wait_for_stdout(text) }
        }
        sleep(PAUSE);
        running.type_text("n\r");
        running.wait_for_stdout("Not allowed to start background command");
        running.wait_for_stdout("So be it.");
        running.type_text("/exit\r");
        running.finish().succeeded();
    }
}

#[test]
fn an_answer_that_lasts_covers_only_the_file_of_the_question() {
    let outside = tempfile::tempdir().unwrap();
    let file = |name: &str| outside.path().canonicalize().unwrap().join(name);
    let write = |id: &str, name: &str| {
        answer_call(id, "write", &json!({ "path": file(name), "contents": format!("{name}\n") }))
    };
    let scene = Scene::new([write("a", "one"), write("b", "two"), answer_text("So be it.\n")]);
    let running = scene.ibeam(["note it", "--screen-reader"]).terminal().start();
    running.wait_for_stderr("+one");
    running.wait_for_stderr("6 no, and tell the model why");
    running.type_text("2\n");
    running.wait_for_stderr("+two");
    running.type_text("n\n");
    running.wait_for_stdout("So be it.");
    running.type_text("/exit\n");
    running.finish().succeeded();
    assert!(file("one").exists() && !file("two").exists());
}

#[test]
fn a_write_outside_the_workspace_into_no_directory_is_not_asked_about() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().canonicalize().unwrap().join("none/notes.txt");
    let write = answer_call("w", "write", &json!({ "path": file, "contents": "hello\n" }));
    let scene = Scene::new([write, answer_text("So be it.\n")]);
    let running = start_lines(&scene);
    running.type_text("note it\n");
    running.wait_for_stdout("So be it.");
    running.type_text("/exit\n");
    let output = running.finish().succeeded();
    let sent = scene.server.requests()[1].transcript().join("\n");
    assert!(sent.contains("is in a directory that does not exist"), "{sent} {output}");
}

#[test]
fn an_unused_session_is_not_exported() {
    let scene = Scene::new([]);
    let running = start_lines(&scene);
    running.type_text("/export page.html\n");
    running.wait_for_stdout("no conversation is stored yet");
    running.type_text("/exit\n");
    running.finish().succeeded();
    assert!(!scene.workspace.path().join("page.html").exists());
}

#[test]
fn the_past_of_a_session_shows_how_its_turns_failed() {
    let failed = Answer::error(400, "invalid_request_error", "the request has a fault");
    let scene = Scene::new([answer_text("endless ").stall(), failed, answer_text("Fine.\n")]);
    let running = scene.ibeam([""; 0]).env("TERM", "dumb").terminal().start();
    running.wait_for_stderr("> ");
    running.type_text("first\n");
    running.wait_for_stdout("endless");
    running.signal(Signal::Int);
    running.wait_for_stderr("interrupted");
    running.type_text("second\n");
    running.wait_for_stderr("the request has a fault");
    running.type_text("/transcript\n");
    running.wait_for_stdout("interrupted");
    running.wait_for_stdout("error: ");
    running.wait_for_stdout("the request has a fault");
    running.type_text("third\n");
    running.wait_for_stdout("Fine.");
    running.type_text("/exit\n");
    running.finish().succeeded();
}

#[test]
fn the_status_of_the_sandbox_is_in_the_language_of_the_person() {
    let scene = Scene::new([]);
    let running = scene.ibeam(["--screen-reader", "--lang", "es"]).terminal().start();
    running.wait_for_stderr("> ");
    running.type_text("/status\n");
    running.wait_for_stdout("los comandos no llegan a ninguna red");
    running.type_text("/exit\n");
    running.finish().succeeded();
}

#[test]
fn the_level_of_reasoning_can_return_to_the_default() {
    let scene = Scene::new([]);
    let running = start_lines(&scene);
    for (line, printed) in [("/effort low", "effort: low"), ("/effort default", "effort: default")] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    running.type_text("/exit\n");
    running.finish().succeeded();
}
