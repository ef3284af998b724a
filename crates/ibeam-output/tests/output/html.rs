//! The page of `html`, for any content of a session.

use std::sync::Arc;

use ibeam_output::{Catalogue, Html, Locale};
use ibeam_protocol::{Event, Reason, RunOutcome, RunTotals, ToolFailure, ToolOutcome, ToolOutput, Usage};
use proptest::prelude::*;
use serde_json::json;

use crate::run_events::{self, RunEvents};

fn page(events: &[Event], locale: Locale) -> String {
    run_events::print_events(events, |out| Box::new(Html::new(out, Arc::new(Catalogue::new(locale)))))
}

/// Returns the tags of the page after its style.
///
/// Checks that only known tags occur, that they are closed in order, and that text is escaped.
#[track_caller]
fn tags(page: &str) -> Vec<&str> {
    let (head, body) = page.split_once("</style>").unwrap();
    assert_eq!(head.matches('<').count(), head.matches('>').count() - head.matches(" > ").count(), "{head}");
    let (mut tags, mut open, mut rest) = (Vec::new(), Vec::new(), body);
    while let Some((text, from)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = from.split_once('>').unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{page}"),
            None if tag == "body" => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
        check_tag(tag);
        tags.push(tag);
        rest = after;
    }
    check_text(rest);
    assert_eq!(open, Vec::<&str>::new(), "{page}");
    tags
}

#[track_caller]
fn check_text(text: &str) {
    assert!(!text.contains(['>', '"', '\'']), "{text:?}");
    for part in text.split('&').skip(1) {
        assert!(
            ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|entity| part.starts_with(entity)),
            "{part:?}"
        );
    }
    assert!(text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{text:?}");
}

#[track_caller]
fn check_tag(tag: &str) {
    const NAMES: [&str; 18] = [
        "body", "h1", "h2", "h3", "p", "div", "details", "summary", "b", "code", "pre", "dl", "dt", "dd",
        "ins", "del", "span", "time",
    ];
    let (name, attribute) =
        tag.trim_start_matches('/').split_once(' ').unwrap_or((tag.trim_start_matches('/'), ""));
    assert!(NAMES.contains(&name), "{tag:?}");
    let value = attribute.split_once("=\"").and_then(|(_, value)| value.strip_suffix('"'));
    match (name, value) {
        ("time", Some(value)) => {
            assert!(value.bytes().all(|byte| byte.is_ascii_digit() || b"-T:.Z".contains(&byte)), "{tag:?}");
        }
        (_, Some(value)) => assert!(value.bytes().all(|b| b.is_ascii_lowercase() || b == b' '), "{tag:?}"),
        (_, None) => assert_eq!(attribute, "", "{tag:?}"),
    }
}

/// Texts that look like markup.
fn markup_like_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => ".*",
        1 => Just("</pre></p></code><script>alert(1)</script>".to_owned()),
        1 => Just("\" onload=\"x' <!-- ]]> &lt; &#60;".to_owned()),
        1 => Just("\0\u{1b}[2J\u{202e}\r\n\r\n".to_owned()),
        1 => "[<>&\"'/=a-z \n+-]{0,300}",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn outcome(kind: u8, text: &str) -> ToolOutcome {
    match kind {
        0 => ToolOutcome::error(text),
        1 => ToolOutcome::Rejected { reason: text.to_owned() },
        2 => run_events::success(ToolOutput::Other(
            json!({ text: [text, 1, { text: text }], "diffString": text }),
        )),
        3 => ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model: text.into() },
        _ => run_events::success(ToolOutput::Other(json!(text))),
    }
}

