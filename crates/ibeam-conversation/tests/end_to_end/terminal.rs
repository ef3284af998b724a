//! Runs on a terminal, in print mode and in interactive mode.

use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, journal};
use ibeam_testkit::{Answer, Stream, Workspace};
use serde_json::json;

/// The control character for the end of input on a terminal.
const END: &str = "\u{4}";

#[test]
fn printing_on_a_terminal_is_the_same_stream() {
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("done")]);
    let output = scene.print::<&str>([]).terminal().run().succeeded();
    assert!(!output.stdout.contains('\u{1b}'), "no colour, no cursor movement: {output}");
    let stream = Stream::check(&output.stdout.replace("\r\n", "\n")).unwrap();
    assert_eq!(stream.outline(), ["system", "user", "started ls", "completed ls", "text", "result"]);
}

#[test]
fn a_hint_follows_a_stream_that_a_person_has_not_asked_for() {
    let hint = |args: &[&str], script: &str| {
        let scene = Scene::new([answer_text("done")]);
        // The hint is on the same terminal, so the output is not checked as a stream, which begins at a line.
        let script = format!("{script}; printf x");
        let output = scene.print(args).terminal().after(&script).run().succeeded();
        output.stdout.contains("hint: this is the stream for programs")
    };
    assert!(hint(&[], "exec 2>&1"));
    assert!(!hint(&["--output-format", "stream-json"], "exec 2>&1"), "a program names the format");
    assert!(!hint(&["--output-format", "text"], "exec 2>&1"));
    assert!(!hint(&[], "exec 2>&1 </dev/null"), "a program feeds stdin");
}

#[test]
fn listings_are_wrapped_at_the_width_of_the_terminal_only() {
    let scene = Scene::new([]);
    for (args, start) in [
        (&["doctor"][..], "ok      sandbox: "),
        (&["providers"], "anthropic - "),
        (&["--lang", "ja", "help"], "ibeam"),
    ] {
        let columns = |text: &str| text.lines().map(unicode_width::UnicodeWidthStr::width).max();
        let narrow = scene.ibeam_without_model(args).terminal().after("stty cols 60").run().succeeded();
        let text = narrow.stdout.replace("\r\n", "\n");
        let words = |text: &str| text.split_whitespace().collect::<String>();
        // A path or a line of code may be longer than a line.
        let long: Vec<&str> =
            text.lines().filter(|line| unicode_width::UnicodeWidthStr::width(*line) > 60).collect();
        assert!(long.iter().all(|line| !line.trim().contains(". ")), "{long:?}");
        let piped = scene.ibeam_without_model(args).run().succeeded();
        assert_eq!(words(&text), words(&piped.stdout), "{args:?}");
        if start != "ibeam" {
            assert!(columns(&piped.stdout) > Some(60) && piped.stdout.contains(start), "{piped}");
            assert!(text.lines().count() > piped.stdout.lines().count(), "{text}");
        }
    }
}

#[test]
fn a_format_in_an_interactive_run_is_a_usage_error() {
    for format in ["text", "json", "stream-json"] {
        let scene = Scene::new([]);
        let output = scene.ibeam(["do it", "--output-format", format]).terminal().run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains("--print"), "{output}");
    }
}

#[test]
fn a_conversation_lasts_until_the_end_of_input() {
    let scene = Scene::new([answer_text("One it is.\n"), answer_text("Two it is.\n")])
        .with_workspace(Workspace::new());
    let running = scene.ibeam(["say one"]).terminal().start();
    running.wait_for_stdout("One it is.");
    running.type_text("say two\n");
    running.wait_for_stdout("Two it is.");
    running.type_text(END);
    running.finish().succeeded();
    let requests = scene.server.requests();
    assert_eq!(requests[1].transcript(), ["user: say one", "assistant: One it is.\n", "user: say two"]);
    let scene = scene.with_answers([answer_text("three")]);
    scene.print(["--continue"]).run().succeeded();
    // The last message before the prompt says that no person is there now.
    assert_eq!(scene.server.requests()[0].transcript().len(), 6, "all runs are in one session");
}

/// A journal that cannot be written ends any run, not only the first one.
#[test]
fn a_journal_that_fails_later_ends_the_conversation() {
    let long = (0..400).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(64)));
    let long = long.call("t", "shell", &json!({ "command": "sleep 60" }));
    let scene = Scene::new([answer_text("One it is.\n"), long]);
    let running = scene.ibeam(["say one", "--force"]).after("ulimit -f 64").terminal().start();
    running.wait_for_stdout("One it is.");
    running.type_text("say much\n");
    let output = running.finish();
    assert_eq!(output.code, Some(74), "{output}");
}

