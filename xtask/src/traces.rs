//! `cargo xtask traces`: what others make of the exports of recorded runs.
//!
//! A session with a scripted model is exported as a page, as spans and as a trajectory. Headless Chromium opens the page,
//! and a page of 100,000 events; the libraries of OpenTelemetry and of ATIF read the other two. A trajectory that harbor
//! made is imported and continued. The scripts are in `clients/traces`. What this machine cannot run is skipped, and the
//! reason is printed.

mod session;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use self::session::Session;
use crate::clients::pinned_versions;
use crate::suite::{ProgramOption, SuiteContext, SuiteError, SuiteResult};

/// The packages of `clients/traces/requirements.txt` that read the exports.
const LIBRARIES: [&str; 5] = [
    "atif",
    "harbor-atif2otel",
    "opentelemetry-proto",
    "opentelemetry-semantic-conventions",
    "opentelemetry-util-genai",
];

/// The programs that are Chromium.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The number of events of the long page.
const LONG_PAGE_EVENTS: usize = 100_000;

/// The time in milliseconds after which the long page counts as broken. The page states its time; machines differ.
const LONG_PAGE_LIMIT_MS: u64 = 10_000;

/// The maximum size in bytes of a page without its data.
const MAX_PAGE_BYTES: usize = 150_000;

/// Runs a script that prints a line for each check, and counts the lines.
fn run_script(mut script: Command, result: &mut SuiteResult) -> Result<String, SuiteError> {
    let display = format!("{script:?}");
    let output = script.output().map_err(SuiteError::system(display))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    result.counts.passed += text.lines().filter(|line| line.starts_with("PASS ")).count();
    result.counts.failed += usize::from(!output.status.success());
    Ok(text)
}

/// Runs all checks and records the result.
pub(crate) fn run(root: &Path, program: &ProgramOption) -> Result<(), SuiteError> {
    SuiteContext::new(root, program)?.run("traces", |context, result| {
        let target = root.join("target/traces");
        fs::create_dir_all(&target).map_err(SuiteError::system(target.display()))?;
        let pins = root.join("clients/traces/requirements.txt");
        let libraries = context.installer.install_from_pypi(&pins, &target.join("python"), 12);
        let session = Session::record(&context.program)?;
        if let Some(python) = result.available("the libraries of OpenTelemetry and ATIF", libraries)? {
            result.versions.extend(pinned_versions(&pins, &LIBRARIES));
            let [otlp, atif] = ["otlp", "atif"].map(|format| session.export(format, &target));
            let mut script = Command::new(&python);
            script.arg(root.join("clients/traces/formats.py")).args([otlp?, atif?]);
            script.arg(session.run_as_trajectory(&target)?);
            run_script(script, result)?;
            check_pages(root, &session, &python, &target, result)?;
        } else {
            result.skip("the pages in a browser", "they need the same Python");
        }
        let pins = root.join("clients/harbor/requirements.txt");
        let harbor = context.installer.install_from_pypi(&pins, &root.join("target/clients/harbor"), 12);
        if let Some(python) = result.available("harbor", harbor)? {
            result.versions.extend(pinned_versions(&pins, &["harbor"]));
            check_harbor(root, &session, &python, &target, result)?;
        }
        Ok(())
    })
}

/// Opens a short and a long page in headless Chromium.
fn check_pages(
    root: &Path,
    session: &Session,
    python: &Path,
    target: &Path,
    result: &mut SuiteResult,
) -> Result<(), SuiteError> {
    let page = session.export("html", target)?;
    let text = fs::read_to_string(&page).map_err(SuiteError::system(page.display()))?;
    let size = size_without_data(&text);
    result.add(&format!("page: {size} bytes without its data"), size <= MAX_PAGE_BYTES, "");
    let Some((browser, version)) = find_browser() else {
        result.skip("the pages in a browser", "no Chromium found (Debian: `apt-get install chromium`)");
        return Ok(());
    };
    result.versions.push(version);
    let stream = target.join("long.ndjson");
    fs::write(&stream, long_stream()).map_err(SuiteError::system(stream.display()))?;
    let long_page = target.join("long.html");
    session.replay(&[stream.as_os_str()], "html", &long_page)?;
    for (name, page) in [("session", page), ("long", long_page)] {
        let mut script = Command::new(python);
        script.arg(root.join("clients/traces/browser.py")).arg(&browser).arg(&page);
        script.arg(target.join(format!("{name}.png")));
        let report: Value = serde_json::from_str(&run_script(script, result)?).unwrap_or_default();
        let ready_ms = report.get("ready_ms").and_then(Value::as_u64);
        result.add(
            &format!("page `{name}`: keys, roles, no request, no error in the console"),
            ready_ms.is_some(),
            "",
        );
        if let (Some(ready_ms), "long") = (ready_ms, name) {
            result.add(
                &format!("page of {LONG_PAGE_EVENTS} events: ready after {ready_ms} ms"),
                ready_ms <= LONG_PAGE_LIMIT_MS,
                "",
            );
        }
    }
    result.details.push(format!(
        "A page of {LONG_PAGE_EVENTS} events must open within {LONG_PAGE_LIMIT_MS} ms on any machine, may send no request, and \
         may have {MAX_PAGE_BYTES} bytes besides its data."
    ));
    Ok(())
}

