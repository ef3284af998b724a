//! Reads what `ibeam --print` prints: contracts 1 and 2 of docs/output-format.md.
//!
//! [`Reader`] gives the events of a `stream-json` stream one by one, [`ResultEvent`] is also the one object of `json`,
//! and [`check`] says with line and column where a stream breaks the contract. Depends on serde and serde_json only.
//! Knows nothing of how events come about, and writes none.
//!
//! Streams only grow within a contract, so unknown keys are passed over and unknown events are [`Event::Other`].
//! Each key says its unit, and where it comes from: *published* stands on the page that defines contract 1, a version
//! is that of the ibeam that added it.
//!
//! The answer of a run, from what it prints (as it comes: [`NewText`]):
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
//!     Ok(None) // The run failed: an `error` event, or no end at all.
//! }
//! # let stream = include_bytes!("../../ibeam-output/tests/samples/es.ndjson");
//! # assert!(answer(&stream[..]).unwrap().unwrap().starts_with("Voy a le"));
//! ```

pub mod check;
mod describe;
#[doc(hidden)]
pub mod digest;
mod event;
mod lines;
mod new_text;
mod reader;
mod scan;
mod schema;
pub mod tool;

pub use event::{
    ApiKeySource, AssistantEvent, CallPhase, DeltaEvent, DenialEntry, ErrorEvent, Event, FAILURE_CLASSES,
    FailureClass, InitEvent, InitExtras, InitSubtype, LimitValues, Message, ResultEvent, ResultObject,
    ResultSubtype, RunSummary, SandboxEntry, ServerEntry, TextBlock, TokenUsage, ToolCallBody, ToolCallEvent,
    UserEvent,
};
pub use lines::MAX_LINE_BYTES;
pub use new_text::NewText;
pub use reader::{ReadError, ReadErrorKind, Reader};
pub use scan::parse;
pub use schema::{SchemaTarget, schema};

/// A version of the output contract: docs/output-format.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contract {
    /// The published page and the additions of ibeam: `assistant` events are deltas.
    #[default]
    One,
    /// The output of later releases of the original program: `assistant` events are complete segments, and deltas only
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
