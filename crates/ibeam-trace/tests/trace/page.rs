//! The page of `html`, for any content of a session.

use std::io;
use std::sync::{Arc, Mutex};

use ibeam_output::{Catalogue, EventWriter as _, Locale};
use ibeam_protocol::{Event, Failure, Reason, RunOutcome, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_trace::Html;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::recorded::{self, Recorded};

/// Bytes that a writer wrote.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn page(events: &[Event], locale: Locale) -> String {
    let written = Written::default();
    let mut page = Html::new(written.clone(), Arc::new(Catalogue::new(locale)), None);
    events.iter().for_each(|event| page.write(event).unwrap());
    page.end_document().unwrap();
    drop(page);
    String::from_utf8(Arc::into_inner(written.0).unwrap().into_inner().unwrap()).unwrap()
}

/// Returns the rows that the viewer shows.
#[track_caller]
fn rows(page: &str) -> Vec<Value> {
    let rows = page.split_once("id=\"rows\">\n").unwrap().1.split_once("</script>").unwrap().0;
    rows.lines()
        .map(|row| serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {row}")))
        .collect()
}

/// Checks that the markup after the viewer has only known tags, closed in order, and escaped text.
#[track_caller]
fn check_static_markup(page: &str) {
    let after = page.split_once("<noscript>").unwrap().1;
    let markup = after.strip_suffix("</noscript>\n").unwrap();
    let (mut open, mut rest) = (Vec::new(), markup);
    while let Some((text, from)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = from.split_once('>').unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{markup}"),
            None => {
                let name = tag.split(' ').next().unwrap();
                let known = ["h2", "h3", "h4", "p", "pre", "code", "details", "summary"];
                assert!(known.contains(&name), "{tag}");
                open.push(name);
            }
        }
        rest = after;
    }
    check_text(rest);
    assert_eq!(open, Vec::<&str>::new(), "{markup}");
}

#[track_caller]
fn check_text(text: &str) {
    assert!(!text.contains(['>', '"', '\'']), "{text:?}");
    assert!(text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{text:?}");
}

/// Texts that look like markup.
fn markup_like_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => ".*",
        1 => Just("</pre></p></noscript><script>alert(1)</script><!--".to_owned()),
        1 => Just("\" onload=\"x' <!-- ]]> &lt; &#60;</title></style>".to_owned()),
        1 => Just("\0\u{1b}[2J\u{202e}\r\n\r\n".to_owned()),
        1 => "[<>&\"'/=a-z \n+-]{0,300}",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn outcome(kind: u8, text: &str) -> ToolOutcome {
    match kind {
        0 => ToolOutcome::error(text),
        1 => ToolOutcome::Rejected { reason: text.into() },
        2 => recorded::success(
            ToolOutput::Other(json!({ text: [text, 1, { text: text }], "diffString": text })),
            text,
        ),
        3 => ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model: text.into() },
        _ => recorded::success(ToolOutput::Other(json!(text)), text),
    }
}

proptest! {
    #[test]
    fn texts_of_a_session_are_never_markup(
        texts in prop::collection::vec((0..4u8, 0..5u8, markup_like_text()), 0..8),
        ends in any::<bool>(),
    ) {
        let first = texts.first().map(|(_, _, text)| text.clone()).unwrap_or_default();
        let run = texts.iter().fold(Recorded::new(), |run, (step, kind, text)| match step {
            0 => run.prompt(text),
            1 => run.text(text),
            2 => run.start_call("m", &recorded::call(text, text, json!({ text: text, "path": text }))),
            _ => {
                let name = if text.len() % 2 == 0 { "shell" } else { text };
                run.call("m", &recorded::call("c", name, json!({ "command": text })), outcome(*kind, text))
            }
        });
        let reason = Reason::ProviderFailed { provider: first.clone(), detail: first.clone() };
        let run = if ends { run.finish(RunOutcome::Failed(Failure::from(reason))) } else { run };
        let page = page(&run.events, Locale::En);
        prop_assert_eq!(page.matches("<script").count(), 3);
        prop_assert_eq!(page.matches("</script").count(), 3);
        prop_assert_eq!(page.matches("</noscript").count(), 1);
        prop_assert_eq!(page.matches("</title").count(), 1);
        prop_assert!(!rows(&page).is_empty());
        check_static_markup(&page);
    }
}

