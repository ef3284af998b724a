//! The rows of the table, as `build.rs` packs them: fields that are separated by tabs.

use ibeam_core::{PriceStep, Prices, TokenPrices};

use crate::listed_model::{ListedFacts, ListedPrices};
use crate::model_thinking::{EffortSet, ModelThinking, ThinkingForm, ThinkingOff};
use crate::model_traits::{CacheForm, InstructionRole, ModelTraits, SchemaForm};
use crate::reasoning::Effort;
use crate::request_rules::{RequestRule, RequestRules};

/// The facts about a current model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownModel {
    pub provider: &'static str,
    pub id: &'static str,
    pub label: Option<&'static str>,
    /// The maximum size of input and output together, in tokens.
    pub context_window: Option<u32>,
    /// The output limit of an answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// The list prices, in steps if they depend on the length of the prompt.
    pub prices: Option<Prices>,
    /// The price of a request of a batch, in percent of another request.
    pub batch_percent: Option<u64>,
    /// The number of images that a request may have, where it is not that of the provider.
    pub max_images: Option<u32>,
    pub abilities: Abilities,
    /// The API of the model, if it is not that of its provider.
    pub wire: Option<ModelWire>,
    /// The explicit cache breakpoints that it accepts in an API where not every model does.
    pub cache: Option<CacheForm>,
    /// The form in which a request asks for an answer that matches a JSON Schema; `None` if that depends on the service.
    pub schema: Option<SchemaForm>,
    /// The rules for the parts of a request.
    pub rules: RequestRules,
    /// The role of instructions that follow later in a conversation; `None` if they are a text of the user.
    pub instruction_role: Option<InstructionRole>,
    /// The settings of thinking that it accepts.
    pub thinking: ModelThinking,
    /// The day on which the provider retires it, `YYYY-MM-DD`.
    pub retires: Option<&'static str>,
    /// The model that the provider recommends instead.
    pub successor: Option<&'static str>,
    /// Whether the row is that of an earlier model of the family.
    pub is_assumed: bool,
}

/// A model that its provider does not offer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetiredModel {
    /// The day on which it was retired, `YYYY-MM-DD`.
    pub retired: &'static str,
    /// The model that the provider recommends instead.
    pub successor: Option<&'static str>,
}

/// The abilities of a model. `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the model calls tools.
    pub tools: Option<bool>,
    /// Whether the model accepts images.
    pub images: Option<bool>,
    /// Whether the model accepts documents.
    pub documents: Option<bool>,
    /// Whether the model reasons before it answers.
    pub reasoning: Option<bool>,
    /// Whether the service can force an answer into a JSON schema.
    pub structured_output: Option<bool>,
}

/// The API of a model, if it differs from the API of its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelWire {
    /// Responses. Chat Completions loses the reasoning of the model between its calls.
    Responses,
    /// Responses. Chat Completions rejects the model, or its tools.
    OnlyResponses,
}

impl ModelWire {
    /// Returns the API of this word, as the table spells it.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "responses" => Some(Self::Responses),
            "responses_only" => Some(Self::OnlyResponses),
            _ => None,
        }
    }
}

impl KnownModel {
    /// The row of a model about which nothing is known.
    pub const UNKNOWN: Self = Self {
        provider: "",
        id: "",
        label: None,
        context_window: None,
        max_output_tokens: None,
        prices: None,
        batch_percent: None,
        max_images: None,
        abilities: Abilities {
            tools: None,
            images: None,
            documents: None,
            reasoning: None,
            structured_output: None,
        },
        wire: None,
        cache: None,
        schema: None,
        rules: RequestRules::NONE,
        instruction_role: None,
        thinking: ModelThinking::UNKNOWN,
        retires: None,
        successor: None,
        is_assumed: true,
    };

