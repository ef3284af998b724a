//! The manners of conversations: going back, modes by a key, the title and the bell, labels of pasted text, mentioned files,
//! the last line of a command, and the line that resumes a conversation.

use std::fs;
use std::time::Duration;

use ibeam_testkit::RunningProgram;
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use serde_json::json;

use super::terminal::on_inline_screen;
use super::tmux::Tmux;

const SIZES: [(&str, u16, u16); 2] = [("usual", 80, 24), ("small", 20, 5)];

/// Returns the scene of two turns, of which the second one writes `new.txt`, and a third one.
fn two_turns() -> Scene {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "contents": "hello\n" }));
    repository([answer_text("One.\n"), write, answer_text("Written.\n"), answer_text("Again.\n")])
}

/// Starts a conversation and runs the first two turns.
fn after_two_turns(scene: &Scene) -> RunningProgram {
    let running = on_inline_screen(scene, &["first"]);
    running.wait_for_stdout("One.");
    running.type_text("second\r");
    running.wait_for_stdout("Written.");
    running
}

/// Starts a conversation, in line mode with `--screen-reader`, and waits until it reads keys.
fn start(scene: &Scene, arguments: &[&str]) -> RunningProgram {
    let running = on_inline_screen(scene, arguments);
    match arguments {
        [] => running.wait_for_stdout("/help lists commands"),
        _ => running.wait_for_stderr("/help lists commands"),
    }
    running
}

