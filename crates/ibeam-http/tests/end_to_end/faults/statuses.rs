//! Status codes and headers of a service.

use std::time::Duration;

use ibeam_testkit::Answer;
use ibeam_testkit::scene::{KEY, Scene, WIRES, answer_text, model_name};
use serde_json::json;

use super::{
    FAST_RETRIES, expect_failure, expect_failure_on_both_wires, expect_success, expect_success_on_both_wires,
    retries, workspace_with_config,
};

/// Returns more answers than any run may request.
fn repeated(answer: &Answer) -> Vec<Answer> {
    vec![answer.clone(); 50]
}

fn rejected_key() -> Answer {
    Answer::error(401, "authentication_error", "invalid x-api-key")
}

#[test]
fn f002_a_key_that_is_rejected_once_is_tried_once_more() {
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![rejected_key(), answer_text("ok")])
    {
        assert_eq!(retries(&output), 1, "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert_eq!(warnings.len(), 1, "{output}");
        assert!(!output.stderr.contains("in 0 s"), "{output}");
    }
}

#[test]
fn f002_a_key_that_is_rejected_twice_is_an_error() {
    expect_failure_on_both_wires(20, FAST_RETRIES, || repeated(&rejected_key()));
    let scene = Scene::new(repeated(&rejected_key())).with_workspace(workspace_with_config(FAST_RETRIES));
    let output = scene.print::<&str>([]).run();
    assert_eq!(scene.server.requests().len(), 2);
    // The error says everything that a line about the second attempt would say.
    assert!(output.stderr.starts_with("error: "), "{output}");
    assert_eq!(output.stderr.matches("refused the API key").count(), 1, "{output}");
}

/// The stored key is replaced while the run waits. The rejection of the old key changes nothing on disk.
#[test]
fn f002_a_stored_key_is_read_again_and_never_overwritten() {
    let slow_rejection = || rejected_key().delay(Duration::from_secs(2));
    let scene =
        Scene::new([slow_rejection(), answer_text("ok")]).with_workspace(workspace_with_config(FAST_RETRIES));
    let login = |key: &str| {
        scene.ibeam_without_model(["login", "anthropic", "--no-check", "--api-key", key]).run().succeeded();
        std::fs::read(scene.workspace.home().join(".config/ibeam/credentials.toml")).unwrap()
    };
    login(KEY);
    let running = scene.ibeam_without_key(["-p", "do it"]).start();
    scene.server.wait_for_requests(1);
    let stored = login("key-that-is-newer");
    let output = running.finish().succeeded();
    let requests = scene.server.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-api-key").unwrap()).collect();
    assert_eq!(keys, [KEY, "key-that-is-newer"], "{output}");
    let file = std::fs::read(scene.workspace.home().join(".config/ibeam/credentials.toml")).unwrap();
    assert_eq!(file, stored, "the file is as `login` wrote it");
}

#[test]
fn f002_a_rejected_stored_key_stays_stored() {
    let scene = Scene::new(repeated(&rejected_key())).with_workspace(workspace_with_config(FAST_RETRIES));
    scene.ibeam_without_model(["login", "anthropic", "--no-check", "--api-key", KEY]).run().succeeded();
    let path = scene.workspace.home().join(".config/ibeam/credentials.toml");
    let stored = std::fs::read(&path).unwrap();
    let output = scene.ibeam_without_key(["-p", "do it"]).run();
    super::check_failure(&output, 20);
    assert_eq!(std::fs::read(&path).unwrap(), stored);
}

