//! Rules of a model for the parts of a request, beyond its settings of reasoning: data of the model table, which the
//! writers of requests follow.

/// A rule for a part of a request. A model without the rule has the opposite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRule {
    /// A message can add tools.
    AddedTools,
    /// The system prompt is a message of the developer: the service bills `instructions` without its cache.
    DeveloperPrompt,
    /// A message can change the level of reasoning.
    EffortUpdates,
    /// Reasoning between calls needs a beta version of the Messages API.
    InterleavedBeta,
    /// Images and documents of a result are inside the result.
    MediaInResults,
    /// The service leaves out the text of thoughts unless a request asks for their summary.
    OmittedThinking,
    /// Every answer has the field `reasoning_content`, empty or not.
    ReasoningContent,
    ResultStatus,
    /// A message has either text or calls, and either text or results.
    SeparateText,
    /// A call without a signature is refused.
    SignedCalls,
    /// A request may ask for a summary of the thoughts.
    Summaries,
    /// Arguments of calls arrive in pieces only if a request asks for that.
    ToolStream,
}

impl RequestRule {
    pub const ALL: [Self; 12] = [
        Self::AddedTools,
        Self::DeveloperPrompt,
        Self::EffortUpdates,
        Self::InterleavedBeta,
        Self::MediaInResults,
        Self::OmittedThinking,
        Self::ReasoningContent,
        Self::ResultStatus,
        Self::SeparateText,
        Self::SignedCalls,
        Self::Summaries,
        Self::ToolStream,
    ];

    /// Returns the word for the rule, as the table and configuration files spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AddedTools => "added_tools",
            Self::DeveloperPrompt => "developer_prompt",
            Self::EffortUpdates => "effort_updates",
            Self::InterleavedBeta => "interleaved_beta",
            Self::MediaInResults => "media_in_results",
            Self::OmittedThinking => "omitted_thinking",
            Self::ReasoningContent => "reasoning_content",
            Self::ResultStatus => "result_status",
            Self::SeparateText => "separate_text",
            Self::SignedCalls => "signed_calls",
            Self::Summaries => "summaries",
            Self::ToolStream => "tool_stream",
        }
    }

    /// Returns the rule of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }
}

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestRules(u16);

impl RequestRules {
    /// No rule.
    pub const NONE: Self = Self(0);

    /// Returns the rules in a list that is separated by commas. Unknown words are left out.
    pub fn from_names(names: &str) -> Self {
        names.split(',').filter_map(RequestRule::from_name).collect()
    }

    /// Whether the set has a rule.
    pub const fn has(self, rule: RequestRule) -> bool {
        self.0 & 1 << rule as u16 != 0
    }

    /// Returns the set with a rule.
    #[must_use]
    pub const fn with(self, rule: RequestRule) -> Self {
        Self(self.0 | 1 << rule as u16)
    }

    /// Returns the set without a rule.
    #[must_use]
    pub const fn without(self, rule: RequestRule) -> Self {
        Self(self.0 & !(1 << rule as u16))
    }

    /// Returns the rules of the set.
    pub fn iter(self) -> impl Iterator<Item = RequestRule> {
        RequestRule::ALL.into_iter().filter(move |rule| self.has(*rule))
    }
}

impl FromIterator<RequestRule> for RequestRules {
    fn from_iter<I: IntoIterator<Item = RequestRule>>(rules: I) -> Self {
        rules.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_rules_of_its_list() {
        let all: Vec<&str> = RequestRule::ALL.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(RequestRules::from_names(&all.join(",")).iter().count(), RequestRule::ALL.len());
        let one = RequestRules::from_names("summaries,unknown");
        assert_eq!(one, RequestRules::NONE.with(RequestRule::Summaries));
        assert!(!one.without(RequestRule::Summaries).has(RequestRule::Summaries));
    }
}