#[test]
fn the_conversation_and_the_files_go_back_to_before_a_prompt() {
    let scene = two_turns();
    let file = scene.workspace.path().join("new.txt");
    let running = after_two_turns(&scene);
    assert!(file.exists());
    running.type_text("/rewind\r");
    running.wait_for_stdout("Go back to before which prompt?");
    // The latest prompt is the first choice.
    running.type_text("1");
    running.wait_for_stdout("What goes back?");
    running.type_text("1");
    running.wait_for_stdout("session: ");
    assert!(!file.exists(), "the file is as before the prompt");
    // The input begins with the prompt.
    running.type_text(" again\r");
    running.wait_for_stdout("Again.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    let requests = scene.server.requests();
    let transcript = requests.last().unwrap().transcript();
    assert_eq!(transcript, ["user: first", "assistant: One.\n", "user: second again"], "{output}");
}

#[test]
fn escape_twice_chooses_a_prompt_and_the_conversation_alone_may_go_back() {
    let scene = two_turns();
    let running = after_two_turns(&scene);
    std::thread::sleep(Duration::from_millis(300));
    running.type_text("\u{1b}");
    std::thread::sleep(Duration::from_millis(300));
    running.type_text("\u{1b}");
    running.wait_for_stdout("Go back to before which prompt?");
    running.type_text("2");
    running.wait_for_stdout("What goes back?");
    running.type_text("2");
    running.wait_for_stdout("session: ");
    running.type_text(" anew\r");
    running.wait_for_stdout("Again.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(scene.workspace.path().join("new.txt").exists(), "the files stay");
    let requests = scene.server.requests();
    assert_eq!(requests.last().unwrap().transcript(), ["user: first anew"], "{output}");
}

#[test]
fn a_refused_undo_names_the_command_that_overwrites_and_it_can_be_typed() {
    let scene = two_turns();
    let file = scene.workspace.path().join("new.txt");
    let running = after_two_turns(&scene);
    // A command waits for the end of the turn, and thus for the checkpoint after it.
    running.type_text("/status\r");
    running.wait_for_stdout("session: ");
    fs::write(&file, "mine\n").unwrap();
    running.type_text("/undo\r");
    running.wait_for_stdout("`/undo --force` overwrites");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    running.type_text("/undo --force\r");
    running.wait_for_stdout("to take this back: /redo");
    assert!(!file.exists());
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("has changed since") && !output.stdout.contains("somebody"), "{output}");
}

#[test]
fn a_key_changes_the_mode_and_a_plan_is_carried_out_on_request() {
    for (name, width, height) in SIZES {
        let scene = Scene::new([answer_text("A plan.\n"), answer_text("Done.\n")]);
        let Some(tmux) = Tmux::start(&scene, &format!("mode-{name}"), width, height) else { return };
        tmux.start_program(&scene, "");
        tmux.press("BTab");
        tmux.wait_for("mode: plan");
        tmux.type_line("make a plan");
        tmux.wait_for("carry out");
        std::thread::sleep(Duration::from_millis(800));
        tmux.type_text("2");
        tmux.wait_for("Done.");
        let requests = scene.server.requests();
        let transcript = requests[1].transcript();
        assert!(transcript.last().unwrap().contains("Carry out the plan."), "{transcript:?}");
        let tools = requests[1].body["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "write"), "the mode is agent: {tools:?}");
    }
}

#[test]
fn a_long_pasted_text_is_a_label_and_is_sent_whole() {
    for (name, width, height) in SIZES {
        let scene = Scene::new([answer_text("Read.\n")]);
        let Some(tmux) = Tmux::start(&scene, &format!("paste-{name}"), width, height) else { return };
        tmux.start_program(&scene, "");
        let lines: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
        tmux.paste(&lines.join("\n"));
        // On the small screen the label has two rows.
        tmux.wait_for("[pasted 30 lines");
        assert!(!tmux.text().contains("line 17"), "{}", tmux.text());
        tmux.press("Enter");
        tmux.wait_for("Read.");
        let transcript = scene.server.requests()[0].transcript();
        assert!(transcript.last().unwrap().contains("line 17\nline 18"), "{transcript:?}");
    }
}

#[test]
fn mentioned_files_are_named_and_missing_ones_too() {
    for arguments in [&[][..], &["--screen-reader"]] {
        let scene = Scene::new([answer_text("Seen.\n")]);
        fs::write(scene.workspace.path().join("a.txt"), "content of a\n").unwrap();
        let running = start(&scene, arguments);
        running.type_text("compare @a.txt with @b.txt\r");
        running.wait_for_stdout("attached: @a.txt");
        running.wait_for_stdout("no such file, so nothing was attached: @b.txt");
        running.wait_for_stdout("Seen.");
        running.type_text("/exit\r");
        running.finish().succeeded();
    }
}

#[test]
fn the_last_line_of_a_command_that_runs_is_shown() {
    let command = "echo Compiling parser; sleep 2; echo Finished";
    let scene = Scene::new([answer_shell(command), answer_text("Built.\n")]);
    let Some(tmux) = Tmux::start(&scene, "output", 120, 24) else { return };
    tmux.start_program(&scene, "");
    tmux.type_line("build it");
    tmux.wait_for("· Compiling parser ·");
    tmux.wait_for("Built.");
    assert!(!tmux.text().contains("· Compiling parser ·"), "{}", tmux.text());
}

#[test]
fn the_title_names_the_directory_and_a_bell_rings_at_a_question() {
    let scene = Scene::new([answer_shell("echo hello"), answer_text("So be it.\n")]);
    let running = on_inline_screen(&scene, &["greet", "--sandbox", "disabled"]);
    running.wait_for_stdout("Allow this?");
    let directory = scene.workspace.path().file_name().unwrap().to_string_lossy().into_owned();
    let shown = running.stdout();
    for expected in ["\u{1b}[22;2t", &format!("\u{1b}]2;? ibeam · {directory}\u{7}")] {
        assert!(shown.contains(expected), "no {expected:?} in {shown:?}");
    }
    assert!(shown.replace(&format!("{directory}\u{7}"), "").contains('\u{7}'), "no bell in {shown:?}");
    std::thread::sleep(Duration::from_millis(700));
    running.type_text("y");
    running.wait_for_stdout("So be it.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("\u{1b}[23;2t"), "the title is as before: {output}");
}

#[test]
fn a_used_conversation_ends_with_the_command_that_continues_it() {
    for arguments in [&[][..], &["--screen-reader"]] {
        let scene = Scene::new([answer_text("Hi.\n")]);
        let running = start(&scene, arguments);
        running.type_text("hello\r");
        running.wait_for_stdout("Hi.");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        assert!(output.stderr.contains("To continue this conversation: ibeam resume "), "{output}");
        let unused = start(&scene, arguments);
        unused.type_text("/exit\r");
        let output = unused.finish().succeeded();
        assert!(!output.stderr.contains("To continue"), "{output}");
    }
}

#[test]
fn all_edits_may_be_allowed_at_once() {
    let write = |id: &str, path: &str| answer_call(id, "write", &json!({ "path": path, "contents": "x\n" }));
    let scene = Scene::new([write("a", "a.txt"), write("b", "b.txt"), answer_text("Both.\n")]);
    let running = on_inline_screen(&scene, &["write", "--approval", "strict"]);
    running.wait_for_stdout("3 yes, and all edits");
    std::thread::sleep(Duration::from_millis(700));
    running.type_text("3");
    running.wait_for_stdout("Both.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert_eq!(
        output.stdout.matches("all edits of files in the workspace are allowed").count(),
        1,
        "{output}"
    );
    assert!(scene.workspace.read("b.txt").is_some());
}

#[test]
fn a_level_of_reasoning_is_chosen_from_a_list() {
    let scene = Scene::new([]);
    for arguments in [&[][..], &["--screen-reader"]] {
        let running = start(&scene, arguments);
        running.type_text("/effort\r");
        match arguments {
            [] => running.wait_for_stdout("2 none"),
            _ => running.wait_for_stderr("2 none"),
        }
        running.type_text(if arguments.is_empty() { "2" } else { "2\r" });
        running.wait_for_stdout("effort: none");
        running.type_text("/exit\r");
        running.finish().succeeded();
    }
}

#[test]
fn always_in_this_project_is_a_rule_of_the_user_for_its_directory() {
    let commands = || [answer_shell("printf hello"), answer_text("So be it.\n")];
    let scene = Scene::new(commands());
    let running = start(&scene, &["--screen-reader", "--sandbox", "disabled"]);
    running.type_text("greet\n");
    running.wait_for_stderr("3 yes, always in this project");
    running.type_text("3\n");
    running.wait_for_stdout("So be it.");
    running.type_text("/exit\n");
    running.finish().succeeded();
    let scene = scene.with_answers(commands());
    let again = scene.print(["greet", "--sandbox", "disabled"]).run().succeeded();
    assert!(again.stdout.contains("hello"), "{again}");
    let elsewhere = scene.workspace.path().join("below");
    fs::create_dir(&elsewhere).unwrap();
    let rules = scene.ibeam_without_model(["policy", "list", "--workspace", "below"]).run().succeeded();
    assert!(!rules.stdout.contains("Shell(printf"), "the rule is for the project alone: {rules}");
}
