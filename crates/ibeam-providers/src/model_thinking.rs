//! The settings of reasoning that a model accepts, and the nearest of them to what the user asked for.

use crate::listed_model::{ListedFacts, ListedThinkingForm};
use crate::reasoning::{Effort, Reasoning};

/// The settings of reasoning that a model accepts. The default stands for an unknown model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelThinking {
    /// The form of a request for reasoning; `None` if it is unknown.
    pub form: Option<ThinkingForm>,
    /// The way to switch reasoning off; `None` if nothing switches it off, or if that is unknown.
    pub off: Option<ThinkingOff>,
    /// The accepted levels, without `none`; `None` if they are unknown.
    pub levels: Option<EffortSet>,
    /// The level without a request of the user, if it is known.
    pub default: Option<Effort>,
    /// Whether a block of reasoning is bound to the system prompt, the tools and the messages before it.
    pub is_bound: bool,
}

/// The form of a request for reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingForm {
    /// The model does not reason.
    None,
    /// `thinking: adaptive` and a level, in the Messages API.
    Adaptive,
    /// A number of tokens.
    Budget,
    Levels,
    /// `reasoning` with a level.
    Object,
    /// `thinking: enabled`, and a level if the model has levels.
    Switch,
    /// `thinking: enabled`, which keeps the reasoning of earlier answers, and a level if the model has levels.
    Zai,
    /// `reasoning: enabled`, and a level if the model has levels, as Together defines it.
    Together,
    /// `reasoningConfig` of Amazon Nova.
    Nova,
}

impl ThinkingForm {
    /// Returns the form of this word, as the table and configuration files spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "adaptive" => Some(Self::Adaptive),
            "budget" => Some(Self::Budget),
            "levels" => Some(Self::Levels),
            "object" => Some(Self::Object),
            "switch" => Some(Self::Switch),
            "zai" => Some(Self::Zai),
            "together" => Some(Self::Together),
            "nova" => Some(Self::Nova),
            _ => None,
        }
    }
}

/// A way to switch reasoning off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOff {
    /// By a setting of its own.
    Disabled,
    /// Before the answer, but not between calls.
    BetweenTools,
    /// By the level `none`.
    Level,
}

impl ThinkingOff {
    /// Returns the way of this word, as the table and configuration files spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "disabled" => Some(Self::Disabled),
            "between_tools" => Some(Self::BetweenTools),
            "level" => Some(Self::Level),
            _ => None,
        }
    }
}

/// A set of levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffortSet(u8);

impl EffortSet {
    /// Returns the levels in a list that is separated by commas. Unknown words are left out.
    pub fn from_names(names: &str) -> Self {
        names.split(',').filter_map(Effort::from_name).collect()
    }

    /// Whether the set has a level.
    pub fn contains(self, effort: Effort) -> bool {
        self.0 & Self::bit(effort) != 0
    }

    /// Returns the levels, from the lowest.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Effort> {
        Effort::ALL.into_iter().filter(move |effort| self.contains(*effort))
    }

    /// Whether the set has no level: the model only switches its reasoning on and off.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn bit(effort: Effort) -> u8 {
        1 << effort as u8
    }

    /// Returns the level nearest to `wanted`. Of two that are equally near, the lower one costs less. No level is so low
    /// that it stands for `none`.
    fn nearest(self, wanted: Effort) -> Option<Effort> {
        let distance = |effort: &Effort| (*effort as u8).abs_diff(wanted as u8);
        self.iter().min_by_key(distance)
    }
}

impl FromIterator<Effort> for EffortSet {
    fn from_iter<I: IntoIterator<Item = Effort>>(levels: I) -> Self {
        Self(levels.into_iter().fold(0, |set, effort| set | Self::bit(effort)))
    }
}

impl ModelThinking {
    /// The settings of a model about which nothing is known.
    pub const UNKNOWN: Self = Self { form: None, off: None, levels: None, default: None, is_bound: false };

    /// Returns the settings with those that the service lists.
    pub(crate) fn with_listed(self, listed: &ListedFacts) -> Self {
        let levels = listed
            .effort_levels
            .as_ref()
            .map(|levels| levels.iter().copied().filter(|level| *level != Effort::None).collect());
        let Some(forms) = &listed.thinking_forms else {
            return Self { levels: levels.or(self.levels), ..self };
        };
        let has = |form: ListedThinkingForm| forms.contains(&form);
        Self {
            form: Some(match (has(ListedThinkingForm::Adaptive), has(ListedThinkingForm::Enabled)) {
                (true, _) => ThinkingForm::Adaptive,
                (false, true) => ThinkingForm::Budget,
                (false, false) => ThinkingForm::None,
            }),
            off: match (has(ListedThinkingForm::Disabled), has(ListedThinkingForm::BetweenTools)) {
                (true, _) => Some(ThinkingOff::Disabled),
                (false, true) => Some(ThinkingOff::BetweenTools),
                (false, false) => None,
            },
            levels: levels.or(self.levels),
            ..self
        }
    }