#[test]
fn a_page_loads_nothing_and_runs_only_its_viewer() {
    let page = page(&Recorded::new().prompt("hi").text("hi").completed().events, Locale::En);
    let head = page.split_once("<style>").unwrap().0;
    for directive in [
        "default-src 'none'",
        "script-src 'sha256-",
        "style-src 'sha256-",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ] {
        assert!(head.contains(directive), "{directive} is missing in {head}");
    }
    assert!(!head.contains("unsafe"), "{head}");
    for loading in
        ["<link", "url(", "@import", "fetch(", "innerHTML", "insertAdjacentHTML", "document.write", "eval("]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    let without_data = page.split_once("id=\"rows\">").unwrap().0.len();
    assert!(without_data <= 150_000, "the page has {without_data} bytes before its data");
}

#[test]
fn a_page_shows_a_run_from_top_to_bottom() {
    let edit = recorded::call("c1", "edit", json!({ "path": "a.rs" }));
    let output = ToolOutput::Other(json!({ "path": "/w/a.rs", "diffString": "-a\n+b\n" }));
    let ls = recorded::call("c2", "shell", json!({ "command": "ls" }));
    let run = Recorded::new()
        .prompt("Fix the bug\n\nin `a.rs`")
        .text("Let me ")
        .text("see.")
        .answer("m1", "Let me see.", std::slice::from_ref(&edit))
        .call("m1", &edit, recorded::success(output, "ok"))
        .call("m1", &ls, ToolOutcome::Rejected { reason: "no rule allows it".into() })
        .text("Done.")
        .completed();
    let page = page(&run.events, Locale::En);
    assert!(page.contains("<title>Fix the bug</title>") && page.contains("<h1>Fix the bug</h1>"), "{page}");
    let rows = rows(&page);
    let kinds: Vec<_> = rows.iter().map(|row| row["k"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run", "prompt", "answer", "request", "call", "call", "answer", "end"]);
    assert_eq!(rows[0]["model"], "Claude 4 Sonnet");
    assert_eq!(rows[2]["text"], "Let me see.");
    assert_eq!(
        (&rows[3]["cost"], &rows[3]["ms"], &rows[3]["usage"]["cache_read"]),
        (&json!(1250), &json!(50), &json!(20))
    );
    let diff = json!([{ "o": true, "y": "diff", "x": "-a\n+b\n" }]);
    assert_eq!(
        (&rows[4]["target"], &rows[4]["state"], &rows[4]["blocks"]),
        (&json!("a.rs"), &json!("done"), &diff)
    );
    assert_eq!(rows[4]["ms"], 100);
    assert_eq!(
        (&rows[5]["state"], &rows[5]["blocks"][0]["x"]),
        (&json!("refused"), &json!("no rule allows it"))
    );
    assert_eq!(
        (&rows[7]["text"], &rows[7]["files"]),
        (&json!("Completed in 5.2 s"), &json!(["/w/project/a"]))
    );
    assert!(page.contains("<p>Let me see.</p>"), "a browser without scripts shows the answer");
}

#[test]
fn a_call_without_an_end_is_shown_at_the_end_of_its_run() {
    let call = recorded::call("c", "read", json!({ "path": "n.txt" }));
    let mut events = Recorded::new().prompt("x").start_call("m", &call).events;
    events.extend(Recorded::new().text("again").completed().events);
    let page = page(&events, Locale::En);
    let kinds: Vec<_> = rows(&page).iter().map(|row| format!("{} {}", row["k"], row["state"])).collect();
    assert_eq!(
        kinds,
        [
            r#""run" null"#,
            r#""prompt" null"#,
            r#""call" "open""#,
            r#""run" null"#,
            r#""answer" null"#,
            r#""end" null"#
        ]
    );
    assert_eq!(page.matches("<!doctype").count(), 1, "one page of two runs");
}

#[test]
fn a_long_session_without_scripts_refers_to_the_viewer() {
    let long = "word ".repeat(200_000);
    let page = page(&Recorded::new().prompt("x").text(&long).completed().events, Locale::En);
    let (_, without_scripts) = page.split_once("<noscript>").unwrap();
    assert!(without_scripts.len() < 1000 && without_scripts.contains("JavaScript"), "{without_scripts}");
}

#[test]
fn the_page_is_in_the_language_of_its_catalogue() {
    for locale in Locale::ALL {
        let page = page(&Recorded::new().prompt("x").text("y").completed().events, locale);
        assert!(page.contains(&format!("<html lang=\"{}\">", locale.code())), "{page}");
        assert_eq!(page.contains(">Search<") || page.contains("\"Search\""), locale == Locale::En, "{page}");
        check_static_markup(&page);
    }
}

#[test]
fn the_units_of_one_are_singular() {
    let labels = |locale| {
        let page = page(&Recorded::new().prompt("x").completed().events, locale);
        let json = page.split_once("id=\"page\">").unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str::<Value>(json).unwrap()["labels"].clone()
    };
    for (locale, units) in [
        (Locale::En, ["model request", "call", "token read"]),
        (Locale::Es, ["petición al modelo", "llamada", "token leído"]),
        (Locale::Fr, ["requête au modèle", "appel", "token lu"]),
        (Locale::Pt, ["pedido ao modelo", "chamada", "token lido"]),
    ] {
        let labels = labels(locale);
        assert_eq!([&labels["requests_one"], &labels["calls_one"], &labels["tokens_in_one"]], units);
        assert!(["requests", "calls", "tokens_in"].iter().all(|name| labels[name].is_string()), "{labels}");
        assert_ne!(labels["requests"], labels["requests_one"]);
    }
    for locale in [Locale::Id, Locale::Ja] {
        let labels = labels(locale);
        assert_eq!(labels["requests"], labels["requests_one"], "{locale:?} has one form");
    }
}

/// Writes a page of 100,000 events to `target/tmp`, to measure how long a browser takes to open it.
#[test]
#[ignore = "writes a file for a browser"]
#[expect(clippy::disallowed_methods, reason = "the page is for a browser")]
fn write_a_page_of_100_000_events() {
    let mut run = Recorded::new().prompt("Port the parser");
    for turn in 0.. {
        if run.events.len() > 100_000 {
            break;
        }
        let id = format!("m{turn}");
        let shell = recorded::call(
            &format!("s{turn}"),
            "shell",
            json!({ "command": format!("cargo test case_{turn}") }),
        );
        let edit =
            recorded::call(&format!("e{turn}"), "edit", json!({ "path": format!("src/part_{turn}.rs") }));
        let output = json!({ "command": "x", "exitCode": 0, "interleavedOutput": "test result: ok. 1 passed\n".repeat(8) });
        let diff = json!({ "path": "a", "diffString": " fn a() {\n-    old()\n+    new()\n }\n".repeat(3) });
        run = run
            .text("I will **fix** the next `case`.\n\n")
            .text("- first\n- second\n")
            .answer(&id, "x", &[shell.clone(), edit.clone()])
            .call(&id, &shell, recorded::success(ToolOutput::Other(output), ""))
            .call(&id, &edit, recorded::success(ToolOutput::Other(diff), ""));
        if turn % 100 == 99 {
            run = run.completed();
            let mut next = Recorded::new().prompt(&format!("Go on with part {turn}")).events;
            run.events.append(&mut next);
        }
    }
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/long_page.html");
    std::fs::write(path, page(&run.completed().events, Locale::En)).unwrap();
}
