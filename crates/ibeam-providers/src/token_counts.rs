//! Token counts as services report them.

use ibeam_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

/// The maximum plausible count: no model accepts or generates more tokens at once. A larger count is a defect of the
/// service, and would make the agent loop compact the conversation.
const TOKEN_LIMIT: u64 = 10_000_000;

/// A count that may be missing, negative, fractional or absurd.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct TokenCount(Value);

impl TokenCount {
    /// Returns the count at `pointer` (RFC 6901) in `usage`.
    pub(crate) fn at(usage: &Value, pointer: &str) -> Self {
        Self(usage.pointer(pointer).cloned().unwrap_or_default())
    }

    /// Returns the count if the service gave one; an error if it is not plausible.
    fn get(&self) -> Result<Option<u64>, ()> {
        match &self.0 {
            Value::Null => Ok(None),
            value => match value.as_u64() {
                Some(count) if count <= TOKEN_LIMIT => Ok(Some(count)),
                Some(_) | None => Err(()),
            },
        }
    }

    /// Replaces the count by `newer` if that has a value.
    pub(crate) fn update(&mut self, newer: Self) {
        if !newer.0.is_null() {
            *self = newer;
        }
    }
}

/// Returns the usage, or `None` if input or output is missing or any count is not plausible.
pub(crate) fn usage_from_counts(
    input: &TokenCount,
    output: &TokenCount,
    cache_read: &TokenCount,
    cache_write: &TokenCount,
) -> Option<Usage> {
    Some(Usage {
        input: input.get().ok()??,
        output: output.get().ok()??,
        cache_read: cache_read.get().ok()?.unwrap_or(0),
        cache_write: cache_write.get().ok()?.unwrap_or(0),
    })
}
