//! Ids of models at Amazon Bedrock, and what their families accept.
//!
//! An id is `amazon.nova-pro-v1:0`, that of an inference profile such as `eu.anthropic.claude-sonnet-4-5-20250929-v1:0`,
//! or an ARN. The ARN of an application inference profile names no family.

/// A family of models with equal request features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocols) enum ModelFamily {
    /// Claude models with prompt caching.
    Claude,
    /// Claude models before prompt caching.
    EarlyClaude,
    /// Amazon Nova of the first generation. It caches messages without breakpoints.
    Nova,
    /// Later models of Amazon Nova. Whether they accept breakpoints depends on the region.
    LaterNova,
    /// Models that accept no message with both text and calls, or both text and results.
    Separate,
    /// Any other model.
    Other,
}

impl ModelFamily {
    /// Returns the family of a model.
    pub(in crate::protocols) fn from_id(id: &str) -> Self {
        const EARLY: &[&str] = &[
            "claude-v2",
            "claude-instant",
            "claude-3-sonnet",
            "claude-3-haiku",
            "claude-3-opus",
            "claude-3-5-sonnet",
        ];
        const FIRST_NOVA: &[&str] = &["nova-micro", "nova-lite", "nova-pro", "nova-premier"];
        const SEPARATE: &[&str] = &["meta.llama", "mistral.", "cohere."];
        if id.contains("anthropic.claude") {
            if EARLY.iter().any(|name| id.contains(name)) { Self::EarlyClaude } else { Self::Claude }
        } else if id.contains("amazon.nova") {
            if FIRST_NOVA.iter().any(|name| id.contains(name)) { Self::Nova } else { Self::LaterNova }
        } else if SEPARATE.iter().any(|name| id.contains(name)) {
            Self::Separate
        } else {
            Self::Other
        }
    }

    /// Whether breakpoints after the system prompt are accepted. Other models reject a request with a breakpoint.
    pub(in crate::protocols) fn caches_system(self) -> bool {
        match self {
            Self::Claude | Self::Nova => true,
            Self::EarlyClaude | Self::LaterNova | Self::Separate | Self::Other => false,
        }
    }

    /// Whether breakpoints after tools and tool results are accepted.
    pub(in crate::protocols) fn caches_messages(self) -> bool {
        match self {
            Self::Claude => true,
            Self::EarlyClaude | Self::Nova | Self::LaterNova | Self::Separate | Self::Other => false,
        }
    }

    /// Whether the status of a tool result is accepted.
    pub(super) fn accepts_result_status(self) -> bool {
        match self {
            Self::Claude | Self::EarlyClaude | Self::Nova | Self::LaterNova => true,
            Self::Separate | Self::Other => false,
        }
    }

    /// Whether a message may have text and calls, or text and results.
    pub(super) fn mixes_text_and_tools(self) -> bool {
        match self {
            Self::Separate => false,
            Self::Claude | Self::EarlyClaude | Self::Nova | Self::LaterNova | Self::Other => true,
        }
    }
}

/// Returns a model id as one segment of a path. Ids contain `:`, and ARNs `/`.
pub(in crate::protocols) fn path_segment(id: &str) -> String {
    let mut segment = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_recognised_in_profiles_and_arns() {
        for (id, expect) in [
            ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", ModelFamily::Claude),
            ("anthropic.claude-3-5-haiku-20241022-v1:0", ModelFamily::Claude),
            ("anthropic.claude-3-sonnet-20240229-v1:0", ModelFamily::EarlyClaude),
            ("us.amazon.nova-2-lite-v1:0", ModelFamily::LaterNova),
            ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", ModelFamily::Nova),
            ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", ModelFamily::Other),
            ("openai.gpt-oss-120b-1:0", ModelFamily::Other),
            ("us.meta.llama4-maverick-17b-instruct-v1:0", ModelFamily::Separate),
        ] {
            assert_eq!(ModelFamily::from_id(id), expect, "{id}");
        }
    }

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(path_segment("amazon.nova-pro-v1:0"), "amazon.nova-pro-v1%3A0");
        assert_eq!(path_segment("arn:aws:bedrock:x/y"), "arn%3Aaws%3Abedrock%3Ax%2Fy");
    }
}
