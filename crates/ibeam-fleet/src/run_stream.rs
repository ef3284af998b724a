//! The summary of the stream of a run: its session and its end.
//!
//! Reads the contract of `--output-format stream-json` (docs/output-format.md). A stream without its last line is that of
//! a run that was killed.

use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;

use crate::dollars::usd_to_micros;
use crate::task_result::TaskUsage;

/// The beginning of the line with a prompt.
pub(crate) const USER_LINE: &[u8] = br#"{"type":"user","#;

/// The summary of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunStream {
    /// The session, if the run had started.
    pub(crate) session_id: Option<String>,
    /// Whether the session got its prompt in this stream.
    pub(crate) has_prompt: bool,
    /// The last line, if the run wrote it.
    pub(crate) end: Option<RunEnd>,
}

/// The last line of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunEnd {
    /// The failure, unless the run completed.
    pub(crate) failure: Option<RunFailure>,
    pub(crate) usage: TaskUsage,
    /// `None` if the price is unknown.
    pub(crate) cost_micros: Option<u64>,
    pub(crate) duration_ms: u64,
    /// The model with most requests.
    pub(crate) model: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunFailure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) exit_code: i32,
    pub(crate) retryable: bool,
    pub(crate) retry_after_ms: Option<u64>,
    http_status: Option<u16>,
    /// The number of requests that the run repeated.
    retries: u64,
}

impl RunFailure {
    /// Whether the run waits for the answer to a request.
    pub(crate) fn is_parked(&self) -> bool {
        self.code == "parked"
    }

    /// Whether further runs would fail in the same way: the key is refused, or a quota is exhausted.
    ///
    /// A run repeats a request after an ordinary rate limit. A limit after which it did not even try is one of a quota.
    pub(crate) fn is_exhausted(&self) -> bool {
        match self.code.as_str() {
            "auth" => true,
            "rate_limited" => self.http_status == Some(402) || self.retries == 0,
            _ => false,
        }
    }

    /// Whether the cause is outside of the task: the command, the machine or the network. The task may pass once it is
    /// removed.
    pub(crate) fn is_outside_of_task(&self) -> bool {
        OUTSIDE_CLASSES.contains(&self.code.as_str())
    }
}

/// The classes of failures for which the task is not the cause, but the command, the machine or the network.
const OUTSIDE_CLASSES: [&str; 11] = [
    "usage",
    "config",
    "noinput",
    "model",
    "untrusted",
    "network",
    "tls",
    "sandbox",
    "cantcreat",
    "io",
    "os",
];

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    code: Option<String>,
    message: Option<serde_json::Value>,
    exit_code: Option<i32>,
    #[serde(default)]
    retryable: bool,
    retry_after_ms: Option<u64>,
    http_status: Option<u16>,
    usage: Option<TaskUsage>,
    #[serde(default)]
    duration_ms: u64,
    #[serde(default)]
    ibeam: Totals,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Totals {
    cost_usd: Option<f64>,
    retries: u64,
    models: Vec<ModelTotals>,
}

#[derive(Deserialize)]
struct ModelTotals {
    model: String,
    #[serde(default)]
    requests: u64,
    usage: Option<TaskUsage>,
}

impl RunStream {
    /// Whether the run completed.
    pub(crate) fn is_completed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.failure.is_none())
    }

    /// Reads a stream, which may be cut anywhere.
    pub(crate) fn read(stream: impl Read) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut last) = (Vec::new(), Vec::new());
        let (mut session_id, mut has_prompt) = (None, false);
        while reader.read_until(b'\n', &mut line)? > 0 {
            if !line.ends_with(b"\n") {
                // The process was killed while it wrote.
                break;
            }
            if session_id.is_none() {
                session_id = parse(&line).and_then(|line| line.session_id);
            }
            has_prompt |= line.starts_with(USER_LINE);
            std::mem::swap(&mut line, &mut last);
            line.clear();
        }
        let end = parse(&last).and_then(RunEnd::from_line);
        Ok(Self { session_id, has_prompt, end })
    }
}

/// Returns the last session of these streams that got its prompt. Without one, a run would not know its task.
pub(crate) fn resumable_session(streams: &[RunStream]) -> Option<&str> {
    streams.iter().rev().filter(|stream| stream.has_prompt).find_map(|stream| stream.session_id.as_deref())
}

