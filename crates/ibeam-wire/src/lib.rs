//! The output contract of `ibeam --print`: contracts 1 and 2 of docs/output-format.md.
//!
//! [`Event`] and [`tool`] declare the types, which serialize and deserialize. [`schema()`] returns their JSON Schema.
//! [`Reader`] reads the events of a `stream-json` stream one by one; [`ResultEvent`] is also the one object of `json`.
//! [`check`] reports with line and column where a stream breaks the contract. The crate depends on serde and serde_json
//! only and does not produce events.
//!
//! Within a contract, versions only add keys and events. Readers ignore unknown keys and read unknown events as
//! [`Event::Other`].
//!
//! An example that returns the answer of a run from its stream. [`NewText`] returns it delta by delta.
//!
//! ```
//! use ibeam_wire::{Event, ReadError, Reader};
//!
//! fn answer(stream: impl std::io::BufRead) -> Result<Option<String>, ReadError> {
//!     for event in Reader::new(stream) {
//!         if let Event::Result(end) = event? {
//!             return Ok(Some(end.result));
//!         }
//!     }
//!     Ok(None) // The run failed: the stream has an `error` event or no end.
//! }
//! # let stream = include_bytes!("../../ibeam-output/tests/samples/es.ndjson");
//! # assert!(answer(&stream[..]).unwrap().unwrap().starts_with("Voy a le"));
//! ```
#![warn(missing_docs, reason = "programs of others use the crate as a library")]

pub mod check;
mod describe;
#[doc(hidden)]
pub mod digest;
mod event;
mod input;
mod lines;
mod reader;
mod scan;
mod schema;
pub mod tool;

pub use event::{
    ApiKeySource, AssistantEvent, AttachmentEntry, BackgroundEndEntry, CallPhase, DeltaEvent, DenialEntry,
    ErrorEvent, Event, FAILURE_CLASSES, FailureClass, FallbackEntry, FallbackSubtype, InitEvent, InitExtras,
    InitSubtype, LimitValues, Message, ModelCosts, ModelFallbackEvent, ModelTokens, ModelUsage, ResultEvent,
    ResultObject, ResultSubtype, RunSummary, SandboxEntry, ServerEntry, TextBlock, TokenUsage, ToolCallBody,
    ToolCallEvent, UserEvent, UserExtras,
};
pub use input::{
    Delivery, Input, InputBlock, InputError, InputErrorKind, InputMessage, InputOptions, InputReader,
    InterruptInput, MAX_INPUT_LINE_BYTES, MediaSource, UserInput,
};
pub use lines::MAX_LINE_BYTES;
pub use reader::{NewText, ReadError, ReadErrorKind, Reader};
pub use scan::parse;
pub use schema::{SchemaTarget, schema};

/// A version of the output contract: docs/output-format.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contract {
    /// The published page of the Cursor CLI and the additions of ibeam: `assistant` events are deltas.
    #[default]
    One,
    /// The output of later releases of the Cursor CLI: `assistant` events are complete segments, and deltas only
    /// with `--stream-partial-output`.
    Two,
}

impl Contract {
    /// Every version, oldest first.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// Returns the value of `init.ibeam.contract`, of `--contract` and of `IBEAM_CONTRACT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
        }
    }

    /// Returns the contract with this name, or `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contract| contract.as_str() == name)
    }
}
