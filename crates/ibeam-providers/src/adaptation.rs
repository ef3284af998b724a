//! Deviations of a service that its refusal of a request shows.
//!
//! Pure. The refused request is repeated with the deviation, and later requests begin with it.

use ibeam_core::ProviderError;
use ibeam_protocol::Reason;

use crate::call_id::CallIdForm;
use crate::wire_protocol::Quirks;

/// A deviation of a service that its refusal of a request shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adaptation {
    /// The service requires the reasoning of earlier answers.
    EchoReasoning,
    /// The service accepts only ids of calls with nine letters and digits.
    ShortCallIds,
    /// The service accepts tools and the level of reasoning only as fields of the request.
    NoUpdates,
}

impl Adaptation {
    /// All deviations.
    pub const ALL: [Self; 3] = [Self::EchoReasoning, Self::ShortCallIds, Self::NoUpdates];

    /// Returns the name, as the cache of the user has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::EchoReasoning => "echo_reasoning",
            Self::ShortCallIds => "short_call_ids",
            Self::NoUpdates => "no_updates",
        }
    }

    /// Returns the deviation that an error shows, by the words that services use.
    pub(crate) fn from_error(error: &ProviderError) -> Option<Self> {
        let (Reason::BadRequest { detail, .. } | Reason::ProviderFailed { detail, .. }) =
            &error.failure.reason
        else {
            return None;
        };
        let words = detail.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let is_missing =
            has(&["passed back", "must be provided", "must be included", "is missing", "is required"]);
        if is_missing && has(&["reasoning_content", "reasoning content"]) {
            return Some(Self::EchoReasoning);
        }
        let is_unknown =
            has(&["does not match any", "unexpected value", "invalid value", "unknown", "support"]);
        if is_unknown && has(&["tool_addition", "inline-tools", "additional_tools", "configuration_update"]) {
            return Some(Self::NoUpdates);
        }
        let is_about_ids =
            has(&["tool call id", "tool_call_id", "tool_calls", "call_id", "tool_use.id", "tool_use_id"]);
        let is_about_form = has(&["length of 9", "string too long", "match pattern"]);
        (is_about_ids && is_about_form).then_some(Self::ShortCallIds)
    }

    /// Adds the deviation. Returns false if requests respect it already.
    pub fn apply(self, quirks: &mut Quirks) -> bool {
        let before = *quirks;
        match self {
            Self::EchoReasoning => quirks.echo_reasoning = true,
            Self::ShortCallIds => quirks.call_ids = Some(CallIdForm::NineAlphanumeric),
            Self::NoUpdates => quirks.updates = false,
        }
        *quirks != before
    }
}

#[cfg(test)]
mod tests {
    use ibeam_core::Retry;
    use ibeam_protocol::RequestPart;

    use super::*;

    #[test]
    fn a_deviation_is_found_by_the_words_of_services() {
        for (message, expect) in [
            (
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                Some(Adaptation::EchoReasoning),
            ),
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                Some(Adaptation::EchoReasoning),
            ),
            (
                "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.",
                Some(Adaptation::ShortCallIds),
            ),
            (
                "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40",
                Some(Adaptation::ShortCallIds),
            ),
            (
                "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
                Some(Adaptation::ShortCallIds),
            ),
            (
                "messages.2.content.0: Input tag 'tool_addition' found using 'type' does not match any of the expected tags",
                Some(Adaptation::NoUpdates),
            ),
            (
                "Unexpected value(s) `inline-tools-2026-09-15` for the `anthropic-beta` header.",
                Some(Adaptation::NoUpdates),
            ),
            (
                "Invalid value: 'additional_tools'. Supported values are: 'message', 'reasoning'.",
                Some(Adaptation::NoUpdates),
            ),
            ("messages.2.content.0.tool_addition.tool.definition.input_schema: Field required", None),
            ("property 'reasoning_content' is unsupported", None),
            ("Invalid 'tools[0].function.description': string too long", None),
            ("bad role", None),
        ] {
            let reason = Reason::BadRequest {
                provider: "p".into(),
                detail: message.into(),
                part: RequestPart::Unknown,
            };
            assert_eq!(
                Adaptation::from_error(&ProviderError::new(reason, Retry::Never)),
                expect,
                "{message}"
            );
        }
    }

    #[test]
    fn a_deviation_is_added_once() {
        for adaptation in Adaptation::ALL {
            let mut quirks = Quirks::DEFAULT;
            assert!(adaptation.apply(&mut quirks) && !adaptation.apply(&mut quirks));
        }
    }
}
