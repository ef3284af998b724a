//! The recorded calls of the program and their output. The client's report is compared with this output.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

/// One call of the program by a client: its arguments, its output and its exit code.
#[derive(Debug)]
pub(super) struct ProgramCall {
    name: String,
    args: Vec<String>,
    pub(super) code: i64,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The record of a call, which the proxy writes as JSON.
#[derive(Deserialize)]
struct CallRecord {
    name: String,
    args: Vec<String>,
    code: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

impl ProgramCall {
    /// Reads the records of a directory, in the order in which the calls started.
    pub(super) fn read_all(directory: &Path) -> io::Result<Vec<Self>> {
        let mut names: Vec<_> = fs::read_dir(directory)?.flatten().map(|entry| entry.path()).collect();
        names.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        names.sort();
        let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let call = |path: &std::path::PathBuf| {
            let CallRecord { name, args, code } = serde_json::from_str(&read(path)?)?;
            let (stdout, stderr) =
                (read(&path.with_extension("stdout"))?, read(&path.with_extension("stderr"))?);
            Ok(Self { name, args, code, stdout, stderr })
        };
        names.iter().map(call).collect()
    }

    /// Whether the call has a prompt.
    pub(super) fn is_run(&self) -> bool {
        self.args.iter().any(|arg| arg == "-p" || arg == "--print")
    }

    /// Returns the command line with shortened arguments.
    pub(super) fn display_line(&self) -> String {
        let displayed = |arg: &String| {
            let mut displayed: String = arg.chars().take(60).collect();
            if displayed.len() < arg.len() {
                displayed.push('…');
            }
            match displayed.contains(char::is_whitespace) {
                true => format!("{displayed:?}"),
                false => displayed,
            }
        };
        let words: Vec<String> = std::iter::once(&self.name).chain(&self.args).map(displayed).collect();
        words.join(" ")
    }

    /// Returns the format of stdout, detected by its first line.
    pub(super) fn format(&self) -> OutputFormat {
        match self.stdout.lines().next().and_then(|line| serde_json::from_str::<PrintedEvent>(line).ok()) {
            Some(first) if first.kind == "system" => OutputFormat::StreamJson,
            Some(first) if first.kind == "result" => OutputFormat::Json,
            _ => OutputFormat::Text,
        }
    }

    /// Parses the answer out of a stream or of one object.
    ///
    /// # Errors
    /// The first line that is not an event, or a contradiction between events.
    pub(super) fn answer(&self) -> Result<PrintedAnswer, String> {
        let mut answer = PrintedAnswer::default();
        let mut part = String::new();
        for line in self.stdout.lines() {
            let event: PrintedEvent =
                serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
            answer.session_id.clone_from(&event.session_id);
            if matches!(event.kind.as_str(), "tool_call" | "result") && !part.is_empty() {
                answer.parts.push(std::mem::take(&mut part));
            }
            match event.kind.as_str() {
                "assistant" => {
                    let delta = event.timestamp_ms.is_some() && event.model_call_id.is_none();
                    let text = event.message.unwrap_or_default().text();
                    answer.last_event.clone_from(&text);
                    answer.events.push(text.clone());
                    match (delta, part.is_empty()) {
                        (true, _) | (false, true) => part.push_str(&text),
                        // A complete part after its deltas repeats them.
                        (false, false) if part == text => {}
                        (false, false) => {
                            return Err(format!("the deltas are {part:?}, the complete part is {text:?}"));
                        }
                    }
                }
                "tool_call" => answer.calls += usize::from(event.subtype == "completed"),
                "result" => {
                    answer.complete = event.result.unwrap_or_default();
                    answer.usage = event.usage;
                }
                _ => {}
            }
        }
        Ok(answer)
    }
}

/// The fields of an event that are compared.
#[derive(Deserialize)]
struct PrintedEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: String,
    session_id: String,
    message: Option<PrintedMessage>,
    timestamp_ms: Option<u64>,
    model_call_id: Option<String>,
    result: Option<String>,
    usage: Option<PrintedUsage>,
}

#[derive(Default, Deserialize)]
struct PrintedMessage {
    content: Vec<PrintedBlock>,
}

#[derive(Deserialize)]
struct PrintedBlock {
    text: String,
}

impl PrintedMessage {
    fn text(self) -> String {
        self.content.into_iter().map(|block| block.text).collect()
    }
}

/// The tokens of a run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrintedUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default)]
pub(super) struct PrintedAnswer {
    pub(super) session_id: String,
    /// The text of `result`.
    pub(super) complete: String,
    /// The texts between the calls; empty for `json`.
    pub(super) parts: Vec<String>,
    /// The text of the last `assistant` event, even if the event is only a delta.
    pub(super) last_event: String,
    /// The text of each `assistant` event.
    pub(super) events: Vec<String>,
    /// The number of completed calls.
    pub(super) calls: usize,
    pub(super) usage: Option<PrintedUsage>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn run(stdout: &str) -> ProgramCall {
        let args = ["-p", "--output-format=stream-json", "a prompt"].map(str::to_owned).to_vec();
        ProgramCall {
            name: "agent".to_owned(),
            args,
            code: 0,
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    /// A stream of contract 1: two deltas, a call, a delta.
    pub(in super::super) const STREAM: &str = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I "}]},"session_id":"s","timestamp_ms":1}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"look."}]},"session_id":"s","timestamp_ms":2}"#,
        "\n",
        r#"{"type":"tool_call","subtype":"started","session_id":"s","timestamp_ms":3}"#,
        "\n",
        r#"{"type":"tool_call","subtype":"completed","session_id":"s","timestamp_ms":4}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]},"session_id":"s","timestamp_ms":5}"#,
        "\n",
        r#"{"type":"result","result":"I look.Done.","session_id":"s","usage":{"inputTokens":7,"outputTokens":3}}"#,
        "\n",
    );

    #[track_caller]
    fn check(stdout: &str, parts: &[&str], calls: usize) {
        let answer = run(stdout).answer().unwrap();
        assert_eq!(answer.parts, parts);
        assert_eq!((answer.calls, answer.session_id.as_str()), (calls, "s"));
    }

    #[test]
    fn deltas_are_joined_and_a_complete_part_after_them_repeats_them() {
        check(STREAM, &["I look.", "Done."], 1);
        let flush =
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]},"session_id":"s"}"#;
        let (begin, result) = STREAM.split_at(STREAM.find(r#"{"type":"result""#).unwrap());
        check(&format!("{begin}{flush}\n{result}"), &["I look.", "Done."], 1);
        let other = flush.replace("Done.", "Gone.");
        assert!(run(&format!("{begin}{other}\n{result}")).answer().is_err());
    }

    #[test]
    fn formats_are_detected_by_their_first_line() {
        assert_eq!(run(STREAM).format(), OutputFormat::StreamJson);
        assert_eq!(run(STREAM.lines().last().unwrap()).format(), OutputFormat::Json);
        assert_eq!(run("Read file\n\nDone.\n").format(), OutputFormat::Text);
        assert!(run("Read file\n").answer().is_err());
    }
}