proptest! {
    #[test]
    fn texts_of_a_session_are_never_markup(
        texts in prop::collection::vec((0..5u8, 0..5u8, markup_like_text()), 0..8),
        end in 0..3u8,
    ) {
        let mut head = run_events::session_started();
        let first = texts.first().map(|(_, _, text)| text.clone()).unwrap_or_default();
        head.model.display.clone_from(&first);
        head.cwd = first.clone().into();
        head.version.clone_from(&first);
        let run = texts.iter().fold(RunEvents::from_start(head), |run, (step, kind, text)| match step {
            0 => run.user(text),
            1 => run.text(text),
            2 => run.unprinted(text),
            3 => run.start_call(&run_events::call(text, json!({ text: text, "path": text }))),
            _ => {
                let name = if text.len() % 2 == 0 { "shell" } else { text };
                run.call(&run_events::call(name, json!({ "command": text })), outcome(*kind, text))
            }
        });
        let totals = RunTotals { turns: 1, files_changed: vec![first.clone().into()], ..RunTotals::default() };
        let events = match end {
            0 => run.finish(RunOutcome::Completed, totals),
            1 => run.failed(Reason::ProviderFailed { provider: first.clone(), detail: first }),
            _ => run.completed(),
        };
        tags(&page(&events, Locale::En));
    }
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = page(&RunEvents::new().text("hi").completed(), Locale::En);
    let head = page.split_once("<style>").unwrap().0;
    assert!(head.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{head}");
    assert!(
        !page.contains("<script")
            && !page.contains("<link")
            && !page.contains("url(")
            && !page.contains("@import")
    );
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
}

#[test]
fn a_page_shows_a_run_from_top_to_bottom() {
    let ls = run_events::call("shell", json!({ "command": "ls" }));
    let totals = RunTotals {
        turns: 2,
        usage: Some(Usage { input: 10, output: 3, cache_read: 20, cache_write: 0, ..Usage::default() }),
        files_changed: vec!["/a/b".into()],
        ..RunTotals::default()
    };
    let events = RunEvents::new()
        .user("do it")
        .text("Let me\n")
        .text("\nsee.")
        .call(&ls, ToolOutcome::error("no"))
        .text("Done.")
        .finish(RunOutcome::Completed, totals);
    let page = page(&events, Locale::En);
    let expected = [
        "Claude 4 Sonnet <time datetime=\"1970-01-01T00:00:01Z\">1970-01-01 00:00:01 UTC</time>",
        "<code>/Users/user/project</code> · default",
        "<h3>Prompt <time",
        "<p>do it</p>",
        "<h3>Answer <time",
        "<p>Let me</p>\n<p>see.</p>",
        "<details class=\"failed\">",
        "<code>ls</code>",
        "<dt>errorMessage</dt>\n<dd><code>no</code>",
        "<h3>Answer <time",
        "<p>Done.</p>",
        "Completed in 5.2 s",
        "model requests: 2 · tokens: 30 read, 3 written",
        "<pre>\n/a/b</pre>",
    ];
    let mut rest = page.as_str();
    for text in expected {
        rest = rest.split_once(text).unwrap_or_else(|| panic!("{text} is missing in {rest}")).1;
    }
    tags(&page);
}

#[test]
fn a_call_without_an_end_is_shown_at_the_end_of_its_run() {
    let call = run_events::call("read", json!({ "path": "n.txt" }));
    let mut events = RunEvents::new().start_call(&call).events;
    events.extend(RunEvents::new().text("again").completed());
    let page = page(&events, Locale::En);
    let (before, after) = page.split_once("no result").unwrap();
    assert_eq!((before.matches("<h2>").count(), after.matches("<h2>").count()), (1, 1));
    assert_eq!(page.matches("<!doctype").count(), 1, "one page of two runs");
    tags(&page);
}

#[test]
fn the_page_is_in_the_language_of_its_catalogue() {
    for locale in Locale::ALL {
        let page = page(&RunEvents::new().text("x").failed(Reason::Refused), locale);
        assert!(page.contains(&format!("<html lang=\"{}\">", locale.code())), "{page}");
        assert_eq!(page.contains("<h3>Answer"), locale == Locale::En, "{page}");
        tags(&page);
    }
}
