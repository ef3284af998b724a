//! Names that are close enough to what was typed to be meant.

/// The characters that a word needs to be the beginning of the name that is meant.
const SHORTEST_BEGINNING: usize = 3;

/// Returns the candidate that `typed` most likely means; none where all are too far from it.
pub(crate) fn closest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().filter(|candidate| is_similar(typed, candidate));
    near.min_by_key(|candidate| (!candidate.starts_with(typed), distance(typed, candidate)))
}

/// Whether `typed` is likely to mean `candidate`: at most a third of its characters differ, or it is cut short.
pub(crate) fn is_similar(typed: &str, candidate: &str) -> bool {
    let length = typed.chars().count();
    let longest = length.max(candidate.chars().count());
    let is_beginning = length >= SHORTEST_BEGINNING && candidate.starts_with(typed);
    typed != candidate && (is_beginning || 3 * distance(typed, candidate) <= longest)
}

/// Returns the number of characters to insert, delete, replace or swap with the next one; letter case is none.
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
    fn a_slip_leads_to_the_name_that_is_meant() {
        check("openia", Some("openai"));
        check("OpenAI", Some("openai"));
        check("antropic", Some("anthropic"));
        check("open-router", Some("openrouter"));
        check("grok", Some("groq"));
        check("xia", Some("xai"));
        check("olama", Some("ollama"));
    }

    #[test]
    fn the_beginning_of_a_name_leads_to_it() {
        check("anth", Some("anthropic"));
        check("openr", Some("openrouter"));
        check("an", None);
    }

    #[test]
    fn a_far_name_or_the_same_one_is_no_advice() {
        for typed in ["nope", "nobody", "gemini", "a", "", "claude", "openai"] {
            let near = closest(typed, NAMES);
            assert_ne!(near, Some(typed));
            assert!(near.is_none() || typed == "openai", "{typed}: {near:?}");
        }
    }
}
