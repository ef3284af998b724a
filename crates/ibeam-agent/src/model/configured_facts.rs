//! The facts about a model that the configuration sets: `[models.NAME]`, and the older tables `[models.context]` and
//! `[models.prices]`.
//!
//! The list of the fields is that of the keys of the configuration. A field that is set takes precedence over the list of
//! the service and over the model table; the others stay.

use ibeam_config::{Config, Setting, Value};
use ibeam_core::PriceStep;
use ibeam_protocol::Reason;
use ibeam_providers::calendar::days_of_date;
use ibeam_providers::{
    CacheForm, Effort, EffortSet, InstructionRole, KnownModel, RequestRules, SchemaForm, ThinkingForm,
    ThinkingOff, WireProtocol, find_protocol, parse_prices,
};

use super::configured_provider::protocol_names;

/// The older tables, each with the field that it sets.
const OLDER_TABLES: [(&str, &str); 2] = [("context", "context_window"), ("prices", "prices")];

/// The facts about one model that the configuration sets.
pub struct ConfiguredFacts<'a> {
    /// The fields and their settings. Of two for one field, the later one takes precedence.
    settings: Vec<(String, &'a Setting)>,
}

impl<'a> ConfiguredFacts<'a> {
    /// Collects the facts about a model of a provider.
    pub fn new(config: &'a Config, provider: &str, id: &str) -> Self {
        let older = OLDER_TABLES.into_iter();
        let older =
            older.filter_map(|(table, field)| Some((field.to_owned(), config.get(&["models", table, id])?)));
        let mut settings: Vec<_> = older.collect();
        for name in [id, &format!("{provider}/{id}")] {
            settings.extend(config.all_settings().filter_map(|(path, layers)| match path {
                [models, named, field @ ..] if models == "models" && named == name && !field.is_empty() => {
                    Some((field.join("."), layers.last()?))
                }
                _ => None,
            }));
        }
        Self { settings }
    }

    /// Returns the names of the fields that are set.
    pub fn fields(&self) -> Vec<String> {
        let mut fields: Vec<String> = self.settings.iter().map(|(field, _)| field.clone()).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    pub fn sets(&self, field: &str) -> bool {
        self.value(field).is_some()
    }

    pub fn text(&self, field: &str) -> Option<&'a str> {
        self.value(field).map(text)
    }

    pub(crate) fn number(&self, field: &str) -> Option<u64> {
        self.value(field).and_then(number)
    }

    fn value(&self, field: &str) -> Option<&'a Value> {
        self.settings.iter().rev().find(|(name, _)| name == field).map(|(_, setting)| &setting.value)
    }

    /// Returns a row with the facts; `None` if there is neither a row nor a fact.
    pub(crate) fn apply(&self, row: Option<KnownModel>) -> Option<KnownModel> {
        if self.settings.is_empty() {
            return row;
        }
        let mut row = row.unwrap_or(KnownModel::UNKNOWN);
        for (field, setting) in &self.settings {
            // `check` reports a wrong value.
            let _ = set(&mut row, field, &setting.value);
        }
        Some(row)
    }

    /// Checks the values whose form the configuration does not know.
    ///
    /// # Errors
    /// `BadConfig` with the place and the accepted form.
    pub fn check(&self) -> Result<(), Reason> {
        for (field, setting) in &self.settings {
            set(&mut KnownModel::UNKNOWN.clone(), field, &setting.value)
                .map_err(|detail| Reason::from(setting.origin.invalid(detail)))?;
        }
        Ok(())
    }
}

/// Returns the models whose API the configuration sets, each with its protocol.
///
/// # Errors
/// `BadConfig` for an unknown protocol.
pub(super) fn configured_wires(config: &Config) -> Result<Vec<(String, &'static dyn WireProtocol)>, Reason> {
    let mut wires = Vec::new();
    for name in config.children(&["models"]) {
        let path = ["models", name, "wire"];
        if OLDER_TABLES.iter().any(|(table, _)| *table == name) || matches!(name, "aliases" | "display") {
            continue;
        }
        if let Some(setting) = config.get(&path) {
            let word = text(&setting.value);
            let protocol = find_protocol(word).ok_or_else(|| {
                let detail = format!("`models.{name}.wire`: `{word}` should be {}", protocol_names());
                Reason::from(setting.origin.invalid(detail))
            })?;
            wires.push((name.to_owned(), protocol));
        }
    }
    Ok(wires)
}