/// A server may repeat the key in its answer in any encoding. No part of the key is printed or stored.
#[test]
fn a_key_that_a_server_repeats_in_any_form_is_neither_printed_nor_stored() {
    // Base64 of the key, and of `user:key` and `ab:key` as a server would log them.
    let forms = [
        "a2V5LTAxMjM0NTY3ODlhYmNkZWY",
        "dXNlcjprZXktMDEyMzQ1Njc4OWFiY2RlZg",
        "YWI6a2V5LTAxMjM0NTY3ODlhYmNkZWY",
    ];
    for form in [KEY].into_iter().chain(forms) {
        let message = format!("the header `{form}==` is not valid");
        let answer = Answer::error(400, "invalid_request_error", &message).header("request-id", form);
        let output = expect_failure(22, || {
            let scene = Scene::new([answer.clone()]).with_workspace(workspace_with_config(FAST_RETRIES));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        });
        for core in [KEY, "a2V5LTAxMjM0NTY3ODlhYmNkZ", "rZXktMDEyMzQ1Njc4OWFiY2Rl"] {
            assert!(!output.stdout.contains(core) && !output.stderr.contains(core), "{output}");
        }
        assert!(output.stderr.contains("***"), "{output}");
    }
}

#[test]
fn f004_an_unknown_model_is_named_and_not_retried() {
    for wire in WIRES {
        let unknown = Answer::error(404, "not_found_error", "model: no such model");
        let output = expect_failure(21, || {
            let scene = Scene::with_wire(wire, repeated(&unknown))
                .with_workspace(workspace_with_config(FAST_RETRIES));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        });
        let (_, name) = model_name(wire).split_once('/').unwrap();
        assert!(output.stderr.contains(name) && output.stderr.contains("--model"), "{output}");
        assert_eq!(retries(&output), 0, "{output}");
    }
}

/// A retry cannot help: the agent loop must shorten the request.
#[test]
fn f006_a_request_that_is_too_large_is_a_context_failure() {
    let too_large = Answer::error(413, "request_too_large", "Request exceeds the maximum size");
    let output = expect_failure_on_both_wires(23, FAST_RETRIES, || repeated(&too_large));
    assert_eq!(output.stream().last()["http_status"], 413, "{output}");
}

#[test]
fn f008_a_pause_that_the_provider_requests_is_kept() {
    let slow_down = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "2");
    let scene =
        Scene::new([slow_down, answer_text("ok")]).with_workspace(workspace_with_config(FAST_RETRIES));
    let output = expect_success(&scene, scene.print::<&str>([]));
    assert!(output.elapsed >= Duration::from_secs(2), "{output}");
    assert_eq!((retries(&output), output.stderr_lines("warning: ").len()), (1, 1), "{output}");
}

#[test]
fn f010_without_a_requested_pause_each_is_at_least_the_first() {
    let limited = Answer::error(429, "rate_limit_error", "slow down");
    let config = "[retry]\nfirst_pause = \"100ms\"\n";
    let answers = || vec![limited.clone(), limited.clone(), limited.clone(), answer_text("ok")];
    for (_, output) in expect_success_on_both_wires(config, answers) {
        assert!(output.elapsed >= Duration::from_millis(300), "{output}");
        assert_eq!(retries(&output), 3, "{output}");
    }
}

#[test]
fn f011_a_permanent_rate_limit_fails_after_six_attempts() {
    let limited = Answer::error(429, "rate_limit_error", "slow down");
    let output = expect_failure_on_both_wires(24, FAST_RETRIES, || repeated(&limited));
    assert!(output.stderr.contains("slow down"), "{output}");
    assert_eq!(retries(&output), 5, "{output}");
}

#[test]
fn f011_a_permanent_rate_limit_fails_after_the_configured_time() {
    let limited = Answer::error(429, "rate_limit_error", "slow down");
    let config = "[retry]\nattempts = 1000\nfirst_pause = \"150ms\"\ngive_up_after = \"400ms\"\n";
    let scene = Scene::new(repeated(&limited)).with_workspace(workspace_with_config(config));
    let output = scene.print::<&str>([]).run();
    super::check_failure(&output, 24);
    assert!(scene.server.requests().len() <= 4, "{output}");
}

