//! The parts and settings of a request that a model accepts: data of the model table, or of the configuration, that the writers of requests follow.

use crate::model_table::{CacheForm, InstructionRole, KnownModel, SchemaForm, find_model, known_model};
use crate::model_thinking::ModelThinking;
use crate::request_rules::{RequestRule, RequestRules};

/// The parts and settings of a request that a model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTraits {
    /// The settings of reasoning.
    pub thinking: ModelThinking,
    /// Whether it reasons; `None` if that is unknown.
    pub reasons: Option<bool>,
    /// Whether it accepts images; `None` if that is unknown.
    pub images: Option<bool>,
    /// The explicit cache breakpoints that it accepts in an API where not every model does.
    pub cache: Option<CacheForm>,
    /// The form in which a request asks for an answer that matches a JSON Schema; `None` if that depends on the service.
    pub schema: Option<SchemaForm>,
    /// The rules for the parts of a request.
    pub rules: RequestRules,
    /// The role of instructions that follow later in a conversation; `None` if they are a text of the user.
    pub instruction_role: Option<InstructionRole>,
}

impl ModelTraits {
    pub const UNKNOWN: Self = Self {
        thinking: ModelThinking::UNKNOWN,
        reasons: None,
        images: None,
        cache: None,
        schema: None,
        rules: RequestRules::NONE,
        instruction_role: None,
    };

    /// Returns the traits with which requests ask for the thoughts too, because someone reads them.
    pub fn with_shown_thinking(model: &KnownModel) -> Self {
        Self { rules: model.rules, ..Self::from(model) }
    }

    /// Whether the model has a rule.
    pub(crate) fn has(&self, rule: RequestRule) -> bool {
        self.rules.has(rule)
    }

    /// Returns the traits of a model at a provider, or wherever it is used if the provider is empty.
    pub fn find(provider: &str, id: &str) -> Self {
        let model = if provider.is_empty() { known_model(id) } else { find_model(provider, id) };
        model.as_ref().map_or(Self::UNKNOWN, Self::from)
    }
}

impl From<&KnownModel> for ModelTraits {
    fn from(model: &KnownModel) -> Self {
        Self {
            thinking: model.thinking,
            reasons: model.abilities.reasoning,
            images: model.abilities.images,
            cache: model.cache,
            schema: model.schema,
            rules: model.rules.without(RequestRule::OmittedThinking),
            instruction_role: model.instruction_role,
        }
    }
}
