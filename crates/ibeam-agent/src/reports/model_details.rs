//! The known facts about a model: context size, prices, abilities, and how long it is served. An unknown value is printed as
//! `unknown`, in JSON as null.

use ibeam_core::{PriceStep, Prices};
use ibeam_output::Catalogue;
use ibeam_protocol::{ModelInfo, Reason, Sentence, sentence};
use ibeam_providers::{Abilities, KnownModel, Lifecycle, ListedFacts, ListedPrices, TABLE_DATE, find_model};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::model::{ConfiguredFacts, model_info, model_with_listed};

/// The facts about a model: from the configuration, else from the list of the service, else from the model table.
pub(super) struct ModelDetails {
    context_window: Fact<u64>,
    max_output_tokens: Fact<u64>,
    prices: Fact<Prices>,
    abilities: Abilities,
    retires: Option<String>,
    successor: Option<String>,
    /// The fields that the configuration sets.
    configured: Vec<String>,
    /// The facts that the service states.
    listed: ListedFacts,
    /// The entry of the model table.
    known: Option<KnownModel>,
}

/// A fact with its source.
#[derive(Clone, Copy)]
struct Fact<T> {
    value: Option<T>,
    is_listed: bool,
}

impl<T> Fact<T> {
    /// Returns `listed`, unless the user set another value or the service states none. Then it is `other`.
    fn new(listed: Option<T>, is_configured: bool, other: Option<T>) -> Self {
        match listed.filter(|_| !is_configured) {
            Some(value) => Self { value: Some(value), is_listed: true },
            None => Self { value: other, is_listed: false },
        }
    }
}

impl ModelDetails {
    /// Collects the facts. `listed` is what the service states.
    ///
    /// # Errors
    /// `BadConfig` for an invalid price.
    pub(super) fn new(app: &AppContext, model: &ModelInfo, listed: &ListedFacts) -> Result<Self, Reason> {
        let facts = ConfiguredFacts::new(&app.base.config, &model.provider, &model.id);
        facts.check()?;
        let row = model_with_listed(app, &model.provider, &model.id, Some(listed));
        let known = find_model(&model.provider, &model.id);
        let set = |field: &str| facts.text(field).map(str::to_owned);
        let in_table = |text: Option<&'static str>| text.map(str::to_owned);
        let limits_output = app.base.settings.limits.max_output_tokens.value.is_some();
        Ok(Self {
            context_window: Fact::new(
                listed.context_window,
                facts.sets("context_window"),
                row.and_then(|row| row.context_window).map(u64::from),
            ),
            max_output_tokens: Fact::new(
                listed.max_output_tokens,
                limits_output || facts.sets("max_output_tokens"),
                model_info::max_output_tokens(app, model),
            ),
            prices: Fact::new(
                listed.prices.as_ref().map(ListedPrices::prices),
                facts.sets("prices") || facts.sets("tiers"),
                model_info::prices(app, model)?,
            ),
            abilities: row.map(|row| row.abilities).unwrap_or_default(),
            retires: set("retires").or_else(|| listed.retires.clone()).or_else(|| in_table(known?.retires)),
            successor: set("successor")
                .or_else(|| listed.successor.clone())
                .or_else(|| in_table(known?.successor)),
            configured: facts.fields(),
            listed: listed.clone(),
            known,
        })
    }

    /// Returns the entry of a model in the JSON list.
    pub(super) fn to_json(&self, name: &str, model: &ModelInfo, is_current: bool) -> Value {
        let abilities = self.abilities;
        let prices = self.prices.value.map(|prices| {
            json!({
                "input": dollars(prices.base.input),
                "output": dollars(prices.base.output),
                "cache_read": dollars(prices.base.cache_read),
                "cache_write": dollars(prices.base.cache_write),
            })
        });
        let source = self
            .known
            .map(|known| json!({ "name": known.id, "date": TABLE_DATE, "assumed": known.is_assumed }));
        let listed = [
            ("context_window", self.context_window.is_listed),
            ("max_output_tokens", self.max_output_tokens.is_listed),
            ("dollars_per_million_tokens", self.prices.is_listed),
            ("abilities", self.lists_abilities()),
        ];
        let listed: Vec<&str> =
            listed.into_iter().filter_map(|(key, is_listed)| is_listed.then_some(key)).collect();
        json!({
            "id": name,
            "provider": model.provider,
            "model": model.id,
            "display_name": model.display,
            "current": is_current,
            "context_window": self.context_window.value,
            "max_output_tokens": self.max_output_tokens.value,
            "dollars_per_million_tokens": prices,
            "abilities": {
                "tools": abilities.tools,
                "images": abilities.images,
                "documents": abilities.documents,
                "reasoning": abilities.reasoning,
                "structured_output": abilities.structured_output,
            },
            "line": self.listed.line,
            "created": self.listed.created,
            "lifecycle": self.listed.lifecycle,
            "retires": self.retires,
            "successor": self.successor,
            "aliases": self.listed.aliases,
            "thinking_forms": self.listed.thinking_forms,
            "effort_levels": self.listed.effort_levels,
            "listed": listed,
            "configured": self.configured,
            "source": source,
        })
    }

