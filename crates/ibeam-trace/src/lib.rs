//! Exports of recorded runs, for people and for other programs.
//!
//! [`Html`] is one page to read, [`OtlpSpans`] are spans of OpenTelemetry, [`AtifWriter`] writes a trajectory and
//! [`AtifHistory`] reads one. [`Comparison`] shows two of them side by side. All exports consume the events of a run,
//! recorded or live. They do not use the disk, the network, the environment or the agent loop. No export contains the
//! thinking of the model.

mod atif;
mod comparison;
mod html;
mod otlp;

pub use atif::{AtifError, AtifHistory, AtifWriter};
pub use comparison::{Comparison, SessionFacts};
pub use html::Html;
pub use otlp::{OtlpOptions, OtlpSpans, OtlpWriter, SpanId, TraceContext, TraceId};

/// Returns millionths of a dollar in dollars.
#[expect(clippy::cast_precision_loss, reason = "no cost has more than 15 digits")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}
