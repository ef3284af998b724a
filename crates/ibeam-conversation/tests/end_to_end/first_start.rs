//! The first start of interactive mode: the line about the model, and the set-up of a model where there is none.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Ibeam, RunningProgram, Workspace};

use super::login::start_service;

const ESCAPE: &str = "\u{1b}";
const INTERRUPT: &str = "\u{3}";
const ENTER: &str = "\r";
/// The end of input on a terminal.
const END: &str = "\u{4}";
const QUESTION: &str = "No model can answer yet";
/// Longer than the time after which a key answers a question that is guarded against text typed ahead.
const PAUSE: Duration = Duration::from_millis(800);

/// Starts the program without a key on a terminal that can move the cursor, and waits for the set-up.
fn start_set_up(scene: &Scene) -> RunningProgram {
    let ibeam = scene.ibeam_without_model::<&str>([]);
    let running = ibeam.env("TERM", "xterm-256color").terminal().start();
    running.wait_for_stdout(QUESTION);
    sleep(PAUSE);
    running
}

/// Returns a scene whose user has the provider `anthropic` at another address.
fn scene_with_service(url: &str) -> Scene {
    let config = format!("[providers.anthropic]\nbase_url = \"{url}\"\n");
    Scene::new([]).with_workspace(Workspace::new().user_config(&config))
}

fn stored(scene: &Scene, file: &str) -> Option<String> {
    fs::read_to_string(scene.workspace.home().join(".config/ibeam").join(file)).ok()
}

#[test]
fn a_key_is_set_up_like_with_login() {
    let scene = scene_with_service(&start_service(Some(KEY)));
    let running = start_set_up(&scene);
    running.type_text("1");
    running.wait_for_stdout("Which service?");
    running.type_text(ENTER);
    running.wait_for_stdout("API key of Anthropic");
    running.type_text("wrong\r");
    running.wait_for_stdout("refused the API key: no such key");
    assert_eq!(stored(&scene, "credentials.toml"), None, "a refused key is not stored");
    // The question is asked again after the reason; what is typed before it goes into the input.
    sleep(PAUSE);
    running.type_text(&format!("{KEY}{ENTER}"));
    running.wait_for_stdout("anthropic accepted the key");
    running.wait_for_stdout("claude-sonnet-5-5; first provider");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    assert!(stored(&scene, "credentials.toml").unwrap().contains(KEY));
    assert!(!format!("{output}").contains(KEY), "{output}");
}

#[test]
fn a_key_is_set_up_in_line_mode_by_numbers_and_without_echo() {
    let scene = scene_with_service(&start_service(Some(KEY)));
    let running = scene.ibeam_without_model(["--screen-reader"]).terminal().start();
    running.wait_for_stderr(QUESTION);
    running.type_text("1\n");
    running.wait_for_stderr("1 Anthropic: ");
    running.type_text("1\n");
    running.wait_for_stderr("API key of Anthropic");
    // The echo is switched off before the question is printed.
    running.type_text(&format!("{KEY}\n"));
    running.wait_for_stderr("anthropic accepted the key");
    running.wait_for_stderr("first provider with a key: anthropic");
    running.type_text(END);
    let output = running.finish().succeeded();
    assert!(stored(&scene, "credentials.toml").unwrap().contains(KEY));
    assert!(!format!("{output}").contains(KEY), "{output}");
    assert!(!output.stderr.contains(ESCAPE), "{output}");
}

#[test]
fn a_server_of_ones_own_becomes_the_default_model() {
    let url = start_service(None);
    let scene = Scene::new([]);
    let running = start_set_up(&scene);
    // The server is the last choice before the one to leave.
    running.type_text("\u{1b}[A\u{1b}[A");
    running.type_text(ENTER);
    running.wait_for_stdout("Address of the server");
    let unreachable = ibeam_testkit::unreachable_url();
    for wrong in [unreachable.as_str(), "htp://wrong", "two words"] {
        running.type_text(&format!("{wrong}{ENTER}"));
        running.wait_for_stdout(&format!("cannot use `{wrong}`, type the address again: "));
        // The question is asked again after the reason; what is typed before it goes into the input.
        sleep(PAUSE);
    }
    running.type_text(&format!("{url}{ENTER}"));
    running.wait_for_stdout("Which model of the server?");
    running.type_text("1");
    running.wait_for_stdout("`server/m` is your default model now");
    running.wait_for_stdout("changes it");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    // The person has set no flag.
    assert!(!output.stdout.contains("--endpoint"), "{output}");
    let expect = format!("model = \"server/m\"\n\n[providers.server]\nbase_url = \"{url}\"\n");
    assert_eq!(stored(&scene, "config.toml").as_deref(), Some(expect.as_str()));
}

#[test]
fn every_question_of_the_set_up_can_be_left() {
    let scene = Scene::new([]);
    for (choices, keys) in [
        (&[][..], &[ESCAPE][..]),
        (&[], &[INTERRUPT]),
        (&[("1", "Which service?")], &[INTERRUPT]),
        (&[("1", "Which service?"), (ENTER, "API key of Anthropic")], &[INTERRUPT]),
        (&[("1", "Which service?"), (ENTER, "API key of Anthropic")], &[ESCAPE, ESCAPE, ESCAPE]),
    ] {
        let running = start_set_up(&scene);
        for (key, next) in choices {
            running.type_text(key);
            running.wait_for_stdout(next);
        }
        for key in keys {
            running.type_text(key);
            // An Escape followed by another key at once is a key with Alt.
            sleep(Duration::from_millis(200));
        }
        let output = running.finish().succeeded();
        // Bracketed paste is off again.
        assert!(output.stdout.contains("\u{1b}[?2004l"), "{output}");
    }
    let running = scene.ibeam_without_model(["--screen-reader"]).terminal().start();
    running.wait_for_stderr(QUESTION);
    running.type_text("\n");
    running.finish().succeeded();
}

#[test]
fn the_model_and_the_reason_are_named_at_the_first_start_only() {
    let reason = "`--model NAME` changes it";
    let start = |scene: &Scene, is_first: bool| {
        let ibeam: Ibeam = scene.ibeam::<&str>([]).env("TERM", "xterm-256color");
        let running = ibeam.terminal().start();
        running.wait_for_stdout("/help lists commands");
        running.type_text("hello\r");
        running.wait_for_stdout("Hello.");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        assert_eq!(output.stdout.contains(reason), is_first, "{output}");
    };
    let scene = Scene::new([answer_text("Hello.\n")]);
    start(&scene, true);
    let scene = scene.with_answers([answer_text("Hello.\n")]);
    start(&scene, false);
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let output = Scene::new([]).ibeam_without_model(["-p", "hello"]).run();
    assert!(output.code != Some(0) && !format!("{output}").contains(QUESTION), "{output}");
    let output = Scene::new([]).ibeam_without_model(["-p", "hello"]).terminal().run();
    assert!(output.code != Some(0) && !format!("{output}").contains(QUESTION), "{output}");
}