/// Lets harbor validate a trajectory and make one, which a run continues.
fn check_harbor(
    root: &Path,
    session: &Session,
    python: &Path,
    target: &Path,
    result: &mut SuiteResult,
) -> Result<(), SuiteError> {
    let atif = session.export("atif", target)?;
    let stream = session.export("stream-json", target)?;
    let directory = target.join("harbor");
    fs::create_dir_all(&directory).map_err(SuiteError::system(directory.display()))?;
    let mut script = Command::new(python);
    script.arg(root.join("clients/traces/harbor_trajectory.py")).args([&atif, &stream, &directory]);
    run_script(script, result)?;
    let request = session.continue_trajectory(&directory.join("trajectory.json"))?;
    let expected = session::TEXTS.iter().chain(["Name the files"].iter());
    let missing: Vec<_> = expected.filter(|text| !request.contains(**text)).collect();
    result.add(
        &format!("ATIF: a run continues the trajectory of harbor; missing in its request: {missing:?}"),
        missing.is_empty(),
        "",
    );
    Ok(())
}

/// Returns the size of a page without its rows and its markup for browsers without scripts.
fn size_without_data(page: &str) -> usize {
    let part = |start: &str, end: &str| {
        let from = page.find(start).unwrap_or(page.len());
        page.get(from..).and_then(|rest| rest.find(end)).unwrap_or(0)
    };
    page.len()
        - part("<script type=\"application/json\" id=\"rows\">", "</script>")
        - part("<noscript>", "</noscript>")
}

/// Returns the program of Chromium and its version.
fn find_browser() -> Option<(PathBuf, String)> {
    BROWSERS.into_iter().find_map(|name| {
        let output =
            Command::new(name).arg("--version").output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        Some((PathBuf::from(name), format!("Chromium {version}")))
    })
}

/// Returns a stream of contract 1 with many events: texts, commands and edits.
fn long_stream() -> String {
    const ID: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
    let mut stream = String::new();
    let mut push = |line: Value| {
        // Writing to a string does not fail.
        let _ = writeln!(stream, "{line}");
    };
    push(json!({
        "type": "system", "subtype": "init", "apiKeySource": "env", "cwd": "/w", "session_id": ID,
        "model": "Model", "permissionMode": "default",
    }));
    let message =
        |role: &str, text: &str| json!({ "role": role, "content": [{ "type": "text", "text": text }] });
    push(json!({ "type": "user", "message": message("user", "Port the parser"), "session_id": ID }));
    let mut events = 2;
    for turn in 0_u64.. {
        if events >= LONG_PAGE_EVENTS {
            break;
        }
        let at_ms = 1_700_000_000_000 + turn * 1000;
        let text = "I will **fix** the next `case`.\n\n- first\n- second\n";
        push(json!({
            "type": "assistant", "message": message("assistant", text), "session_id": ID, "timestamp_ms": at_ms,
        }));
        let output = "test result: ok. 1 passed\n".repeat(8);
        let shell_args = json!({ "command": format!("cargo test case_{turn}") });
        let shell_result = json!({ "success": {
            "command": "x", "workingDirectory": "", "exitCode": 0, "signal": "", "stdout": output, "stderr": "",
            "executionTime": 5, "interleavedOutput": output,
        } });
        let edit_args = json!({ "path": format!("src/part_{turn}.rs") });
        let diff = " fn a() {\n-    old()\n+    new()\n }\n".repeat(3);
        let edit_result =
            json!({ "success": { "path": "a", "linesAdded": 3, "linesRemoved": 3, "diffString": diff } });
        for (key, args, result) in
            [("shellToolCall", shell_args, shell_result), ("editToolCall", edit_args, edit_result)]
        {
            let call_id = format!("{key}_{turn}");
            let event = |subtype: &str, body: Value, at_ms: u64| {
                json!({
                    "type": "tool_call", "subtype": subtype, "call_id": call_id, "tool_call": { key: body },
                    "model_call_id": format!("m{turn}"), "session_id": ID, "timestamp_ms": at_ms,
                })
            };
            push(event("started", json!({ "args": args }), at_ms + 100));
            push(event("completed", json!({ "args": args, "result": result }), at_ms + 400));
        }
        events += 5;
    }
    push(json!({
        "type": "result", "subtype": "success", "duration_ms": 5, "duration_api_ms": 5, "is_error": false,
        "result": "", "session_id": ID, "request_id": ID,
    }));
    stream
}