/// Sets a field of a row.
///
/// # Errors
/// The form that the value should have; for a field that no row has, its name.
fn set(row: &mut KnownModel, field: &str, value: &Value) -> Result<(), String> {
    let size = || number(value).map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    let word = text(value);
    match field {
        "context_window" => row.context_window = size(),
        "max_output_tokens" => row.max_output_tokens = size(),
        "prices" => row.prices = Some(parse_prices(word).ok_or_else(|| not_prices(word))?),
        "tiers" => set_tiers(row, list(value))?,
        "batch_percent" => row.batch_percent = number(value),
        "max_images" => row.max_images = size(),
        "tools" => row.abilities.tools = switch(value),
        "images" => row.abilities.images = switch(value),
        "documents" => row.abilities.documents = switch(value),
        "reasoning" => row.abilities.reasoning = switch(value),
        "structured_output" => row.abilities.structured_output = switch(value),
        "cache" => row.cache = CacheForm::from_name(word),
        "schema" => row.schema = SchemaForm::from_name(word),
        "rules" => row.rules = RequestRules::from_names(&list(value).join(",")),
        "instruction_role" => row.instruction_role = InstructionRole::from_name(word),
        "thinking.form" => row.thinking.form = ThinkingForm::from_name(word),
        "thinking.off" => row.thinking.off = ThinkingOff::from_name(word),
        "thinking.levels" => row.thinking.levels = Some(EffortSet::from_names(&list(value).join(","))),
        "thinking.default" => row.thinking.default = Effort::from_name(word),
        "thinking.bound" => row.thinking.is_bound = switch(value) == Some(true),
        "retires" if days_of_date(word).is_none() => {
            return Err(format!("`{word}` should be a day, such as \"2027-01-31\""));
        }
        // Facts that no request needs: those who print them read them from the configuration.
        "retires" | "successor" | "label" | "economic_window" | "wire" => {}
        field => return Err(format!("`{field}` is not a field of a model")),
    }
    Ok(())
}

/// Sets the prices of longer prompts.
fn set_tiers(row: &mut KnownModel, tiers: &[String]) -> Result<(), String> {
    let step = |tier: &String| {
        let (above, prices) = tier.split_once(':')?;
        Some(PriceStep { above: above.trim().parse().ok()?, prices: parse_prices(prices)?.base })
    };
    let bad = |tier: &String| {
        format!("`{tier}` should be a number of tokens and the prices above it, such as \"200000:6/22.5\"")
    };
    let mut steps =
        tiers.iter().map(|tier| step(tier).ok_or_else(|| bad(tier))).collect::<Result<Vec<_>, _>>()?;
    if steps.len() > 2 {
        return Err("`tiers` should have at most two prices of longer prompts".to_owned());
    }
    steps.sort_by_key(|step| step.above);
    if let Some(prices) = &mut row.prices {
        let mut steps = steps.into_iter();
        prices.steps = [steps.next(), steps.next()];
    }
    Ok(())
}

fn not_prices(text: &str) -> String {
    format!("`{text}` should be dollars for a million tokens, such as \"3/15\" or \"3/15/0.3/3.75\"")
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        Value::Number(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) | Value::List(_) => "",
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Text(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) | Value::List(_) => None,
    }
}

fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Switch(on) => Some(*on),
        Value::Text(_) | Value::Number(_) | Value::Time(_) | Value::Money(_) | Value::List(_) => None,
    }
}

fn list(value: &Value) -> &[String] {
    match value {
        Value::List(list) => list,
        Value::Text(_) | Value::Number(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use ibeam_config::{choices, model_fields};
    use ibeam_providers::{RequestRule, find_model};

    use super::*;

    fn words(field: &str) -> &'static [&'static str] {
        choices(&format!("models.m.{field}"))
    }

    #[test]
    fn every_field_of_the_configuration_is_one_of_a_row() {
        for field in model_fields() {
            let result = set(&mut KnownModel::UNKNOWN.clone(), field, &Value::Text("2027-01-31".to_owned()));
            let is_price = field == "prices";
            assert_eq!(result.is_ok(), !is_price, "{field}: {result:?}");
        }
        assert!(set(&mut KnownModel::UNKNOWN.clone(), "thinking", &Value::Number(1)).is_err());
    }

    #[test]
    fn every_word_of_the_configuration_is_one_of_the_table() {
        let is_known = |known: bool, word: &str| assert!(known || word == "none", "{word}");
        words("cache").iter().for_each(|word| is_known(CacheForm::from_name(word).is_some(), word));
        words("schema").iter().for_each(|word| is_known(SchemaForm::from_name(word).is_some(), word));
        words("thinking.form").iter().for_each(|word| assert!(ThinkingForm::from_name(word).is_some()));
        words("thinking.off").iter().for_each(|word| is_known(ThinkingOff::from_name(word).is_some(), word));
        let is_role = |word: &&str| InstructionRole::from_name(word).is_some() || *word == "user";
        assert!(words("instruction_role").iter().all(is_role));
        words("thinking.levels").iter().for_each(|word| assert!(Effort::from_name(word).is_some()));
        let rules: Vec<&str> = RequestRule::ALL.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(words("rules"), rules);
        assert!(!words("cache").is_empty() && !words("thinking.default").is_empty());
    }

    #[test]
    fn a_fact_that_is_set_replaces_that_of_the_row_and_no_other() {
        let known = find_model("anthropic", "claude-sonnet-5-5").unwrap();
        let mut row = known;
        set(&mut row, "thinking.levels", &Value::List(vec!["low".to_owned()])).unwrap();
        set(&mut row, "prices", &Value::Text("1/2".to_owned())).unwrap();
        set(&mut row, "tiers", &Value::List(vec!["200000:3/4".to_owned()])).unwrap();
        assert_eq!(row.thinking.levels, Some(EffortSet::from_names("low")));
        assert_eq!(row.thinking.form, known.thinking.form);
        assert_eq!((row.price_step(), row.context_window), (Some(200_000), known.context_window));
        for bad in ["", "x:1/2", "1:x", "1"] {
            assert!(set(&mut row, "tiers", &Value::List(vec![bad.to_owned()])).is_err(), "{bad}");
        }
    }
}
