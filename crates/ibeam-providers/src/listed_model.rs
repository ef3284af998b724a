//! The models that a service lists, and what it states about each.
//!
//! One reader knows the fields of all services, because their names do not contradict each other. It is lenient: a fact
//! of another type is left out, and an element without an id is skipped. Sources: the types of the official clients
//! anthropic 2.14.0, openai 3.57.0, mistralai 3.7.0, google-genai 3.6.1, cohere 7.3.1 and botocore 1.44.8; the API
//! references of OpenRouter, Groq and xAI; read on 2026-11-28.

use ibeam_core::{Prices, TokenPrices};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calendar::{date_of_days, days_of_date};
use crate::reasoning::Effort;
use crate::response_error::{ReportedError, ResponseError};

const SECONDS_PER_DAY: i64 = 86_400;
/// The day of the year 9999 from which on a number is not a date.
const MAX_DAYS: u64 = 2_932_000;

/// A model that a key may use, as the service lists it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedModel {
    /// The id for requests.
    pub id: String,
    /// The display name, if the service has one.
    pub label: Option<String>,
    /// Other facts that the service states.
    pub facts: ListedFacts,
}

/// The facts that a service states about a model. `None` and an empty list of aliases mean that it states nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListedFacts {
    /// The line of the family, such as `sonnet`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The day of the release, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The stage of its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// The day on which the service plans to stop serving it, `YYYY-MM-DD`. A day in the past does not mean that it has
    /// stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retires: Option<String>,
    /// The id of the model that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// Other ids of the same model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The maximum size of the context, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The maximum size of an answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The forms of `thinking` that requests may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_forms: Option<Vec<ListedThinkingForm>>,
    /// The levels of effort that requests may have, from the lowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_levels: Option<Vec<Effort>>,
    /// Whether the model accepts images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether the model accepts PDF documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<bool>,
    /// Whether the model calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether the service can force an answer into a JSON schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<bool>,
    /// Whether the model reasons before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// The prices, unless they depend on the length of the prompt or on the time of day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<ListedPrices>,
}

/// The stage of the life of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Served, and no end is planned.
    Active,
    /// Served, but not for long or not to everyone.
    Deprecated,
    /// Not served any more.
    Retired,
}

/// A value of `thinking.type` in requests of Anthropic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedThinkingForm {
    /// The model decides how long it thinks.
    Adaptive,
    /// No thinking, except for notes between calls of tools.
    BetweenTools,
    /// No thinking.
    Disabled,
    /// Thinking within a number of tokens.
    Enabled,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedPrices {
    /// Prompt tokens.
    pub input: f64,
    /// Generated tokens.
    pub output: f64,
    /// Prompt tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl ListedModel {
    /// Returns a model with the facts of its element in the list.
    pub(crate) fn new(id: String, label: Option<String>, element: &Value) -> Self {
        Self { id, label, facts: ListedFacts::from_element(element) }
    }
}

impl ListedPrices {
    /// Returns the prices of all classes of tokens. Without a price of its own, the cache costs the same as the input.
    pub fn prices(&self) -> Prices {
        let Self { input, output, cache_read, cache_write } = *self;
        let dollars = [input, output, cache_read.unwrap_or(input), cache_write.unwrap_or(input)];
        TokenPrices::from_dollars(dollars).into()
    }
}

impl ListedFacts {
    /// Whether the service says that it does not serve the model any more.
    pub fn is_retired(&self) -> bool {
        self.lifecycle == Some(Lifecycle::Retired)
    }