    /// Whether the service states an ability.
    fn lists_abilities(&self) -> bool {
        let ListedFacts { tools, images, documents, reasoning, structured_output, .. } = self.listed;
        [tools, images, documents, reasoning, structured_output].iter().any(Option::is_some)
    }
}

impl ModelDetails {
    /// Returns, for example, `context 200,000 tokens; $3 in, $15 out per million tokens; tools, images; no reasoning;
    /// structured output unknown; retires on 2026-11-30; listed by the service: context, abilities`.
    pub(super) fn to_text(&self, catalogue: &Catalogue) -> String {
        let context = match self.context_window.value {
            Some(tokens) => sentence!("context {tokens} tokens", tokens = thousands(tokens)),
            None => sentence!("context unknown"),
        };
        let price = match self.prices.value {
            Some(prices) if prices == Prices::default() => sentence!("free"),
            Some(prices) => sentence!(
                "${input} in, ${output} out per million tokens",
                input = dollars(prices.base.input),
                output = dollars(prices.base.output),
            ),
            None => sentence!("price unknown"),
        };
        let mut parts = vec![catalogue.sentence(&context), catalogue.sentence(&price)];
        parts.extend(self.step_text().iter().map(|sentence| catalogue.sentence(sentence)));
        parts.extend(self.abilities_text(catalogue));
        parts.extend(self.life_text().iter().map(|sentence| catalogue.sentence(sentence)));
        parts.extend(self.assumption_text().iter().map(|sentence| catalogue.sentence(sentence)));
        parts.extend(self.source_text(catalogue));
        parts.extend(configured_text(&self.configured).iter().map(|sentence| catalogue.sentence(sentence)));
        parts.join("; ")
    }

    /// Returns the prices of long prompts.
    fn step_text(&self) -> Vec<Sentence> {
        let steps = self.prices.value.map(|prices| prices.steps).unwrap_or_default();
        let step = |PriceStep { above, prices }: PriceStep| {
            sentence!(
                "above {tokens} tokens ${input} in, ${output} out",
                tokens = thousands(above),
                input = dollars(prices.input),
                output = dollars(prices.output),
            )
        };
        steps.into_iter().flatten().map(step).collect()
    }

    /// Returns the earlier model whose facts are assumed to be those of this one.
    fn assumption_text(&self) -> Option<Sentence> {
        let model = self.known.filter(|known| known.is_assumed)?.id;
        Some(sentence!("assumed to be like `{model}`", model))
    }

    fn abilities_text(&self, catalogue: &Catalogue) -> Vec<String> {
        let translate = |sentence: Sentence| catalogue.sentence(&sentence);
        let Abilities { tools, images, documents: _, reasoning, structured_output } = self.abilities;
        let abilities = [
            (tools, sentence!("tools")),
            (images, sentence!("images")),
            (reasoning, sentence!("reasoning")),
            (structured_output, sentence!("structured output")),
        ];
        if abilities.iter().all(|(known, _)| known.is_none()) {
            return vec![translate(sentence!("abilities unknown"))];
        }
        let with = |value: Option<bool>| {
            abilities
                .iter()
                .filter(move |(known, _)| *known == value)
                .map(|(_, name)| catalogue.sentence(name))
        };
        let has: Vec<String> = with(Some(true)).collect();
        let lacks: Vec<String> =
            with(Some(false)).map(|ability| translate(sentence!("no {ability}", ability))).collect();
        let unknown: Vec<String> = with(None).collect();
        let mut parts: Vec<String> = [has, lacks]
            .into_iter()
            .filter(|names| !names.is_empty())
            .map(|names| names.join(", "))
            .collect();
        if !unknown.is_empty() {
            parts.push(translate(sentence!("{abilities} unknown", abilities = unknown.join(", "))));
        }
        parts
    }

    /// Returns how long the model is served, and what replaces it.
    fn life_text(&self) -> Vec<Sentence> {
        let is_deprecated = self.listed.lifecycle == Some(Lifecycle::Deprecated);
        let retires = self.retires.as_ref().map(|date| sentence!("retires on {date}", date));
        let successor = self.successor.as_ref().map(|model| sentence!("replaced by `{model}`", model));
        [is_deprecated.then(|| sentence!("deprecated")), retires, successor].into_iter().flatten().collect()
    }

