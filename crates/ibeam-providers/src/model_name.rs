//! Names of models: their parts, without the decorations of services.
//!
//! Pure text. A name has the words of a family and the numbers of a version: `claude-sonnet-5-5`, `gpt-6.2-sol`,
//! `kimi-k3.1-pro`. Clouds and gateways add a maker, a region, a date or a revision. The chore that writes the model table
//! compiles this file too.

/// The family and the version in the name of a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelName {
    /// The words of the name in lower case, such as `claude-sonnet` for `claude-sonnet-5-5`.
    pub(crate) family: String,
    /// The version; `(0, 0)` for a name without one.
    pub(crate) version: (u32, u32),
}

impl ModelName {
    /// Returns the parts of an id.
    pub(crate) fn new(id: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        for part in bare_name(id).split(['-', ' ']) {
            let (word, number) = split_number(part);
            match number {
                // Only the first numbers without a word in between are the version.
                Some((major, minor)) if numbers.is_empty() => {
                    numbers.push(major);
                    numbers.extend(minor);
                }
                Some((major, None)) if numbers.len() == 1 && word.is_empty() => numbers.push(major),
                Some(_) | None => {
                    if !part.is_empty() {
                        words.push(part.to_lowercase());
                    }
                    continue;
                }
            }
            if !word.is_empty() {
                words.push(word.to_lowercase());
            }
        }
        let mut numbers = numbers.into_iter();
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Self { family: words.join("-"), version }
    }

    /// Returns the first word of the family, such as `claude`.
    pub(crate) fn maker_word(&self) -> &str {
        self.family.split('-').next().unwrap_or_default()
    }
}

/// Splits `k3.1` into its word and its version. A version has at most two digits in each of its parts.
fn split_number(part: &str) -> (&str, Option<(u32, Option<u32>)>) {
    let start = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
    let Some((word, digits)) = part.split_at_checked(start) else { return (part, None) };
    let (major, minor) = digits.split_once(['.', 'p']).map_or((digits, None), |(a, b)| (a, Some(b)));
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.len() <= 2);
    let has_letters_only = word.chars().all(|c| c.is_ascii_alphabetic());
    match (number(major), minor.map(number)) {
        (Some(major), None) if has_letters_only => (word, Some((major, None))),
        (Some(major), Some(Some(minor))) if has_letters_only => (word, Some((major, Some(minor)))),
        _ => (part, None),
    }
}

/// Returns the name of a model without its maker, the decorations of clouds, and its date.
pub(crate) fn bare_name(id: &str) -> &str {
    let name = id.rsplit('/').next().unwrap_or(id);
    without_date(without_cloud(without_date(name)))
}

/// Returns `x` for `x-20250514`, `x-2025-04-14`, `x-2411`, `x-latest` and `x-0`.
pub(crate) fn without_date(id: &str) -> &str {
    let tail_from = |digits: &[usize]| {
        let mut rest = id;
        for count in digits {
            let (head, tail) = rest.rsplit_once('-')?;
            if tail.len() != *count || !tail.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            rest = head;
        }
        Some(rest)
    };
    id.strip_suffix("-latest")
        .or_else(|| tail_from(&[8]))
        .or_else(|| tail_from(&[2, 2, 4]))
        .or_else(|| tail_from(&[4]))
        .or_else(|| id.strip_suffix("-0"))
        .unwrap_or(id)
}

/// Returns `x` for `x@20250929`, the form of Vertex AI, and for `eu.anthropic.x-v1:0`, the form of Amazon Bedrock.
fn without_cloud(id: &str) -> &str {
    let (id, _) = id.split_once('@').unwrap_or((id, ""));
    let id = without_region(id);
    let id = match id.split_once('.') {
        // The maker, such as `anthropic.`; not the dot of a version.
        Some((maker, name)) if maker.bytes().all(|byte| byte.is_ascii_alphabetic()) && !name.is_empty() => {
            name
        }
        Some(_) | None => id,
    };
    match id.rsplit_once("-v") {
        Some((model, version)) if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') => model,
        Some(_) | None => id,
    }
}