    /// Reads the facts in an element of a list.
    fn from_element(element: &Value) -> Self {
        let element = Element(element);
        let effort_levels = element.effort_levels();
        let has_levels = effort_levels.as_ref().is_some_and(|levels| !levels.is_empty());
        Self {
            line: element.text(&["/line"]),
            created: element.date(&["/created_at", "/created", "/modelLifecycle/startOfLifeTime"]),
            lifecycle: element.lifecycle(),
            retires: element.date(&[
                "/retires_at",
                "/shutdown_date",
                "/deprecation",
                "/expiration_date",
                "/modelLifecycle/endOfLifeTime",
            ]),
            successor: element.text(&["/deprecation_replacement_model"]),
            aliases: element.words("/aliases").unwrap_or_default().into_iter().map(str::to_owned).collect(),
            context_window: element.tokens(&[
                "/max_input_tokens",
                "/max_context_length",
                "/inputTokenLimit",
                "/context_length",
                "/context_window",
            ]),
            max_output_tokens: element.tokens(&[
                "/max_tokens",
                "/outputTokenLimit",
                "/top_provider/max_completion_tokens",
                "/max_completion_tokens",
            ]),
            thinking_forms: element.thinking_forms(),
            effort_levels,
            images: element
                .flag(&["/capabilities/image_input/supported", "/capabilities/vision"])
                .or_else(|| element.modality("image")),
            // Not every service counts documents among its modalities.
            documents: element
                .flag(&["/capabilities/pdf_input/supported"])
                .or_else(|| element.modality("file").filter(|accepts| *accepts)),
            tools: element.flag(&["/capabilities/function_calling"]).or_else(|| element.parameter("tools")),
            structured_output: element
                .flag(&["/capabilities/structured_outputs/supported"])
                .or_else(|| element.parameter("structured_outputs")),
            reasoning: element
                .flag(&["/capabilities/thinking/supported", "/capabilities/reasoning", "/thinking"])
                .or_else(|| element.parameter("reasoning"))
                .or_else(|| has_levels.then_some(true)),
            prices: element.prices_by_token().or_else(|| element.prices_in_cents()),
        }
    }
}

/// An element of a list. Its facts are at JSON pointers; where a method takes several, the first that has a value of the
/// right type counts.
#[derive(Clone, Copy)]
struct Element<'a>(&'a Value);

