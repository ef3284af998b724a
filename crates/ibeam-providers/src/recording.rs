//! Recordings of the traffic with models, and their replay.
//!
//! A recording is one exchange: a request in its canonical form, and the response with the times of its chunks.
//! [`Recorder`] makes recordings of live traffic. [`Player`] answers requests from recordings and opens no connection.
//! The caller stores and loads the files; their format is in `docs/recordings.md`.
//!
//! Exchanges over HTTP are recorded at the transport, below every wire protocol. A model without a transport, such as
//! the embedded one, is recorded by [`RecordedProvider`] as the events of its answers.

mod canonical;
mod exchange;
mod http_recording;
mod player;
mod recorded_provider;
mod recorder;
mod response_body;

use std::sync::Arc;

pub use canonical::Normalizer;
pub(crate) use exchange::ExchangeOutcome;
pub use exchange::{Exchange, RecordingError};
pub(crate) use http_recording::HttpRecording;
pub use player::{Player, ReplaySpeed};
pub use recorded_provider::{AnswerSource, RecordedProvider};
pub use recorder::{Recorder, RecordingStore};
pub(crate) use response_body::{BodyError, LiveBody, LiveResponse, ReplayedBody, ResponseBody};

/// The mode of the traffic with models: live, recorded or replayed.
#[derive(Clone, Debug, Default)]
pub enum TrafficMode {
    /// Requests are sent.
    #[default]
    Live,
    /// Requests are sent, and each exchange is recorded.
    Record(Arc<Recorder>),
    /// Requests are answered from recordings. No connection is opened.
    Replay(Arc<Player>),
}

impl TrafficMode {
    /// Returns the player of a replay.
    pub fn player(&self) -> Option<&Arc<Player>> {
        match self {
            Self::Replay(player) => Some(player),
            Self::Live | Self::Record(_) => None,
        }
    }
}
