//! Token counts as providers give them, believed only when sane.

use ibeam_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

/// No model takes or gives more tokens at once; a larger figure is a provider's slip, and would make the loop
/// believe that the conversation is too long.
const SANE_TOKENS: u64 = 10_000_000;

/// A figure that may be missing, negative, fractional or absurd.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Count(Value);

impl Count {
    /// The figure when it was given; `Err` when it was given and is no sane count.
    fn get(&self) -> Result<Option<u64>, ()> {
        match &self.0 {
            Value::Null => Ok(None),
            value => match value.as_u64() {
                Some(count) if count <= SANE_TOKENS => Ok(Some(count)),
                Some(_) | None => Err(()),
            },
        }
    }

    /// Takes over `newer` where it was given.
    pub(crate) fn update(&mut self, newer: Self) {
        if !newer.0.is_null() {
            *self = newer;
        }
    }
}

/// Usage from four figures; `None` when input or output is missing or any figure is not sane.
pub(crate) fn usage(input: &Count, output: &Count, cache_read: &Count, cache_write: &Count) -> Option<Usage> {
    Some(Usage {
        input: input.get().ok()??,
        output: output.get().ok()??,
        cache_read: cache_read.get().ok()?.unwrap_or(0),
        cache_write: cache_write.get().ok()?.unwrap_or(0),
    })
}

/// Usage as Chat Completions tells it: its prompt figure includes the cached tokens, ours does not.
///
/// DeepSeek names the cached ones `prompt_cache_hit_tokens`, Moonshot `cached_tokens`, everybody else by OpenAI's
/// details. Azure's Grok reports
/// more cached tokens than prompt tokens; no input is left then, and the cached tokens count as reported.
pub(crate) fn chat_usage(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| Count(usage.pointer(pointer).cloned().unwrap_or_default());
    let mut cache_read = count("/prompt_cache_hit_tokens");
    cache_read.update(count("/cached_tokens"));
    cache_read.update(count("/prompt_tokens_details/cached_tokens"));
    let cache_write = count("/prompt_tokens_details/cache_write_tokens");
    let whole =
        self::usage(&count("/prompt_tokens"), &count("/completion_tokens"), &cache_read, &cache_write)?;
    let input = whole.input.saturating_sub(whole.cache_read).saturating_sub(whole.cache_write);
    Some(Usage { input, ..whole })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(usage: Value, expect: Option<(u64, u64, u64)>) {
        let got = chat_usage(&usage).map(|usage| (usage.input, usage.output, usage.cache_read));
        assert_eq!(got, expect, "{usage}");
    }

    #[test]
    fn more_cached_than_prompt_tokens_leave_no_input_and_count_as_reported() {
        let details = json!({ "cached_tokens": 161, "text_tokens": 7 });
        let usage = json!({ "prompt_tokens": 7, "completion_tokens": 8, "prompt_tokens_details": details });
        check(usage, Some((0, 8, 161)));
        check(
            json!({ "prompt_tokens": 1, "completion_tokens": 5, "prompt_cache_hit_tokens": 2 }),
            Some((0, 5, 2)),
        );
    }

    #[test]
    fn tokens_written_to_the_cache_are_not_counted_as_input() {
        let details = json!({ "cached_tokens": 2569, "cache_write_tokens": 79 });
        let usage =
            json!({ "prompt_tokens": 2649, "completion_tokens": 5, "prompt_tokens_details": details });
        let expect = Usage { input: 1, output: 5, cache_read: 2569, cache_write: 79 };
        assert_eq!(chat_usage(&usage), Some(expect));
    }

    #[test]
    fn cached_tokens_are_not_counted_as_input() {
        let details = json!({ "cached_tokens": 70 });
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details });
        check(usage, Some((30, 5, 70)));
        let deepseek = json!({ "prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64 });
        check(deepseek, Some((36, 5, 64)));
        check(json!({ "prompt_tokens": 20, "completion_tokens": 5, "cached_tokens": 10 }), Some((10, 5, 10)));
    }

    #[test]
    fn figures_that_cannot_be_are_no_usage() {
        check(json!({ "prompt_tokens": -1, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": 1e30, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": u64::MAX, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": 10 }), None);
        check(json!({ "prompt_tokens": "10", "completion_tokens": 5 }), None);
        check(json!(null), None);
    }
}
