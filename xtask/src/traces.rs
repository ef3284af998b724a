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

use ibeam_testkit::{BuildError, build_program};
use serde_json::{Value, json};

use self::session::Session;
use crate::clients::{ClientsError, Installer, pinned_versions};
use crate::conformance::{ConformanceError, Counts, SuiteResult, record};

const USAGE: &str = "usage: cargo xtask traces [--bin PATH]";

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

/// A failure of this subcommand, or of checks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TracesError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program that could not be started, or a file that could not be read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The libraries could not be installed.
    #[error("{0}")]
    Installation(Box<ClientsError>),
    /// The result could not be recorded.
    #[error(transparent)]
    Record(#[from] ConformanceError),
    /// The program under test failed; the text has its messages.
    #[error("`ibeam {0}` failed: {1}")]
    Run(String, String),
    /// The number of failed checks, which are already printed.
    #[error("{0} checks of the exports failed")]
    Checks(usize),
}

impl From<ClientsError> for TracesError {
    fn from(error: ClientsError) -> Self {
        Self::Installation(Box::new(error))
    }
}

impl TracesError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// The results so far.
#[derive(Default)]
struct Tally {
    counts: Counts,
    versions: Vec<String>,
    details: Vec<String>,
}

impl Tally {
    /// Prints and counts the result of a check.
    fn check(&mut self, name: &str, is_passed: bool) {
        println!("{} {name}", if is_passed { "PASS" } else { "FAIL" });
        *(if is_passed { &mut self.counts.passed } else { &mut self.counts.failed }) += 1;
    }

    /// Prints and counts checks that this machine cannot run.
    fn skip(&mut self, name: &str, missing: &str) {
        eprintln!("SKIP: {name}: {missing}");
        self.counts.skipped += 1;
    }

    /// Runs a script that prints a line for each check, and counts the lines.
    fn run_script(&mut self, mut script: Command) -> Result<String, TracesError> {
        let display = format!("{script:?}");
        let output = script.output().map_err(TracesError::system(display))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        print!("{text}");
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        self.counts.passed += text.lines().filter(|line| line.starts_with("PASS ")).count();
        self.counts.failed += usize::from(!output.status.success());
        Ok(text)
    }
}

/// Runs all checks and records the result.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), TracesError> {
    let program = match (words.next().as_deref(), words.next(), words.next()) {
        (None, ..) => build_program(root)?,
        (Some("--bin"), Some(path), None) => fs::canonicalize(&path).map_err(TracesError::system(path))?,
        _ => return Err(TracesError::Usage("the only option is `--bin PATH`".to_owned())),
    };
    let target = root.join("target/traces");
    fs::create_dir_all(&target).map_err(TracesError::system(target.display()))?;
    let installer = Installer::new(root);
    let pins = root.join("clients/traces/requirements.txt");
    let libraries = installer.install_from_pypi(&pins, &root.join("target/traces/python"), 12)?;
    let session = Session::record(&program)?;
    let mut tally = Tally::default();
    match &libraries {
        Ok(python) => {
            tally.versions.extend(pinned_versions(&pins, &LIBRARIES));
            let [otlp, atif] = ["otlp", "atif"].map(|format| session.export(format, &target));
            let mut script = Command::new(python);
            script.arg(root.join("clients/traces/formats.py")).args([otlp?, atif?]);
            script.arg(session.run_as_trajectory(&target)?);
            tally.run_script(script)?;
            check_pages(root, &session, python, &target, &mut tally)?;
        }
        Err(missing) => {
            tally.skip("the libraries of OpenTelemetry and ATIF", missing);
            tally.skip("the pages in a browser", missing);
        }
    }
    let harbor = root.join("clients/harbor/requirements.txt");
    match installer.install_from_pypi(&harbor, &root.join("target/clients/harbor"), 12)? {
        Ok(python) => {
            tally.versions.extend(pinned_versions(&harbor, &["harbor"]));
            check_harbor(root, &session, &python, &target, &mut tally)?;
        }
        Err(missing) => tally.skip("harbor", &missing),
    }
    let Tally { counts, versions, details } = tally;
    println!("traces: {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    record(root, "traces", SuiteResult { versions, counts, details })?;
    if counts.failed == 0 { Ok(()) } else { Err(TracesError::Checks(counts.failed)) }
}

/// Opens a short and a long page in headless Chromium.
fn check_pages(
    root: &Path,
    session: &Session,
    python: &Path,
    target: &Path,
    tally: &mut Tally,
) -> Result<(), TracesError> {
    let page = session.export("html", target)?;
    let text = fs::read_to_string(&page).map_err(TracesError::system(page.display()))?;
    let size = size_without_data(&text);
    tally.check(&format!("page: {size} bytes without its data"), size <= MAX_PAGE_BYTES);
    let Some((browser, version)) = find_browser() else {
        tally.skip("the pages in a browser", "no Chromium found (Debian: `apt-get install chromium`)");
        return Ok(());
    };
    tally.versions.push(version);
    let stream = target.join("long.ndjson");
    fs::write(&stream, long_stream()).map_err(TracesError::system(stream.display()))?;
    let long_page = target.join("long.html");
    session.replay(&[stream.as_os_str()], "html", &long_page)?;
    for (name, page) in [("session", page), ("long", long_page)] {
        let mut script = Command::new(python);
        script.arg(root.join("clients/traces/browser.py")).arg(&browser).arg(&page);
        script.arg(target.join(format!("{name}.png")));
        let report: Value = serde_json::from_str(&tally.run_script(script)?).unwrap_or_default();
        let ready_ms = report.get("ready_ms").and_then(Value::as_u64);
        tally.check(
            &format!("page `{name}`: keys, roles, no request, no error in the console"),
            ready_ms.is_some(),
        );
        if let (Some(ready_ms), "long") = (ready_ms, name) {
            tally.check(
                &format!("page of {LONG_PAGE_EVENTS} events: ready after {ready_ms} ms"),
                ready_ms <= LONG_PAGE_LIMIT_MS,
            );
        }
    }
    tally.details.push(format!(
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
    tally: &mut Tally,
) -> Result<(), TracesError> {
    let atif = session.export("atif", target)?;
    let stream = session.export("stream-json", target)?;
    let directory = target.join("harbor");
    fs::create_dir_all(&directory).map_err(TracesError::system(directory.display()))?;
    let mut script = Command::new(python);
    script.arg(root.join("clients/traces/harbor_trajectory.py")).args([&atif, &stream, &directory]);
    tally.run_script(script)?;
    let request = session.continue_trajectory(&directory.join("trajectory.json"))?;
    let expected = session::TEXTS.iter().chain(["Name the files"].iter());
    let missing: Vec<_> = expected.filter(|text| !request.contains(**text)).collect();
    tally.check(
        &format!("ATIF: a run continues the trajectory of harbor; missing in its request: {missing:?}"),
        missing.is_empty(),
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