#[test]
fn a_person_may_allow_a_command() {
    for (answer, outcome) in
        [("y\n", "result hello"), ("n\n", "the user refused this call"), ("\n", "the user refused this call")]
    {
        let scene = Scene::new([answer_shell("echo hello"), answer_text("So be it.\n")]);
        let running = scene.ibeam(["greet", "--sandbox", "disabled"]).terminal().start();
        running.wait_for_stderr("allow `echo hello`?");
        running.type_text(answer);
        running.wait_for_stdout("So be it.");
        running.type_text(END);
        running.finish().succeeded();
        let transcript = scene.server.requests()[1].transcript().join("\n");
        assert!(transcript.contains(outcome), "{answer:?}: {transcript}");
    }
}

#[test]
fn a_change_that_a_person_has_allowed_is_printed_once() {
    for arguments in [
        json!({ "path": "f", "oldText": "old", "newText": "new" }),
        json!({ "path": "f", "fileText": "new\n" }),
    ] {
        let tool = if arguments["fileText"].is_null() { "edit" } else { "write" };
        let workspace = Workspace::new().file("f", "old\n");
        let scene = Scene::new([answer_call("t", tool, &arguments), answer_text("So be it.\n")])
            .with_workspace(workspace);
        let running = scene.ibeam(["begin", "--approval", "strict"]).terminal().start();
        running.wait_for_stderr("allow");
        running.type_text("y\n");
        running.wait_for_stdout("So be it.");
        running.type_text(END);
        let output = running.finish().succeeded();
        let printed = output.stdout.matches("+new").count() + output.stderr.matches("+new").count();
        assert_eq!(printed, 1, "{output}");
        assert_eq!(scene.workspace.read("f").as_deref(), Some("new\n"));
    }
}

#[test]
fn an_interrupt_ends_the_run_and_not_the_conversation() {
    let scene = Scene::new([
        answer_text("endless one ").stall(),
        answer_text("endless two ").stall(),
        answer_text("Back.\n"),
    ]);
    let running = scene.ibeam(["begin"]).terminal().start();
    for (endless, next) in [("endless one ", "more\n"), ("endless two ", "go on\n")] {
        running.wait_for_stdout(endless);
        running.signal(Signal::Int);
        running.wait_for_stderr("> ");
        running.type_text(next);
    }
    running.wait_for_stdout("Back.");
    running.type_text(END);
    let output = running.finish().succeeded();
    assert_eq!(output.stderr.matches("interrupted").count(), 2, "{output}");
}

#[test]
fn a_signal_to_end_the_program_ends_it_in_the_middle_of_a_conversation() {
    for (signal, exit) in [(Signal::Term, 143), (Signal::Hup, 129)] {
        let scene = Scene::new([answer_text("endless ").stall()]);
        let running = scene.ibeam(["begin"]).terminal().start();
        running.wait_for_stdout("endless ");
        running.signal(signal);
        let output = running.finish();
        assert_eq!(output.code, Some(exit), "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    }
}

#[test]
fn a_terminal_that_is_not_read_delays_neither_the_end_nor_the_journal() {
    let many = (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)));
    let scene = Scene::new([many, answer_text("never")]);
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let running = scene.ibeam(["--resume", &id, "begin"]).terminal().unread_stdout().start();
    scene.server.wait_for_requests(1);
    std::thread::sleep(Duration::from_millis(500));
    let before = Instant::now();
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    assert!(before.elapsed() < Duration::from_millis(3500), "{output}");
    let events = journal(&scene, &id);
    assert!(!events.last().unwrap()["kind"]["run_finished"].is_null(), "{} events; {output}", events.len());
}

/// A `y` that was typed before the question is not an answer to it.
#[test]
fn a_line_typed_before_a_question_is_not_its_answer() {
    let pause = Duration::from_millis(500);
    let scene = Scene::new([
        answer_shell("echo hello").pause(pause),
        answer_text("So be it.\n"),
        answer_text("Oh?\n"),
    ]);
    let running = scene.ibeam(["greet", "--sandbox", "disabled"]).terminal().start();
    scene.server.wait_for_requests(1);
    running.type_text("y\n");
    running.wait_for_stderr("allow `echo hello`?");
    running.type_text("\n");
    running.wait_for_stdout("Oh?");
    running.type_text(END);
    running.finish().succeeded();
    let requests = scene.server.requests();
    assert!(requests[1].transcript().join("\n").contains("the user refused this call"));
    assert_eq!(requests[2].transcript().last().map(String::as_str), Some("user: y"));
}