impl<'a> Element<'a> {
    fn get(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer)
    }

    fn find<T>(self, pointers: &[&str], read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        pointers.iter().find_map(|pointer| read(self.get(pointer)?))
    }

    fn text(self, pointers: &[&str]) -> Option<String> {
        self.find(pointers, |value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
    }

    fn flag(self, pointers: &[&str]) -> Option<bool> {
        self.find(pointers, Value::as_bool)
    }

    /// Returns a number of tokens. Some services send 0 where there is none, or a whole number with a fraction.
    fn tokens(self, pointers: &[&str]) -> Option<u64> {
        self.find(pointers, |value| {
            let number = value.as_f64().filter(|number| (1.0..=1e12).contains(number))?;
            Some(number as u64)
        })
    }

    fn date(self, pointers: &[&str]) -> Option<String> {
        self.find(pointers, read_date)
    }

    /// Returns the strings in a list.
    fn words(self, pointer: &str) -> Option<Vec<&'a str>> {
        Some(self.get(pointer)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    /// Whether the model accepts an input of this kind.
    fn modality(self, kind: &str) -> Option<bool> {
        let lists = ["/architecture/input_modalities", "/input_modalities", "/inputModalities"];
        let kinds = lists.into_iter().find_map(|list| self.words(list))?;
        Some(kinds.iter().any(|listed| listed.eq_ignore_ascii_case(kind)))
    }

    /// Whether requests may have a parameter.
    fn parameter(self, name: &str) -> Option<bool> {
        Some(self.words("/supported_parameters")?.contains(&name))
    }

    fn lifecycle(self) -> Option<Lifecycle> {
        let words = ["/lifecycle", "/modelLifecycle/status", "/status"];
        let stage = self.find(&words, |word| match word.as_str()?.to_ascii_lowercase().as_str() {
            "active" => Some(Lifecycle::Active),
            "deprecated" | "legacy" => Some(Lifecycle::Deprecated),
            "retired" => Some(Lifecycle::Retired),
            _ => None,
        });
        let stage_if = |flag: &str, set, unset| Some(if self.flag(&[flag])? { set } else { unset });
        stage
            .or_else(|| stage_if("/is_deprecated", Lifecycle::Deprecated, Lifecycle::Active))
            .or_else(|| stage_if("/active", Lifecycle::Active, Lifecycle::Retired))
    }

    fn thinking_forms(self) -> Option<Vec<ListedThinkingForm>> {
        let types = self.get("/capabilities/thinking/types")?.as_object()?;
        let accepted = types.iter().filter(|(_, form)| is_supported(form));
        let form = |(name, _): (&String, _)| serde_json::from_value(Value::from(name.as_str())).ok();
        // Every model accepts some form, so an empty list is one in another format.
        Some(accepted.filter_map(form).collect()).filter(|forms: &Vec<_>| !forms.is_empty())
    }

    fn effort_levels(self) -> Option<Vec<Effort>> {
        let names = match self.get("/capabilities/effort").and_then(Value::as_object) {
            Some(levels) => {
                let accepted = levels.iter().filter(|(_, level)| is_supported(level));
                let names: Vec<&str> = accepted.map(|(name, _)| name.as_str()).collect();
                let is_listed =
                    !names.is_empty() || self.flag(&["/capabilities/effort/supported"]) == Some(false);
                is_listed.then_some(names)
            }
            None => self
                .words("/capabilities/reasoning_effort")
                .or_else(|| self.words("/reasoning/supported_efforts")),
        };
        let mut levels: Vec<Effort> = names?.into_iter().filter_map(Effort::from_name).collect();
        levels.sort_unstable();
        Some(levels)
    }

    /// Returns prices in dollars for a token, as OpenRouter lists them. A price of -1 means that it varies.
    fn prices_by_token(self) -> Option<ListedPrices> {
        let overrides = self.get("/pricing/overrides").and_then(Value::as_array);
        let dollars = |name: &str| {
            let text = self.get("/pricing")?.get(name)?.as_str()?;
            let number = text.parse::<f64>().ok().filter(|dollars| (0.0..=1.0).contains(dollars))?;
            // A product of binary fractions is not exact: 0.0000001 for a token is 0.1, not 0.09999999999999999.
            Some((number * 1e12).round() / 1e6)
        };
        let prices = ListedPrices {
            input: dollars("prompt")?,
            output: dollars("completion")?,
            cache_read: dollars("input_cache_read"),
            cache_write: dollars("input_cache_write"),
        };
        let is_constant = overrides.is_none_or(Vec::is_empty) && dollars("request").unwrap_or(0.0) == 0.0;
        is_constant.then_some(prices)
    }

    /// Returns prices in cents for 100 million tokens, as xAI lists them. Models for images have a price of 0 for text.
    fn prices_in_cents(self) -> Option<ListedPrices> {
        let dollars = |pointer: &str| self.tokens(&[pointer]).map(|cents| cents as f64 / 1e4);
        let prices = ListedPrices {
            input: dollars("/prompt_text_token_price")?,
            output: dollars("/completion_text_token_price")?,
            cache_read: dollars("/cached_prompt_text_token_price"),
            cache_write: None,
        };
        let is_constant = dollars("/prompt_text_token_price_long_context").is_none();
        is_constant.then_some(prices)
    }
}

/// Whether a capability of Anthropic's list is there.
fn is_supported(capability: &Value) -> bool {
    capability.get("supported").and_then(Value::as_bool) == Some(true)
}

/// Returns the day, in UTC, of unix seconds, of an RFC 3339 date and time, or of a date. The first day of 1970 is how
/// services write that they know no date.
fn read_date(value: &Value) -> Option<String> {
    let days = match value {
        Value::Number(number) => number.as_f64()? as i64 / SECONDS_PER_DAY,
        Value::String(text) => days_of_date(text)?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let days = u64::try_from(days).ok().filter(|days| (1..MAX_DAYS).contains(days))?;
    Some(date_of_days(days))
}

/// Parses `{"data": [{"id": …}]}`. Some services send the list without the object.
///
/// # Errors
/// `Reported` for an error object, `Protocol` for anything else that is not a list.
pub(crate) fn parse_model_list(body: &str) -> Result<Vec<ListedModel>, ResponseError> {
    let error = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| error())?;
    if let Some(error) = ReportedError::recognise(&value) {
        return Err(ResponseError::Reported(error));
    }
    let list = value.get("data").unwrap_or(&value).as_array().ok_or_else(error)?;
    let text = |model: &Value, key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(list
        .iter()
        .filter_map(|model| {
            let label = text(model, "display_name").or_else(|| text(model, "name"));
            Some(ListedModel::new(text(model, "id")?, label, model))
        })
        .collect())
}

#[cfg(test)]
#[path = "listed_model_test.rs"]
mod tests;