    /// Parses the line of a current model.
    pub(super) fn parse(provider: &'static str, line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        Some(Self {
            provider,
            id: Some(next()).filter(|id| !id.is_empty())?,
            label: text(next()),
            context_window: next().parse().ok(),
            max_output_tokens: next().parse().ok(),
            prices: prices(next(), next()),
            batch_percent: next().parse().ok(),
            max_images: next().parse().ok(),
            abilities: Abilities::parse(next()),
            wire: ModelWire::from_name(next()),
            cache: CacheForm::from_name(next()),
            schema: SchemaForm::from_name(next()),
            rules: rules(next()),
            instruction_role: InstructionRole::from_name(next()),
            thinking: ModelThinking {
                form: ThinkingForm::from_name(next()),
                off: ThinkingOff::from_name(next()),
                levels: next().strip_prefix('=').map(levels),
                default: Effort::from_name(next()),
                is_bound: next() == "bound",
            },
            retires: text(next()),
            successor: text(next()),
            is_assumed: false,
        })
    }

    /// Returns the row with what its service lists about the model; other facts stay.
    #[must_use]
    pub fn with_listed(self, listed: &ListedFacts) -> Self {
        let size = |listed: Option<u64>, known| listed.and_then(|size| u32::try_from(size).ok()).or(known);
        let known = self.abilities;
        Self {
            context_window: size(listed.context_window, self.context_window),
            max_output_tokens: size(listed.max_output_tokens, self.max_output_tokens),
            prices: listed.prices.as_ref().map(ListedPrices::prices).or(self.prices),
            abilities: Abilities {
                tools: listed.tools.or(known.tools),
                images: listed.images.or(known.images),
                documents: listed.documents.or(known.documents),
                reasoning: listed.reasoning.or(known.reasoning),
                structured_output: listed.structured_output.or(known.structured_output),
            },
            thinking: self.thinking.with_listed(listed),
            ..self
        }
    }

    /// Returns the traits with which requests ask for the thoughts too, because someone reads them.
    pub fn traits_with_shown_thinking(&self) -> ModelTraits {
        ModelTraits { rules: self.rules, ..ModelTraits::from(self) }
    }

    /// Returns the number of tokens of a prompt from which on its price is higher.
    pub fn price_step(&self) -> Option<u64> {
        let [step, _] = self.prices?.steps;
        step.map(|step| step.above)
    }

    /// Returns the row for the model at a provider that is not its maker. The date of its retirement is that of the maker.
    pub(super) fn at_another_provider(self, has_same_price: bool) -> Self {
        Self {
            prices: self.prices.filter(|_| has_same_price),
            batch_percent: None,
            max_images: None,
            retires: None,
            successor: None,
            ..self
        }
    }

    /// Returns the row for a later model. Another line of the family may have another price, and need not summarise its
    /// thoughts.
    pub(super) fn assumed(self, is_same_line: bool) -> Self {
        let prices = self.prices.filter(|_| is_same_line);
        let rules = if is_same_line { self.rules } else { self.rules.without(RequestRule::Summaries) };
        Self { prices, rules, retires: None, successor: None, is_assumed: true, ..self }
    }

    /// Whether the service of the row has rules of its own for requests to the model.
    pub(super) fn has_own_form(&self) -> bool {
        self.cache.is_some() || self.rules != RequestRules::NONE
    }

    /// Returns the row for a model of which only the form of its requests is assumed.
    pub(super) fn form_of_requests(self) -> Self {
        let Self { provider, id, wire, cache, schema, rules, thinking, .. } = self;
        Self { provider, id, wire, cache, schema, rules, thinking, ..Self::UNKNOWN }
    }

    /// Returns the row with the form of requests of another row, which is that of a model of the same family at the service
    /// that is used.
    pub(super) fn with_form_of(self, service: &Self) -> Self {
        let Self { wire, cache, schema, rules, thinking, .. } = *service;
        let thinking = if thinking.form.is_some() { thinking } else { self.thinking };
        Self { wire, cache, schema, rules, thinking, ..self }
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

impl RetiredModel {
    /// Parses the line of a retired model.
    pub(super) fn parse(line: &'static str) -> Option<Self> {
        let (_, rest) = line.split_once('\t')?;
        let (retired, successor) = rest.split_once('\t')?;
        Some(Self { retired, successor: text(successor) })
    }
}

impl Abilities {
    fn parse(field: &str) -> Self {
        let mut signs = field.bytes().map(|sign| match sign {
            b'+' => Some(true),
            b'-' => Some(false),
            _ => None,
        });
        let mut next = || signs.next().flatten();
        Self {
            tools: next(),
            images: next(),
            documents: next(),
            reasoning: next(),
            structured_output: next(),
        }
    }
}

fn text(field: &'static str) -> Option<&'static str> {
    Some(field).filter(|field| !field.is_empty())
}

/// Parses a digit for each level.
fn levels(field: &str) -> EffortSet {
    let all = Effort::ALL.into_iter().zip(b'0'..);
    all.filter(|(_, digit)| field.as_bytes().contains(digit)).map(|(level, _)| level).collect()
}

/// Parses a letter for each rule.
fn rules(field: &str) -> RequestRules {
    let all = RequestRule::ALL.into_iter().zip(b'a'..);
    all.filter(|(_, letter)| field.as_bytes().contains(letter)).map(|(rule, _)| rule).collect()
}

/// Parses the prices and their steps, `ABOVE:PRICES` each.
fn prices(base: &str, steps: &str) -> Option<Prices> {
    let base = token_prices(base)?;
    let mut steps = steps.split(';').filter_map(|step| {
        let (above, prices) = step.split_once(':')?;
        Some(PriceStep { above: above.parse().ok()?, prices: token_prices(prices)? })
    });
    Some(Prices { base, steps: [steps.next(), steps.next()] })
}

/// Parses `INPUT/OUTPUT/CACHE_READ/CACHE_WRITE`, in dollars for a million tokens. Without a price of its own, the cache costs
/// the same as the input.
fn token_prices(field: &str) -> Option<TokenPrices> {
    let mut prices = field.split('/').map(|price| price.parse::<f64>().ok());
    let (input, output) = (prices.next()??, prices.next()??);
    let mut or_input = || prices.next().flatten().unwrap_or(input);
    Some(TokenPrices::from_dollars([input, output, or_input(), or_input()]))
}
