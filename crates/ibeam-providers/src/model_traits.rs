//! The parts and settings of a request that a model accepts: data of the model table, or of the configuration, that the writers of requests follow.

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

    /// Whether the model has a rule.
    pub(crate) fn has(&self, rule: RequestRule) -> bool {
        self.rules.has(rule)
    }
}

/// A form of explicit cache breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheForm {
    /// `prompt_cache_breakpoint`, as OpenAI defines it.
    Breakpoints,
    /// `cache_control`, as gateways take it over from Anthropic.
    CacheControl,
    /// `cachePoint` of Converse.
    Points,
    /// `cachePoint` of Converse after the system prompt only.
    SystemPoints,
}

impl CacheForm {
    /// Returns the form of this word, as the table and configuration files spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "breakpoints" => Some(Self::Breakpoints),
            "cache_control" => Some(Self::CacheControl),
            "points" => Some(Self::Points),
            "system_points" => Some(Self::SystemPoints),
            _ => None,
        }
    }
}

/// The form in which a request asks for an answer that matches a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaForm {
    /// `output_config.format` of the Messages API, `outputConfig.textFormat` of Converse.
    OutputConfig,
    /// The schema field of the API, also together with tools.
    JsonSchema,
    /// The system prompt alone.
    Prompt,
}

impl SchemaForm {
    /// Returns the form of this word, as the table and configuration files spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "output_config" => Some(Self::OutputConfig),
            "json_schema" => Some(Self::JsonSchema),
            "prompt" => Some(Self::Prompt),
            _ => None,
        }
    }
}

/// The role of a message with instructions that follow later in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionRole {
    /// `system`, between a message of the user and an answer, as Anthropic defines it.
    System,
    /// `developer`, anywhere, as OpenAI defines it.
    Developer,
}

impl InstructionRole {
    /// Returns the role of this word, as the table and configuration files spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "system" => Some(Self::System),
            "developer" => Some(Self::Developer),
            _ => None,
        }
    }
}
