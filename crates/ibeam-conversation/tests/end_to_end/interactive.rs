//! Keys on the inline screen, as a person types them on a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Ibeam, RunningProgram, Workspace};
use serde_json::json;

const ESCAPE: &str = "\u{1b}";
const EXTERNAL_EDITOR: &str = "\u{7}";

/// Returns a run on a terminal that can move the cursor, and waits until it reads keys.
#[track_caller]
fn start_inline(ibeam: Ibeam, welcome: &str) -> RunningProgram {
    let running = ibeam.env("TERM", "xterm-256color").terminal().start();
    running.wait_for_stdout(welcome);
    running
}

/// Returns the last message of the user in the request with this number.
fn last_message(scene: &Scene, request: usize) -> String {
    scene.server.requests()[request].transcript().last().cloned().unwrap_or_default()
}

#[test]
fn escape_ends_a_turn_although_a_completion_is_open() {
    let scene = Scene::new([answer_text("endless ").stall(), answer_text("Back.\n")]);
    let running = start_inline(scene.ibeam(["begin"]), "endless");
    running.type_text("/st");
    running.wait_for_stdout("session, model, sandbox");
    running.type_text(ESCAPE);
    running.wait_for_stdout("interrupted");
    // What was typed is still in the input.
    running.type_text("\u{15}go on\r");
    running.wait_for_stdout("Back.");
    running.type_text("/exit\r");
    running.finish().succeeded();
    assert_eq!(last_message(&scene, 1), "user: go on");
}