    /// Returns the facts that the service states. The others are those of the configuration and of the model table.
    fn source_text(&self, catalogue: &Catalogue) -> Option<String> {
        let listed = [
            (self.context_window.is_listed, sentence!("context")),
            (self.prices.is_listed, sentence!("price")),
            (self.lists_abilities(), sentence!("abilities")),
        ];
        let names: Vec<String> = listed
            .iter()
            .filter(|(is_listed, _)| *is_listed)
            .map(|(_, name)| catalogue.sentence(name))
            .collect();
        let facts = names.join(", ");
        (!names.is_empty()).then(|| catalogue.sentence(&sentence!("listed by the service: {facts}", facts)))
    }
}

/// Returns the fields of a model that the configuration sets.
pub fn configured_text(fields: &[String]) -> Option<Sentence> {
    let facts = fields.join(", ");
    (!fields.is_empty()).then(|| sentence!("from the configuration: {facts}", facts))
}

fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Returns a number with a comma between groups of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    fn details(id: &str, listed: ListedFacts) -> ModelDetails {
        let known = ibeam_providers::known_model(id);
        ModelDetails {
            context_window: Fact::new(
                listed.context_window,
                false,
                known.and_then(|known| known.context_window).map(u64::from),
            ),
            max_output_tokens: Fact::new(listed.max_output_tokens, false, None),
            prices: Fact::new(
                listed.prices.as_ref().map(ListedPrices::prices),
                false,
                known.and_then(|known| known.prices),
            ),
            abilities: known.unwrap_or(KnownModel::UNKNOWN).with_listed(&listed).abilities,
            retires: listed.retires.clone().or_else(|| known?.retires.map(str::to_owned)),
            successor: listed.successor.clone().or_else(|| known?.successor.map(str::to_owned)),
            configured: Vec::new(),
            listed,
            known,
        }
    }

    #[track_caller]
    fn check(id: &str, expect: &str) {
        let details = details(id, ListedFacts::default());
        assert_eq!(details.to_text(&Catalogue::new(Locale::En)), expect);
    }

    #[test]
    fn what_the_service_states_takes_precedence_over_the_table() {
        let listed = ListedFacts {
            lifecycle: Some(Lifecycle::Deprecated),
            retires: Some("2026-11-30".into()),
            successor: Some("claude-sonnet-5-5".into()),
            context_window: Some(1_000_000),
            images: Some(false),
            ..ListedFacts::default()
        };
        let details = details("claude-sonnet-4-5", listed);
        assert_eq!(
            details.to_text(&Catalogue::new(Locale::En)),
            "context 1,000,000 tokens; $3 in, $15 out per million tokens; tools, reasoning, structured output; no \
             images; deprecated; retires on 2026-11-30; replaced by `claude-sonnet-5-5`; listed by the \
             service: context, abilities"
        );
        let info = ModelInfo { provider: "p".into(), id: "m".into(), display: "M".into() };
        let json = details.to_json("p/m", &info, false);
        assert_eq!(json["listed"], json!(["context_window", "abilities"]));
        assert_eq!((&json["lifecycle"], &json["retires"]), (&json!("deprecated"), &json!("2026-11-30")));
        assert_eq!(json["effort_levels"], Value::Null);
    }

    #[test]
    fn what_the_user_set_takes_precedence_over_what_the_service_states() {
        let fact = Fact::new(Some(1), true, Some(2));
        assert_eq!((fact.value, fact.is_listed), (Some(2), false));
    }

    #[test]
    fn unknown_facts_are_unknown_and_never_zero() {
        check("my-model", "context unknown; price unknown; abilities unknown");
        check(
            "claude-sonnet-4-5",
            "context 200,000 tokens; $3 in, $15 out per million tokens; tools, images, reasoning, structured output; \
             retires on 2026-11-30; replaced by `claude-sonnet-5-5`",
        );
        check(
            "claude-haiku-5-5",
            "context 1,000,000 tokens; $0.1 in, $0.5 out per million tokens; above 100,000 tokens $0.5 in, $2.5 out; \
             tools, images, reasoning, structured output",
        );
        check(
            "claude-sonnet-6",
            "context 1,000,000 tokens; $2 in, $10 out per million tokens; tools, images, reasoning, structured output; \
             assumed to be like `claude-sonnet-5-5`",
        );
    }

    #[test]
    fn unknown_facts_are_null_in_json() {
        let details = details("m", ListedFacts::default());
        let info = ModelInfo { provider: "p".into(), id: "m".into(), display: "M".into() };
        let json = details.to_json("p/m", &info, false);
        for pointer in ["/context_window", "/dollars_per_million_tokens", "/abilities/tools", "/source"] {
            assert_eq!(json.pointer(pointer), Some(&Value::Null), "{pointer}");
        }
    }

    #[test]
    fn large_numbers_have_groups_of_digits() {
        for (number, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_048_576, "1,048,576")] {
            assert_eq!(thousands(number), expect);
        }
    }
}
