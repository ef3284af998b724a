//! Tokens counted by the provider.

use serde::{Deserialize, Serialize};

/// Tokens of one model request, or of a run as their sum; `input` excludes both cache classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Generated tokens, thinking included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// All tokens, of every class; saturating.
    pub fn total(self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Tokens of the request alone, cached or not; saturating.
    pub fn prompt(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// The sum of two counts, saturating: a provider's absurd figure must not end a run.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}