#[test]
fn an_edit_that_does_not_fit_fails_without_a_question() {
    let workspace = Workspace::new().file("f", "a\nb\nb\n");
    let edit = |path: &str, old: &str| {
        answer_call("t", "edit", &json!({ "path": path, "oldText": old, "newText": "c" }))
    };
    let scene = Scene::new([edit("f", "x"), edit("f", "b"), edit("gone", "a"), answer_text("So be it.\n")])
        .with_workspace(workspace);
    let running = start_inline(scene.ibeam(["begin", "--approval", "strict"]), "So be it.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains("Allow this?"), "{output}");
    for (request, reason) in [(1, "does not contain"), (2, "2 times"), (3, "does not exist")] {
        let transcript = scene.server.requests()[request].transcript();
        assert!(transcript.last().unwrap().contains(reason), "{transcript:?}");
    }
    assert_eq!(scene.workspace.read("f").as_deref(), Some("a\nb\nb\n"));
}

#[test]
fn a_change_is_printed_once_and_a_file_that_changes_after_the_question_is_not_overwritten() {
    for changes_meanwhile in [false, true] {
        let workspace = Workspace::new().file("f", "one\nold\n");
        let arguments = json!({ "path": "f", "oldText": "old", "newText": "new" });
        let scene = Scene::new([answer_call("t", "edit", &arguments), answer_text("So be it.\n")])
            .with_workspace(workspace);
        let running = start_inline(scene.ibeam(["begin", "--approval", "strict"]), "Allow this?");
        if changes_meanwhile {
            fs::write(scene.workspace.path().join("f"), "other\n").unwrap();
        }
        // Keys that arrive with the question are not an answer.
        std::thread::sleep(std::time::Duration::from_millis(900));
        running.type_text("y");
        running.wait_for_stdout("So be it.");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        assert_eq!(output.stdout.matches("+new").count(), 1, "{output}");
        let expect = if changes_meanwhile { "other\n" } else { "one\nnew\n" };
        assert_eq!(scene.workspace.read("f").as_deref(), Some(expect), "{output}");
    }
}

#[test]
fn an_interrupted_command_is_reported_as_that() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = start_inline(scene.ibeam::<&str>([]), "/help");
    running.type_text("!echo begun; sleep 60\r");
    running.wait_for_stdout("○ \u{1b}[0m\u{1b}[2m! echo begun; sleep 60 · 1 s");
    running.wait_for_stdout("Esc interrupts · Enter queues");
    running.type_text(ESCAPE);
    running.wait_for_stdout("interrupted");
    running.type_text("!kill -9 $$\r");
    running.wait_for_stdout("SIGKILL");
    running.type_text("go on\r");
    running.wait_for_stdout("Done.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains("exit code"), "{output}");
    let transcript = scene.server.requests()[0].transcript().join("\n");
    assert!(transcript.contains("interrupted by the user") && transcript.contains("begun"), "{transcript}");
    assert!(transcript.contains("ended by SIGKILL"), "{transcript}");
}

#[test]
fn commands_are_echoed_before_their_output() {
    let scene = Scene::new([]);
    let running = start_inline(scene.ibeam::<&str>([]), "/help");
    for typed in ["/status", "/nothing-like-it"] {
        running.type_text(&format!("{typed}\r"));
        running.wait_for_stdout(&format!("\u{1b}[2m❯ {typed}\u{1b}[0m"));
    }
    running.type_text("/exit\r");
    running.finish().succeeded();
}

#[test]
fn a_mistyped_command_does_not_go_to_the_model() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = start_inline(scene.ibeam::<&str>([]), "/help");
    for (typed, printed) in [
        ("/statsu", "did you mean `/status`?"),
        ("/nothing-like-it", "`/help` lists the commands"),
        // A service may have models that are not known here.
        ("/model anthropic/claude-sonet-4-5", "`claude-sonnet-4-5`?"),
        ("?", "/transcript"),
    ] {
        running.type_text(&format!("{typed}\r"));
        running.wait_for_stdout(printed);
    }
    // The path of a directory is a prompt.
    running.type_text("/tmp has what?\r");
    running.wait_for_stdout("Done.");
    running.type_text("exit\r");
    running.finish().succeeded();
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn an_interrupt_returns_messages_that_wait_to_the_input() {
    let scene = Scene::new([answer_text("endless ").stall(), answer_text("Back.\n")]);
    let running = start_inline(scene.ibeam(["begin"]), "endless");
    running.type_text("later\t");
    running.wait_for_stdout("next: later");
    running.type_text(ESCAPE);
    running.wait_for_stdout("interrupted");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(scene.server.requests().len(), 1, "the message waits in the input");
    running.type_text("!\r");
    running.wait_for_stdout("Back.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains("SIGINT") && !output.stdout.contains("--continue"), "{output}");
    assert_eq!(last_message(&scene, 1), "user: later!");
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = start_inline(scene.ibeam::<&str>([]), "/help");
    running.type_text("\u{1b}[200~Traceback:\n  line 1\n  日本語\u{1b}[201~");
    running.type_text("\r");
    running.wait_for_stdout("Done.");
    running.type_text("/exit\r");
    running.finish().succeeded();
    assert_eq!(scene.server.requests().len(), 1);
    assert_eq!(last_message(&scene, 0), "user: Traceback:\n  line 1\n  日本語");
}

#[test]
fn an_external_editor_that_fails_is_named_and_leaves_the_input() {
    for (editor, cause) in [("/nowhere/editor", "no such file"), ("false", "exit code 1")] {
        let scene = Scene::new([answer_text("Read.\n")]);
        let ibeam = scene.ibeam::<&str>([]).env_remove("VISUAL").env("EDITOR", editor);
        let running = ibeam.env("TERM", "xterm-256color").terminal().start();
        running.wait_for_stdout("/help");
        running.type_text("draft");
        running.wait_for_stdout("draft");
        running.type_text(EXTERNAL_EDITOR);
        running.wait_for_stdout(&format!("the editor `{editor}` failed"));
        running.type_text("ed\r");
        running.wait_for_stdout("Read.");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        assert!(output.stdout.to_lowercase().contains(cause), "{output}");
        assert!(scene.server.requests()[0].transcript().join("").contains("drafted"));
    }
}

#[test]
fn the_external_editor_edits_the_input() {
    let workspace = Workspace::new();
    let editor = workspace.path().join("edit.sh");
    fs::write(&editor, "#!/bin/sh\nprintf ' changed' >> \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let scene = Scene::new([answer_text("Done.\n")]).with_workspace(workspace);
    let ibeam = scene.ibeam::<&str>([]).env_remove("VISUAL").env("EDITOR", &editor);
    let running = start_inline(ibeam, "/help");
    running.type_text("draft");
    running.wait_for_stdout("draft");
    running.type_text(EXTERNAL_EDITOR);
    running.wait_for_stdout("draft changed");
    running.type_text("\r");
    running.wait_for_stdout("Done.");
    running.type_text("/exit\r");
    running.finish().succeeded();
    assert_eq!(last_message(&scene, 0), "user: draft changed");
}

#[test]
fn the_screen_is_in_japanese_and_accepts_wide_characters() {
    let scene = Scene::new([answer_text("完了しました。\n")]);
    let running = start_inline(scene.ibeam::<&str>([]).env("LC_ALL", "ja_JP.UTF-8"), "/help でコマンド");
    // The second character is deleted again.
    running.type_text("日日\u{7f}本語\r");
    running.wait_for_stdout("完了しました。");
    running.type_text("/exit\r");
    running.finish().succeeded();
    assert_eq!(last_message(&scene, 0), "user: 日本語");
}

#[test]
fn the_prompts_of_mcp_servers_are_commands_in_line_mode() {
    let Some(table) = ibeam_testkit::stdio_mcp_server::table("test", &["prompts"]) else { return };
    let workspace =
        Workspace::new().file("server.py", ibeam_testkit::stdio_mcp_server::SERVER).user_config(&table);
    let scene = Scene::new([answer_text("Reviewed.\n")]).with_workspace(workspace);
    let running = scene.ibeam(["--screen-reader"]).terminal().start();
    running.wait_for_stderr("> ");
    running.type_text("/test:reviwe a.rs\n");
    running.wait_for_stdout("did you mean `/test:review`?");
    running.type_text("/test:review a.rs\n");
    running.wait_for_stdout("Reviewed.");
    running.type_text("exit\n");
    running.finish().succeeded();
    let sent = last_message(&scene, 0);
    assert!(sent.contains(r#"Review with {"file": "a.rs"}"#), "{sent}");
}

#[test]
fn the_status_and_the_commands_follow_the_conversation() {
    let scene = Scene::new([answer_text("Done.\n")]);
    let running = start_inline(scene.ibeam(["begin", "--allow", "Shell(make:*)"]), "Done.");
    running.type_text("/permissions\r");
    running.wait_for_stdout("Shell(make:*)");
    running.type_text("/mode plan\r");
    // In the status row, before the next prompt.
    running.wait_for_stdout(" · plan");
    running.type_text("/exit\r");
    running.finish().succeeded();
}

#[test]
fn a_message_of_several_lines_is_one_prompt_in_line_mode() {
    let scene = Scene::new(["One.\n", "Two.\n", "Three.\n"].map(answer_text));
    let running = scene.ibeam(["--screen-reader"]).terminal().start();
    for (typed, printed) in [
        ("first \\\nsecond\n", "One."),
        ("Traceback:\n  line 1\nError\n", "Two."),
        ("/help\nlast\n", "Three."),
    ] {
        running.wait_for_stderr("> ");
        running.type_text(typed);
        running.wait_for_stdout(printed);
    }
    running.type_text("exit\n");
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("pasted lines are one message"), "{output}");
    let sent = |request| last_message(&scene, request);
    assert_eq!(sent(0), "user: first \nsecond");
    assert_eq!(sent(1), "user: Traceback:\n  line 1\nError");
    assert_eq!(sent(2), "user: last");
}

#[test]
fn a_conversation_asks_before_a_command_publishes_and_print_mode_does_not() {
    let answers = || [answer_shell("echo hello; false && git push"), answer_text("Done.\n")];
    let scene = Scene::new(answers());
    let running = scene.ibeam(["begin", "--screen-reader"]).terminal().start();
    running.wait_for_stderr("asked because it publishes or changes something on a service");
    running.wait_for_stderr("1 yes, once");
    running.type_text("1\n");
    running.wait_for_stdout("  hello");
    running.wait_for_stdout("Done.");
    running.type_text("exit\n");
    running.finish().succeeded();

    let scene = Scene::new(answers());
    scene.ibeam(["-p", "begin"]).run().succeeded();
    let transcript = scene.server.requests()[1].transcript();
    assert!(transcript.last().unwrap().contains("hello"), "{transcript:?}");
}

#[test]
fn line_mode_shows_outputs_and_lists_and_asks_again_after_an_unknown_answer() {
    let todos = json!({ "todos": [{ "id": "1", "content": "Read the code", "status": "in_progress" }] });
    let scene = Scene::new([
        answer_call("t", "update_todos", &todos),
        answer_shell("echo hello"),
        answer_text("Done.\n"),
    ]);
    let running = scene.ibeam(["begin", "--screen-reader", "--sandbox", "disabled"]).terminal().start();
    running.wait_for_stdout("[>] Read the code");
    running.wait_for_stderr("1 yes, once");
    running.type_text("/help\n");
    running.wait_for_stderr("6 no, and tell the model why\nasked");
    running.type_text("1\n");
    running.wait_for_stdout("  hello");
    running.wait_for_stdout("Done.");
    running.type_text("exit\n");
    running.finish().succeeded();
}
