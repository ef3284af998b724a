//! Token usage in the forms of Chat Completions services.

use ibeam_protocol::Usage;
use serde_json::Value;

use crate::answer_draft::{TokenCount, TokenCounts};

/// Reads a `usage` object. Its prompt count includes cached tokens; [`Usage::input`] does not.
///
/// DeepSeek reports cached tokens as `prompt_cache_hit_tokens`, Moonshot as `cached_tokens`, all others in OpenAI's
/// `prompt_tokens_details`. Azure's Grok reports more cached tokens than prompt tokens.
pub(super) fn parse_usage(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| TokenCount::at(usage, pointer);
    let mut cache_read = count("/prompt_cache_hit_tokens");
    cache_read.update(count("/cached_tokens"));
    cache_read.update(count("/prompt_tokens_details/cached_tokens"));
    let counts = TokenCounts {
        input: count("/prompt_tokens"),
        output: count("/completion_tokens"),
        cache_read,
        cache_write: count("/prompt_tokens_details/cache_write_tokens"),
        reasoning: count("/completion_tokens_details/reasoning_tokens"),
    };
    counts.usage_with_cache_in_input()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(usage: Value, expect: Option<(u64, u64, u64)>) {
        let got = parse_usage(&usage).map(|usage| (usage.input, usage.output, usage.cache_read));
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
        let expect = Usage { input: 1, output: 5, cache_read: 2569, cache_write: 79, ..Usage::default() };
        assert_eq!(parse_usage(&usage), Some(expect));
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
    fn implausible_or_missing_counts_are_not_a_usage() {
        check(json!({ "prompt_tokens": -1, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": 1e30, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": u64::MAX, "completion_tokens": 5 }), None);
        check(json!({ "prompt_tokens": 10 }), None);
        check(json!({ "prompt_tokens": "10", "completion_tokens": 5 }), None);
        check(json!(null), None);
    }
}
