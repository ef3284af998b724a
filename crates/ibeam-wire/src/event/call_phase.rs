//! The phase of a call that an event states.

use serde::{Deserialize, Serialize};

use crate::describe::{Describe, Shape};

/// The start or the end of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPhase {
    /// The call starts.
    #[default]
    Started,
    /// The call has ended, with success or not.
    Completed,
}

impl Describe for CallPhase {
    const SHAPE: Shape = Shape::Enum(&["started", "completed"]);
}
