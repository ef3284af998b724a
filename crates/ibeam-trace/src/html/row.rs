//! The rows of a page, as the viewer reads them.

use ibeam_protocol::Usage;
use serde::Serialize;

/// A row. The tag `k` and the short names of the fields are those that `viewer.js` reads.
#[derive(Serialize)]
#[serde(tag = "k", rename_all = "snake_case")]
pub(super) enum Row {
    /// A run starts.
    Run {
        run: u64,
        #[serde(rename = "t")]
        at_ms: u64,
        model: String,
        cwd: String,
        mode: &'static str,
    },
    /// A prompt with the names of its attached files.
    Prompt {
        #[serde(rename = "t")]
        at_ms: u64,
        text: Vec<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        #[serde(rename = "withheld", skip_serializing_if = "std::ops::Not::not")]
        is_withheld: bool,
    },
    /// The text of an answer up to the next call.
    Answer {
        #[serde(rename = "t")]
        at_ms: u64,
        text: String,
    },
    Call(CallRow),
    /// An answered model request; the time is that of its end.
    Request {
        #[serde(rename = "t")]
        at_ms: u64,
        #[serde(rename = "ms")]
        duration_ms: u64,
        model: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(rename = "cost", skip_serializing_if = "Option::is_none")]
        cost_micros: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
    },
    /// A notice for people.
    Notice {
        #[serde(rename = "t")]
        at_ms: u64,
        text: String,
    },
    End {
        #[serde(rename = "t")]
        at_ms: u64,
        #[serde(rename = "ok")]
        is_completed: bool,
        text: String,
        requests: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(rename = "cost", skip_serializing_if = "Option::is_none")]
        cost_micros: Option<u64>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
}

/// A call. The time is that of its start.
#[derive(Serialize)]
pub(super) struct CallRow {
    #[serde(rename = "t")]
    pub(super) at_ms: u64,
    #[serde(rename = "ms", skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    pub(super) action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    pub(super) state: CallState,
    pub(super) blocks: Vec<CallBlock>,
}

/// The state of a call at the end of its run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallState {
    Done,
    Failed,
    Refused,
    /// The run ended before the call.
    Open,
}

/// A part of the content of a call.
#[derive(Serialize)]
pub(super) struct CallBlock {
    /// Whether the block is shown without opening the call.
    #[serde(rename = "o", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_shown: bool,
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    #[serde(flatten)]
    pub(super) content: BlockContent,
}

#[derive(Serialize)]
#[serde(tag = "y", content = "x", rename_all = "snake_case")]
pub(super) enum BlockContent {
    /// Text with its line ends.
    Text(String),
    /// Markdown, of a sub-agent or a web page.
    Markdown(String),
    /// A unified diff.
    Diff(String),
    /// The reason of a failure or refusal.
    Error(String),
    /// A to-do list: the state and the text of each entry.
    Todos(Vec<(String, String)>),
}