#[test]
fn an_interrupt_at_a_question_ends_the_run_and_the_next_line_is_a_prompt() {
    let scene = Scene::new([answer_shell("echo hello"), answer_text("Back.\n")]);
    let running = scene.ibeam(["greet", "--sandbox", "disabled"]).terminal().start();
    running.wait_for_stderr("allow `echo hello`?");
    let before = Instant::now();
    running.signal(Signal::Int);
    running.wait_for_stderr("interrupted");
    assert!(before.elapsed() < Duration::from_secs(2), "the wait for an answer has ended");
    running.type_text("go on\n");
    running.wait_for_stdout("Back.");
    running.type_text(END);
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains("Failed"), "a command that never ran did not fail: {output}");
    let transcript = scene.server.requests()[1].transcript();
    assert!(transcript.join("\n").contains("result not executed"), "{transcript:?}");
    assert_eq!(transcript.last().map(String::as_str), Some("user: go on"));
}

/// Joins stdout and stderr, as on the terminal of a user.
const ONE_SCREEN: &str = "exec 2>&1";

#[test]
fn the_answer_comes_before_the_warning_about_the_run() {
    for _ in 0..5 {
        let denied = answer_call("d", "write", &json!({ "path": "/outside.txt", "contents": "x" }));
        let scene = Scene::new([denied.text("I try."), answer_text("Tried.")]);
        let output = scene.print(["--output-format", "text"]).after(ONE_SCREEN).run().succeeded();
        let (answer, warning) = (output.stdout.find("Tried.\n"), output.stdout.find("warning: 1 tool call"));
        assert!(answer.is_some() && answer < warning, "{output}");
    }
}

#[test]
fn a_question_and_a_warning_start_on_new_lines() {
    let push = answer_text("I will push.").call("p", "shell", &json!({ "command": "echo hello" }));
    let scene = Scene::new([push, answer_text("So be it.")]);
    let running = scene.ibeam(["greet", "--sandbox", "disabled"]).after(ONE_SCREEN).terminal().start();
    running.wait_for_stdout("allow `echo hello`?");
    running.type_text("n\n");
    running.wait_for_stdout("So be it.");
    running.type_text(END);
    let screen = running.finish().succeeded().stdout.replace("\r\n", "\n");
    assert!(screen.contains("I will push.\nasked because"), "{screen}");
    assert!(screen.contains("So be it.\n> "), "the refusal is not reported again: {screen}");
}

#[test]
fn the_prompt_states_whether_a_person_answers() {
    let answers = || Scene::new([answer_text("Done.\n")]);
    let (chat, print) = (answers(), answers());
    let running = chat.ibeam(["begin"]).terminal().start();
    running.wait_for_stdout("Done.");
    running.type_text(END);
    running.finish().succeeded();
    print.print::<&str>([]).run().succeeded();
    let system = |scene: &Scene| scene.server.requests()[0].body.to_string();
    for (scene, has_person) in [(&chat, true), (&print, false)] {
        assert_eq!(system(scene).contains("A person is at the terminal"), has_person);
        assert_eq!(system(scene).contains("Nobody answers questions"), !has_person);
    }
}

#[test]
fn the_summary_of_a_run_states_that_no_file_changed_whatever_was_asked() {
    let stderr = |answer, prompt: &str, flags: &[&str]| {
        let scene = Scene::new([answer, answer_text("I fixed the test.")]);
        let args = [&["-p", prompt, "--sandbox", "disabled", "--force"], flags].concat();
        scene.ibeam(args).run().succeeded().stderr
    };
    let list = || answer_call("l", "ls", &json!({ "path": "." }));
    let write = answer_call("w", "write", &json!({ "path": "a.txt", "contents": "x" }));
    let summary = ["--output-format", "text", "--verbose"];
    for prompt in ["Fix the test", "Is the test right?"] {
        assert!(stderr(list(), prompt, &summary).contains("0 files changed\n"), "{prompt}");
        assert_eq!(stderr(list(), prompt, &[]), "", "{prompt}");
    }
    assert!(
        stderr(answer_shell("true"), "Fix the test", &summary)
            .contains("0 files changed by the file tools; what commands")
    );
    assert!(!stderr(write, "Fix the test", &summary).contains("0 files changed"));
}