/// A requested pause that is longer than the limit is reported to the caller.
#[test]
fn f011_a_long_pause_is_reported_instead_of_kept() {
    let limited = Answer::error(429, "rate_limit_error", "daily quota").header("retry-after", "7200");
    let output = expect_failure_on_both_wires(24, FAST_RETRIES, || repeated(&limited));
    assert_eq!(output.stream().last()["retry_after_ms"], 7_200_000, "{output}");
    assert_eq!(retries(&output), 0, "{output}");
}

#[test]
fn f012_an_implausible_pause_is_ignored() {
    for value in ["-5", "2\u{b2}", "soon", "1e9", ""] {
        let limited = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", value);
        let scene =
            Scene::new([limited, answer_text("ok")]).with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!(retries(&output), 1, "{value}: {output}");
    }
}

#[test]
fn f012_a_pause_of_years_is_reported_as_a_year() {
    for value in ["Wed, 21 Oct 2099 07:28:00 GMT", "999999999"] {
        let limited = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", value);
        let output = expect_failure_on_both_wires(24, FAST_RETRIES, || repeated(&limited));
        assert_eq!(output.stream().last()["retry_after_ms"], 366 * 86_400_000_u64, "{value}: {output}");
    }
}

#[test]
fn f012_a_date_in_the_past_causes_no_pause() {
    let limited = Answer::error(429, "rate_limit_error", "slow down");
    let limited = limited.header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT");
    expect_success_on_both_wires(FAST_RETRIES, || vec![limited.clone(), answer_text("ok")]);
}

#[test]
fn f013_a_provider_that_fails_once_is_retried() {
    let broken = Answer::error(500, "api_error", "internal server error");
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![broken.clone(), answer_text("ok")])
    {
        assert_eq!(retries(&output), 1, "{output}");
    }
}

#[test]
fn f014_the_error_of_a_failing_provider_has_status_and_request_id() {
    let broken = Answer::error(500, "api_error", "internal server error");
    let output = expect_failure_on_both_wires(25, FAST_RETRIES, || repeated(&broken));
    let stream = output.stream();
    let last = stream.last();
    // There are six attempts; the id belongs to the last.
    assert_eq!((&last["http_status"], &last["request_id"]), (&json!(500), &json!("req_0005")), "{output}");
    assert!(output.stderr.contains("internal server error"), "{output}");
}

#[test]
fn f016_an_overloaded_provider_is_retried() {
    let busy = Answer::error(529, "overloaded_error", "Overloaded");
    for (_, output) in
        expect_success_on_both_wires(FAST_RETRIES, || vec![busy.clone(), busy.clone(), answer_text("ok")])
    {
        assert_eq!(retries(&output), 2, "{output}");
    }
}

#[test]
fn f043_a_redirect_to_another_host_is_not_followed() {
    let other_scene = Scene::new([answer_text("never")]);
    let target = format!("{}/v1/messages", other_scene.server.url().replace("127.0.0.1", "localhost"));
    let redirect = Answer::status(307, "").header("location", &target);
    let output = expect_failure_on_both_wires(26, FAST_RETRIES, || repeated(&redirect));
    assert!(output.stderr.contains("http://localhost"), "{output}");
    assert_eq!(retries(&output), 0, "{output}");
    assert!(other_scene.server.requests().is_empty(), "the key is not sent to another host");
}

#[test]
fn f062_a_provider_whose_clock_is_ten_years_off_is_still_used() {
    for date in ["Sat, 21 Nov 2036 04:00:00 GMT", "Mon, 21 Nov 2016 04:00:00 GMT", "yesterday"] {
        let limited = Answer::error(429, "rate_limit_error", "slow").header("date", date);
        let dated = |answer: Answer| answer.header("date", date);
        expect_success_on_both_wires(FAST_RETRIES, || {
            vec![limited.clone().header("retry-after", date), dated(answer_text("ok"))]
        });
    }
}
