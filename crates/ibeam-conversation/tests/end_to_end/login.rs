//! The check of a key by `login`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use ibeam_testkit::scene::{KEY, Scene};
use ibeam_testkit::{ProgramOutput, Workspace};

/// Starts a service that lists its models for the key alone, or for everybody. Returns its base URL.
pub(crate) fn start_service(accepted_key: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_accepted = accepted_key.is_none_or(|key| head.iter().any(|line| line.contains(key)));
            let (status, body) = match is_accepted {
                true => ("200 OK", r#"{"data":[{"id":"m"}]}"#),
                false => ("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

/// Logs in to a provider at `url`. Returns the output, and whether the key was stored.
fn login(url: &str, flags: &[&str]) -> (ProgramOutput, bool) {
    let config = format!("[providers.own]\nbase_url = \"{url}\"\n");
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(&config));
    let output = scene.ibeam_without_model(["login", "own", "--api-key", KEY]).args(flags).run();
    let stored = std::fs::read_to_string(scene.workspace.home().join(".config/ibeam/credentials.toml"));
    (output, stored.is_ok_and(|stored| stored.contains(KEY)))
}

#[track_caller]
fn check(url: &str, flags: &[&str], code: i32, expected: &str) {
    let (output, is_stored) = login(url, flags);
    assert_eq!((output.code, is_stored), (Some(code), code == 0), "{output}");
    assert!(output.stdout.contains(expected) || output.stderr.contains(expected), "{expected}: {output}");
    assert!(!format!("{output}").contains(KEY), "{output}");
}

#[test]
fn a_key_that_the_service_accepts_is_stored() {
    check(&start_service(Some(KEY)), &[], 0, "own accepted the key");
}

#[test]
fn a_key_that_the_service_refuses_is_not_stored() {
    let url = start_service(Some("another"));
    check(&url, &[], 20, "`own` refused the API key: no such key");
    check(&url, &["--no-check"], 0, "the key is stored in");
}

#[test]
fn a_key_that_cannot_be_checked_is_stored_and_the_result_names_the_reason() {
    check(&start_service(None), &[], 0, "own answers without a key too");
    check(
        &format!("{}/v1", ibeam_testkit::unreachable_url()),
        &[],
        0,
        "The key was not checked: cannot reach",
    );
}

/// Returns a scene in which keys of these providers are stored.
fn scene_with_keys(providers: &[&str]) -> Scene {
    let scene = Scene::new([]);
    for provider in providers {
        scene.ibeam_without_model(["login", provider, "--no-check", "--api-key", KEY]).run().succeeded();
    }
    scene
}

/// Returns the providers whose keys are stored.
fn stored_keys(scene: &Scene) -> Vec<&'static str> {
    let path = scene.workspace.home().join(".config/ibeam/credentials.toml");
    let stored = std::fs::read_to_string(path).unwrap();
    ["anthropic", "groq", "openai"].into_iter().filter(|provider| stored.contains(provider)).collect()
}

#[test]
fn logout_names_the_only_stored_key() {
    let scene = scene_with_keys(&["openai"]);
    let output = scene.ibeam_without_model(["logout"]).run().succeeded();
    assert_eq!(output.stdout, "deleted the stored key for openai\n");
    let again = scene.ibeam_without_model(["logout"]).run().succeeded();
    assert_eq!(again.stdout, "there was no stored key to delete\n");
}

#[test]
fn logout_with_several_stored_keys_asks_on_a_terminal_only() {
    let scene = scene_with_keys(&["anthropic", "groq", "openai"]);
    let refused = scene.ibeam_without_model(["logout"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("(anthropic, groq, openai)"), "{refused}");
    for (answer, code, stored) in [
        ("\n", 2, &["anthropic", "groq", "openai"][..]),
        ("nobody\n", 21, &["anthropic", "groq", "openai"]),
        ("groq\n", 0, &["anthropic", "openai"]),
    ] {
        let running = scene.ibeam_without_model(["logout"]).terminal().after("exec 2>&1").start();
        running.wait_for_stdout("delete which stored key? (anthropic, groq, openai;");
        running.type_text(answer);
        assert_eq!(running.finish().code, Some(code), "{answer}");
        assert_eq!(stored_keys(&scene), stored);
    }
    let all = scene.ibeam_without_model(["logout", "--all"]).run().succeeded();
    assert_eq!(all.stdout, "deleted 2 stored keys\n");
    assert_eq!(stored_keys(&scene), [""; 0]);
}

#[test]
fn a_terminal_asks_again_after_a_wrong_provider_and_its_questions_end_with_a_colon() {
    let scene = Scene::new([]);
    let running = scene.ibeam_without_model(["login", "--no-check"]).terminal().start();
    running.wait_for_stderr("[anthropic]: ");
    running.type_text("opnai\n");
    running.wait_for_stderr("did you mean `openai`?");
    running.type_text("openai\n");
    running.wait_for_stderr("key for openai: ");
    // The echo is switched off before the question is printed.
    running.type_text(&format!("{KEY}\n"));
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("Logged in to openai"), "{output}");
    assert!(!format!("{output}").contains(KEY), "{output}");
}