/// Returns what a person sees of printed bytes: without control sequences.
fn without_control_sequences(bytes: &str) -> String {
    let mut text = String::new();
    let mut rest = bytes.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => drop(rest.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            '\r' => {}
            c => text.push(c),
        }
    }
    text
}

#[test]
fn the_inline_screen_shows_the_answer_and_asks_about_a_command() {
    let scene =
        Scene::new([answer_shell("echo hello"), answer_text("So **be** it.\n"), answer_text("Bye.\n")]);
    let arguments = ["greet", "--sandbox", "disabled"];
    let running = scene.ibeam(arguments).env("TERM", "xterm-256color").terminal().start();
    running.wait_for_stdout("Allow this?");
    // Keys that follow the question at once are not an answer.
    running.type_text("y");
    std::thread::sleep(Duration::from_millis(900));
    running.type_text("y");
    running.wait_for_stdout("be\u{1b}[0m it.");
    // The first `y` is in the input, and the rest of the message follows it.
    running.type_text("es\r");
    running.wait_for_stdout("Bye.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    let requests = scene.server.requests();
    assert!(requests[1].transcript().join("\n").contains("result hello"), "{output}");
    assert_eq!(requests[2].transcript().last().map(String::as_str), Some("user: yes"));
    let text = without_control_sequences(&output.stdout);
    assert_eq!(text.matches("❯ greet").count(), 1, "{text}");
    assert!(output.stdout.contains("\u{1b}[?2026h") && output.stdout.ends_with("\u{1b}[?25h"), "{output}");
}

#[test]
fn a_screen_reader_gets_lines_numbered_choices_and_a_bell() {
    let scene = Scene::new([answer_shell("echo hello"), answer_text("So be it.\n")]);
    let arguments = ["greet", "--sandbox", "disabled", "--screen-reader"];
    let running = scene.ibeam(arguments).env("TERM", "xterm-256color").terminal().start();
    running.wait_for_stderr("1 yes, once");
    running.type_text("1\n");
    running.wait_for_stderr("\u{7}");
    running.type_text(END);
    let output = running.finish().succeeded();
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\u{7}' | '\u{4}' | '\u{8}');
    assert!(!output.stdout.contains(is_control) && !output.stderr.contains(is_control), "{output}");
    assert!(scene.server.requests()[1].transcript().join("\n").contains("result hello"), "{output}");
}

/// Starts a conversation on the inline screen.
pub(crate) fn on_inline_screen(scene: &Scene, arguments: &[&str]) -> ibeam_testkit::RunningProgram {
    scene.ibeam(arguments).env("TERM", "xterm-256color").terminal().start()
}

#[test]
fn commands_of_the_inline_screen_use_the_session_that_is_open() {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "contents": "hello\n" }));
    let answers = [write, answer_text("Written.\n"), answer_text("Again.\n"), answer_text("New.\n")];
    let scene = ibeam_testkit::repository::repository(answers);
    let file = scene.workspace.path().join("new.txt");
    let running = on_inline_screen(&scene, &["write it", "--force"]);
    running.wait_for_stdout("Written.");
    running.type_text("/diff\r");
    running.wait_for_stdout("Changes");
    // The view of the change is closed.
    running.type_text("q/cost\r");
    running.wait_for_stdout("changed files: 1");
    running.type_text("/export page.html\r");
    running.wait_for_stdout("page.html");
    assert!(file.exists());
    running.type_text("/undo\r");
    running.wait_for_stdout("to take this back: /redo");
    assert!(!file.exists(), "the file is as before the turn");
    running.type_text("/redo\r");
    running.wait_for_stdout("the undo is taken back");
    assert!(file.exists(), "the change is back");
    running.type_text("/undo\r/mode plan\r");
    running.wait_for_stdout("mode: plan");
    // Another process cannot have the session; it names the command of the conversation.
    let held = scene.ibeam_without_model(["undo"]).run();
    assert_eq!(held.code, Some(75), "{held}");
    assert!(held.stderr.contains("`/undo` and `/redo`"), "{held}");
    running.type_text("/mode\r");
    running.wait_for_stdout("2 agent");
    running.type_text("\u{1b}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.type_text("/mode none\r");
    running.wait_for_stdout("use one of: agent, plan, ask");
    running.type_text("go on\r");
    running.wait_for_stdout("Again.");
    running.type_text("/new\r/compact\rbegin\r");
    running.wait_for_stdout("New.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    let requests = scene.server.requests();
    let resumed = requests[2].transcript();
    assert_eq!(resumed.first().map(String::as_str), Some("user: write it"), "{output}");
    assert!(resumed.last().is_some_and(|last| last.contains("ibeam undo")), "{resumed:?}");
    assert!(
        requests[2].body.to_string().contains("You are in plan mode"),
        "the mode is plan: {}",
        requests[2].body
    );
    assert_eq!(requests[3].transcript(), ["user: begin"], "{output}");
    assert!(std::fs::read_to_string(scene.workspace.path().join("page.html")).unwrap().contains("<html"));
}

#[test]
fn a_session_that_is_resumed_shows_its_conversation() {
    let scene = Scene::new([answer_text("First answer.\n"), answer_text("Second answer.\n")]);
    scene.print::<&str>([]).run().succeeded();
    let running = on_inline_screen(&scene, &[]);
    running.wait_for_stdout("/help");
    running.type_text("/resume ffffffff\r");
    running.wait_for_stdout("error: ");
    // The session that is open has no prompt, so it is not the last one.
    running.type_text("/resume -1\r");
    running.wait_for_stdout("First answer.");
    running.type_text("more\r");
    running.wait_for_stdout("Second answer.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    // The last message before the prompt says that a person is there now.
    assert_eq!(scene.server.requests()[1].transcript().len(), 4, "{output}");
}

#[test]
fn the_end_of_input_ends_a_running_turn_only_at_the_second_time() {
    let scene = Scene::new([answer_text("endless ").stall()]);
    let running = on_inline_screen(&scene, &["begin"]);
    running.wait_for_stdout("endless");
    running.type_text(END);
    running.wait_for_stdout("press Ctrl-D again");
    running.type_text(END);
    running.finish().succeeded();
}

#[test]
fn line_mode_offers_all_choices() {
    let commands = || [answer_shell("echo hello"), answer_shell("echo hello"), answer_text("So be it.\n")];
    let for_session = Scene::new(commands());
    let running = for_session.ibeam(["greet", "--sandbox", "disabled"]).terminal().start();
    running.wait_for_stderr("6 no, and tell the model why");
    running.type_text("2\n");
    running.wait_for_stdout("So be it.");
    running.type_text(END);
    let output = running.finish().succeeded();
    assert_eq!(output.stderr.matches("allow `echo hello`?").count(), 1, "{output}");
    let refused = Scene::new([answer_shell("echo hello"), answer_text("So be it.\n")]);
    let running = refused.ibeam(["greet", "--sandbox", "disabled"]).terminal().start();
    running.wait_for_stderr("6 no, and tell the model why");
    running.type_text("6\n");
    running.wait_for_stderr("Why not?");
    running.type_text("Use printf\n");
    running.wait_for_stdout("So be it.");
    running.type_text(END);
    running.finish().succeeded();
    let transcript = refused.server.requests()[1].transcript();
    assert_eq!(transcript.last().map(String::as_str), Some("user: Use printf"), "{transcript:?}");
}

#[test]
fn a_person_may_allow_a_file_outside_the_workspace() {
    for (answer, is_written) in [("1\n", true), ("\n", false)] {
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().canonicalize().unwrap().join("notes.txt");
        let write = answer_call("w", "write", &json!({ "path": file, "contents": "hello\n" }));
        let scene = Scene::new([write, answer_text("So be it.\n")]);
        let running = scene.ibeam(["note it", "--screen-reader"]).terminal().start();
        running.wait_for_stderr("+hello");
        running.wait_for_stderr("outside");
        running.wait_for_stderr("1 yes, once");
        running.type_text(answer);
        running.wait_for_stdout("So be it.");
        running.type_text(END);
        running.finish().succeeded();
        assert_eq!(file.exists(), is_written, "{:?}", scene.server.requests()[1].transcript());
    }
}

/// A conversation in which nothing was asked leaves no session that later commands would take for the last one.
#[test]
fn a_conversation_without_a_prompt_leaves_no_session() {
    for inline in [true, false] {
        let scene = Scene::new([answer_text("First answer.\n"), answer_text("Second answer.\n")]);
        scene.print::<&str>([]).run().succeeded();
        let running = match inline {
            true => on_inline_screen(&scene, &[]),
            false => scene.ibeam::<&str>([]).terminal().start(),
        };
        match inline {
            true => running.wait_for_stdout("/help"),
            false => running.wait_for_stderr("> "),
        }
        // While it is open, it is not the last one either.
        let listed = scene.ibeam_without_model(["diff"]).run();
        assert!(!listed.stderr.contains("held"), "{listed}");
        running.type_text("/mode plan\r");
        running.wait_for_stdout("mode: plan");
        running.type_text(END);
        running.finish().succeeded();
        scene.print(["--continue"]).run().succeeded();
        assert_eq!(scene.server.requests()[1].transcript().len(), 3, "the first session goes on");
        let sessions = std::fs::read_dir(scene.workspace.home().join(".local/share/ibeam/sessions")).unwrap();
        assert_eq!(sessions.count(), 1);
    }
}

#[test]
fn all_commands_exist_in_line_mode() {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "contents": "hello\n" }));
    let answers = [write, answer_text("Written.\n"), answer_text("Again.\n"), answer_text("New.\n")];
    let scene = ibeam_testkit::repository::repository(answers);
    let file = scene.workspace.path().join("new.txt");
    let directory = scene.workspace.home().join(".config/ibeam");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), "[permissions]\nask = [\"Write(new.txt)\"]\n").unwrap();
    let running = scene.ibeam(["write it", "--screen-reader"]).terminal().start();
    // What is approved is seen.
    running.wait_for_stderr("+hello");
    running.wait_for_stderr("1 yes, once");
    running.type_text("1\n");
    running.wait_for_stdout("Written.");
    for (line, printed) in [
        ("/help", "/undo"),
        ("/status", "mode: agent"),
        ("/cost", "changed files: 1"),
        ("/context", "token"),
        ("/permissions", "Write(new.txt)"),
        ("/skills", "no skills"),
        ("/export page.html", "page.html"),
        ("/export page.html", "choose another name"),
        ("/diff", "+hello"),
        ("/hlep", "did you mean `/help`?"),
        ("/mode none", "use one of: agent, plan, ask"),
        ("!echo out$((40 + 2))", "out42"),
        ("/undo", "to take this back: /redo"),
        ("/redo", "the undo is taken back"),
        ("/mode plan", "mode: plan"),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    assert!(file.exists());
    // An empty line keeps the mode.
    running.type_text("/mode\n");
    running.wait_for_stderr("2 agent");
    running.type_text("\n");
    running.type_text("go on\n");
    running.wait_for_stdout("Again.");
    running.type_text("/clear\nbegin\n");
    running.wait_for_stdout("New.");
    running.type_text("quit\n");
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'), "{output}");
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4, "no command went to the model");
    let sent = requests[2].transcript().join("\n");
    assert!(sent.contains("user: go on") && sent.contains("out42"), "{sent}");
    assert_eq!(requests[3].transcript(), ["user: begin"]);
}