    /// Returns the level that the model accepts and that is nearest to `wanted`. A level is unchanged if it is unknown what
    /// the model accepts.
    pub fn nearest(&self, wanted: Effort) -> Effort {
        let can_be_off = self.off.is_some() || self.form == Some(ThinkingForm::Budget);
        match (self.levels, wanted) {
            (None, wanted) => wanted,
            (Some(_), Effort::None) if can_be_off => Effort::None,
            // Without levels, reasoning is on or off.
            (Some(levels), Effort::None) => levels.nearest(wanted).unwrap_or(Effort::Minimal),
            (Some(levels), wanted) => levels.nearest(wanted).unwrap_or(wanted),
        }
    }

    /// Returns the reasoning to ask the model for: a level is the nearest that it accepts.
    pub fn accepted(&self, reasoning: Reasoning) -> Reasoning {
        match (self.levels, reasoning.level()) {
            (Some(_), Some(level)) => Reasoning { effort: Some(self.nearest(level)), ..reasoning },
            (None, _) | (_, None) => reasoning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Effort::{High, Low, Max, Medium, Minimal, XHigh};

    #[track_caller]
    fn check(levels: &str, off: Option<ThinkingOff>, expect: [Effort; 7]) {
        let levels = Some(EffortSet::from_names(levels));
        let thinking = ModelThinking { levels, off, ..ModelThinking::default() };
        assert_eq!(Effort::ALL.map(|wanted| thinking.nearest(wanted)), expect, "{levels:?}");
    }

    #[test]
    fn a_level_that_is_not_accepted_becomes_the_nearest_one() {
        let off = Some(ThinkingOff::Level);
        check("low,medium,high,xhigh,max", None, [Low, Low, Low, Medium, High, XHigh, Max]);
        check("low,medium,high,xhigh", off, [Effort::None, Low, Low, Medium, High, XHigh, XHigh]);
        check("minimal,low,medium,high", None, [Minimal, Minimal, Low, Medium, High, High, High]);
        check("high,max", off, [Effort::None, High, High, High, High, High, Max]);
        check("low,high,max", None, [Low, Low, Low, Low, High, High, Max]);
        check("high", off, [Effort::None, High, High, High, High, High, High]);
    }

    #[test]
    fn a_level_is_unchanged_if_the_accepted_ones_are_unknown() {
        for wanted in Effort::ALL {
            assert_eq!(ModelThinking::default().nearest(wanted), wanted);
        }
        let no_levels = ModelThinking { levels: Some(EffortSet::default()), ..ModelThinking::default() };
        assert_eq!(no_levels.nearest(High), High);
    }

    #[test]
    fn what_the_service_lists_takes_precedence() {
        use ListedThinkingForm::{Adaptive, BetweenTools, Disabled, Enabled};
        let known = ModelThinking { is_bound: true, default: Some(High), ..ModelThinking::UNKNOWN };
        for (forms, form, off) in [
            (&[Adaptive, Disabled][..], ThinkingForm::Adaptive, Some(ThinkingOff::Disabled)),
            (&[Adaptive, BetweenTools], ThinkingForm::Adaptive, Some(ThinkingOff::BetweenTools)),
            (&[Adaptive], ThinkingForm::Adaptive, None),
            (&[Enabled, Disabled], ThinkingForm::Budget, Some(ThinkingOff::Disabled)),
            (&[], ThinkingForm::None, None),
        ] {
            let facts = ListedFacts { thinking_forms: Some(forms.to_vec()), ..ListedFacts::default() };
            let expect = ModelThinking { form: Some(form), off, ..known };
            assert_eq!(known.with_listed(&facts), expect, "{forms:?}");
        }
        let levels = ListedFacts { effort_levels: Some(vec![Effort::None, Low]), ..ListedFacts::default() };
        assert_eq!(known.with_listed(&levels).levels, Some(EffortSet::from_names("low")));
        assert_eq!(known.with_listed(&ListedFacts::default()), known);
    }

    #[test]
    fn a_number_of_tokens_becomes_an_accepted_level() {
        let levels = Some(EffortSet::from_names("medium,high"));
        let thinking = ModelThinking { levels, ..ModelThinking::default() };
        let asked = Reasoning { effort: None, budget: Some(500) };
        assert_eq!(thinking.accepted(asked), Reasoning { effort: Some(Medium), ..asked });
        assert_eq!(thinking.accepted(Reasoning::DEFAULT), Reasoning::DEFAULT);
    }
}