/// Returns `x` for `x:20b`, the form of a local server. In an id with a maker, a tag may mean another price.
pub(crate) fn without_tag(id: &str) -> &str {
    id.split_once(':').filter(|_| !id.contains('/')).map_or(id, |(name, _)| name)
}

/// Returns `anthropic.x` for `eu.anthropic.x`, the id of an inference profile of Amazon Bedrock.
pub(crate) fn without_region(id: &str) -> &str {
    // The ARN of a model or of a profile ends in its id.
    let id = if id.starts_with("arn:") { id.rsplit('/').next().unwrap_or(id) } else { id };
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    match id.split_once('.') {
        Some((region, rest)) if is_word(region) && region.len() <= 6 => match rest.split_once('.') {
            Some((maker, name)) if is_word(maker) && !name.is_empty() => rest,
            Some(_) | None => id,
        },
        Some(_) | None => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, family: &str, version: (u32, u32)) {
        assert_eq!(ModelName::new(id), ModelName { family: family.to_owned(), version }, "{id}");
    }

    #[test]
    fn family_and_version_are_found_in_every_form_of_a_name() {
        check("claude-opus-4-6", "claude-opus", (4, 6));
        check("claude-sonnet-4-20250514", "claude-sonnet", (4, 0));
        check("claude-3-7-sonnet-latest", "claude-sonnet", (3, 7));
        check("claude-sonnet-4-5@20250929", "claude-sonnet", (4, 5));
        check("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet", (4, 5));
        check("global.anthropic.claude-sonnet-5-5", "claude-sonnet", (5, 5));
        check("anthropic.claude-opus-4-6-v1", "claude-opus", (4, 6));
        check("anthropic/claude-sonnet-4.5", "claude-sonnet", (4, 5));
        check("claude-mythos-preview", "claude-mythos-preview", (0, 0));
        check("gpt-6.2-sol", "gpt-sol", (6, 2));
        check("gpt-5.10-codex", "gpt-codex", (5, 10));
        check("gpt-5", "gpt", (5, 0));
        check("openai/gpt-5-mini-2025-08-07", "gpt-mini", (5, 0));
        check("o3-pro-2025-06-10", "o-pro", (3, 0));
        check("gemini-3.1-pro-preview", "gemini-pro-preview", (3, 1));
        check("models/gemini-2.5-flash", "gemini-flash", (2, 5));
        check("kimi-k3.1-pro", "kimi-k-pro", (3, 1));
        check("accounts/fireworks/models/glm-5p3", "glm", (5, 3));
        check("mistral-large-2411", "mistral-large", (0, 0));
        check("mistral-large-4", "mistral-large", (4, 0));
        check("qwen3.8-max", "qwen-max", (3, 8));
        check("gpt-oss-120b", "gpt-oss-120b", (0, 0));
        check("us.amazon.nova-2-lite-v1:0", "nova-lite", (2, 0));
        check("", "", (0, 0));
    }

    #[test]
    fn names_lose_the_decorations_of_services() {
        for (id, expect) in [
            ("anthropic/claude-opus-4-1", "claude-opus-4-1"),
            ("gpt-4.1-2025-04-14", "gpt-4.1"),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
            ("claude-sonnet-4-0", "claude-sonnet-4"),
            ("gemini-flash-latest", "gemini-flash"),
            ("qwen2.5-coder:7b", "qwen2.5-coder:7b"),
            ("gpt-6.2-sol", "gpt-6.2-sol"),
        ] {
            assert_eq!(bare_name(id), expect, "{id}");
        }
        assert_eq!(without_region("us-gov.anthropic.x"), "anthropic.x");
        let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.x";
        assert_eq!(without_region(arn), "anthropic.x");
        assert_eq!((without_tag("gpt-oss:20b"), without_tag("gpt-oss")), ("gpt-oss", "gpt-oss"));
        assert_eq!(without_region("anthropic.x-v1.0"), "anthropic.x-v1.0");
        assert_eq!(without_region("gpt-6.2-sol"), "gpt-6.2-sol");
    }
}