#[test]
fn an_interrupt_ends_only_the_command_of_the_person_in_line_mode() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = scene.ibeam::<&str>([]).terminal().start();
    running.wait_for_stderr("> ");
    running.type_text("!touch started; sleep 600\n");
    let begun = Instant::now();
    while scene.workspace.read("started").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the command starts");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(Signal::Int);
    running.wait_for_stdout("interrupted");
    running.type_text("go on\n");
    running.wait_for_stdout("Done.");
    running.type_text(END);
    running.finish().succeeded();
}

#[test]
fn an_interrupt_at_the_prompt_of_line_mode_leaves_only_the_second_time() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = scene.ibeam::<&str>([]).terminal().start();
    running.wait_for_stderr("> ");
    running.signal(Signal::Int);
    running.wait_for_stderr("press Ctrl-C again to exit");
    running.type_text("a draft\\\n");
    running.wait_for_stderr("> . ");
    // The first interrupt discards the draft, so the second one is the first at an empty prompt.
    running.signal(Signal::Int);
    std::thread::sleep(Duration::from_millis(500));
    running.type_text("go on\n");
    running.wait_for_stdout("Done.");
    running.type_text("/status\n");
    running.wait_for_stdout("mode: agent");
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(500));
        running.signal(Signal::Int);
    }
    let output = running.finish().succeeded();
    assert!(!output.stderr.contains("error:"), "{output}");
    assert_eq!(output.stderr.matches("press Ctrl-C again to exit").count(), 2, "{output}");
    assert_eq!(scene.server.requests()[0].transcript(), ["user: go on"]);
}

#[test]
fn a_failed_call_states_its_reason_in_line_mode() {
    let failing = answer_shell("echo the cause; exit 3");
    let scene = Scene::new([failing, answer_text("So be it.\n")]);
    let running = scene.ibeam(["greet", "--force", "--sandbox", "disabled"]).terminal().start();
    running.wait_for_stdout("So be it.");
    running.type_text(END);
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("\n  the cause"), "{output}");
}
