//! Finds the name that a mistyped one probably means.

/// The number of characters from which a prefix of a name counts as similar.
const MIN_PREFIX_CHARS: usize = 3;

/// Returns the candidate that `typed` most likely means; `None` if no candidate is similar.
pub fn closest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().filter(|candidate| is_similar(typed, candidate));
    near.min_by_key(|candidate| (!candidate.starts_with(typed), distance(typed, candidate)))
}

/// Returns at most `max` candidates that `typed` may mean, the most similar first.
pub(crate) fn most_similar(
    typed: &str,
    candidates: impl IntoIterator<Item = String>,
    max: usize,
) -> Vec<String> {
    let near = candidates.into_iter().filter(|candidate| is_similar(typed, candidate));
    let mut near: Vec<String> = near.collect();
    near.sort_by_cached_key(|candidate| (distance(typed, candidate), candidate.clone()));
    near.dedup();
    near.truncate(max);
    near
}

/// Whether `typed` probably means `candidate`: at most a third of the characters differ, or it is a prefix.
pub fn is_similar(typed: &str, candidate: &str) -> bool {
    let length = typed.chars().count();
    let longest = length.max(candidate.chars().count());
    let is_prefix = length >= MIN_PREFIX_CHARS && candidate.starts_with(typed);
    typed != candidate && (is_prefix || 3 * distance(typed, candidate) <= longest)
}

/// Whether one character inserted, deleted, replaced or swapped with the next one turns `typed` into `candidate`.
pub fn is_one_edit_away(typed: &str, candidate: &str) -> bool {
    distance(typed, candidate) == 1
}

/// Returns how many characters must be inserted, deleted, replaced or swapped with the next one, ignoring case.
fn distance(typed: &str, candidate: &str) -> usize {
    strsim::osa_distance(&typed.to_lowercase(), &candidate.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["anthropic", "openai", "openrouter", "groq", "xai", "ollama"];

    #[track_caller]
    fn check(typed: &str, expect: Option<&str>) {
        assert_eq!(closest(typed, NAMES), expect, "{typed}");
    }

    #[test]
    fn a_mistyped_name_finds_the_right_one() {
        check("openia", Some("openai"));
        check("OpenAI", Some("openai"));
        check("antropic", Some("anthropic"));
        check("open-router", Some("openrouter"));
        check("grok", Some("groq"));
        check("xia", Some("xai"));
        check("olama", Some("ollama"));
    }

    #[test]
    fn a_prefix_finds_the_name() {
        check("anth", Some("anthropic"));
        check("openr", Some("openrouter"));
        check("an", None);
    }

    #[test]
    fn a_different_name_or_the_same_name_finds_nothing() {
        for typed in ["nope", "nobody", "gemini", "a", "", "claude", "openai"] {
            let near = closest(typed, NAMES);
            assert_ne!(near, Some(typed));
            assert!(near.is_none() || typed == "openai", "{typed}: {near:?}");
        }
    }
}