impl RunEnd {
    fn from_line(line: Line) -> Option<Self> {
        let Line { kind, ibeam, .. } = line;
        let failure = match kind.as_str() {
            "result" => None,
            "error" => Some(RunFailure {
                code: line.code.unwrap_or_default(),
                message: line.message.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default(),
                exit_code: line.exit_code.unwrap_or(1),
                retryable: line.retryable,
                retry_after_ms: line.retry_after_ms,
                http_status: line.http_status,
                retries: ibeam.retries,
            }),
            _ => return None,
        };
        let mut usage = line.usage.unwrap_or_default();
        if line.usage.is_none() {
            ibeam.models.iter().filter_map(|model| model.usage).for_each(|tokens| usage.add(&tokens));
        }
        // A run without any request has no cost, and does not report one.
        let free = ibeam.models.is_empty().then_some(0.0);
        Some(Self {
            failure,
            usage,
            cost_micros: ibeam.cost_usd.or(free).and_then(usd_to_micros),
            duration_ms: line.duration_ms,
            model: ibeam.models.into_iter().max_by_key(|model| model.requests).map(|model| model.model),
        })
    }
}

fn parse(line: &[u8]) -> Option<Line> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"M"}"#;
    const TEXT: &str =
        r#"{"type":"assistant","message":{"role":"assistant","content":[]},"session_id":"s1"}"#;
    const RESULT: &str = r#"{"type":"result","subtype":"success","duration_ms":12,"session_id":"s1","usage":{"inputTokens":9,"outputTokens":4,"cacheReadTokens":0,"cacheWriteTokens":1},"ibeam":{"cost_usd":0.25,"retries":0,"models":[{"model":"p/m","requests":2}]}}"#;

    fn read(lines: &[&str]) -> RunStream {
        RunStream::read(lines.join("\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_complete_stream_has_a_session_and_an_end() {
        let stream = read(&[INIT, TEXT, RESULT, ""]);
        let end = stream.end.unwrap();
        assert_eq!(stream.session_id.as_deref(), Some("s1"));
        assert_eq!((end.failure, end.cost_micros, end.duration_ms), (None, Some(250_000), 12));
        assert_eq!((end.usage.total(), end.model.as_deref()), (14, Some("p/m")));
    }

    #[test]
    fn a_cut_stream_has_no_end_wherever_it_was_cut() {
        let whole = format!("{INIT}\n{TEXT}\n{RESULT}\n");
        for cut in 0..whole.len() {
            let stream = RunStream::read(&whole.as_bytes()[..cut]).unwrap();
            assert_eq!(stream.end, None, "cut at {cut}");
            assert_eq!(stream.session_id.is_some(), cut > INIT.len(), "cut at {cut}");
        }
    }

    #[test]
    fn a_session_is_resumed_once_it_has_its_prompt() {
        let user = r#"{"type":"user","message":{"role":"user","content":[]},"session_id":"s1"}"#;
        let (started, prompted, continued) = (read(&[INIT, ""]), read(&[INIT, user, ""]), read(&[INIT, ""]));
        assert_eq!(resumable_session(std::slice::from_ref(&started)), None);
        assert_eq!(resumable_session(&[started, prompted.clone(), continued]), Some("s1"));
        // A copy of the session that was killed before it had a prompt of its own.
        let copy = RunStream { session_id: Some("s2".to_owned()), ..RunStream::default() };
        assert_eq!(resumable_session(&[prompted, copy]), Some("s1"));
    }

    #[test]
    fn faults_of_the_command_and_the_machine_are_not_those_of_the_task() {
        for (code, expected) in
            [("noinput", true), ("model", true), ("network", true), ("limit", false), ("refused", false)]
        {
            let stream = read(&[&format!(r#"{{"type":"error","code":"{code}","exit_code":1}}"#), ""]);
            assert_eq!(stream.end.unwrap().failure.unwrap().is_outside_of_task(), expected, "{code}");
        }
    }

    #[test]
    fn a_quota_is_exhausted_where_the_run_did_not_even_repeat_its_request() {
        let error = |rest: &str| format!(r#"{{"type":"error","message":"m","exit_code":24,{rest}}}"#);
        for (rest, expected) in [
            (r#""code":"rate_limited","http_status":402"#, true),
            (r#""code":"rate_limited","http_status":429,"ibeam":{"retries":0}"#, true),
            (r#""code":"rate_limited","http_status":429,"ibeam":{"retries":4}"#, false),
            (r#""code":"auth","http_status":401"#, true),
            (r#""code":"provider","http_status":529"#, false),
        ] {
            let stream = read(&[&error(rest), ""]);
            assert_eq!(stream.end.unwrap().failure.unwrap().is_exhausted(), expected, "{rest}");
        }
    }
}
