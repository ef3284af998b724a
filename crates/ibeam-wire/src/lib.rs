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
mod contract;
mod digest;
mod event;
mod lines;
mod new_text;
mod reader;
mod scan;

pub use contract::Contract;
pub use event::{
    ApiKeySource, AssistantEvent, CallPhase, DenialEntry, ErrorEvent, Event, InitEvent, InitExtras,
    LimitValues, Message, ResultEvent, RunSummary, SandboxEntry, ServerEntry, TextBlock, TokenUsage,
    ToolCallBody, ToolCallEvent, UserEvent,
};
pub use lines::MAX_LINE_BYTES;
pub use new_text::NewText;
pub use reader::{ReadError, ReadErrorKind, Reader};
pub use scan::parse;
