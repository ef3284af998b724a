//! The join of the two sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::ModelFactsError;
use super::litellm_prices::LiteLlm;
use super::model_name::{bare_name, without_date, without_region};
use super::overrides::Override;
use super::pi_ai_catalogue::PiAi;
use super::providers::{PROVIDERS, ProviderSource, ThinkingApi};
use super::row::{RetiredRow, Row, RowPrices, Thinking, Tier};

/// Sizes that differ by at most this share are two roundings of one size. The smaller one is safe.
const ROUNDING: f64 = 0.05;

/// The facts about a model in one source.
#[derive(Clone, Default)]
pub(super) struct Facts {
    pub(super) label: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) prices: Option<RowPrices>,
    pub(super) tiers: Vec<Tier>,
    pub(super) batch_percent: Option<u64>,
    /// The number of images in a request.
    pub(super) max_images: Option<u64>,
    pub(super) abilities: BTreeMap<&'static str, Option<bool>>,
    pub(super) levels: Option<Vec<String>>,
    pub(super) off: Option<Off>,
    pub(super) default_level: Option<String>,
    /// The highest level that Converse accepts.
    pub(super) level_ceiling: Option<String>,
    /// The form of a request for thinking over Chat Completions, if it is not a level alone.
    pub(super) form: Option<&'static str>,
    pub(super) is_adaptive: Option<bool>,
    /// Whether the Responses API is the API of the model.
    pub(super) is_responses: bool,
    /// Whether Chat Completions does not offer the model.
    pub(super) lacks_chat: bool,
    pub(super) has_breakpoints: bool,
    /// Whether a message with the role `system` may follow later in a conversation.
    pub(super) has_later_system: bool,
    /// Whether the model is served over the Messages API.
    pub(super) has_messages_api: bool,
    /// Whether the Messages API accepts `output_config.format` for the model.
    pub(super) has_output_format: Option<bool>,
    /// Whether Converse accepts `outputConfig.textFormat` for the model.
    pub(super) has_converse_output_format: Option<bool>,
    /// Rules for the parts of a request.
    pub(super) rules: Vec<String>,
    pub(super) retires: Option<String>,
    pub(super) successor: Option<String>,
}

/// The way in which thinking is switched off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Off {
    Impossible,
    /// The level `none`.
    Level,
    /// A setting of its own.
    Disabled,
}

pub(super) struct JoinedTable {
    pub(super) rows: Vec<Row>,
    pub(super) retired: Vec<RetiredRow>,
    /// The values that differ and that no override decides.
    pub(super) conflicts: Vec<String>,
    used_overrides: BTreeSet<usize>,
}

impl JoinedTable {
    /// Joins the models of all providers. A model that retired before `today` is only named.
    pub(super) fn new(
        litellm: &Path,
        pi_ai: &Path,
        overrides: &[Override],
        today: &str,
    ) -> Result<Self, ModelFactsError> {
        let (litellm, pi_ai) = (LiteLlm::load(litellm)?, PiAi::new(pi_ai));
        let mut table = Self {
            rows: Vec::new(),
            retired: Vec::new(),
            conflicts: Vec::new(),
            used_overrides: BTreeSet::new(),
        };
        for provider in PROVIDERS {
            let (first, second) = (litellm.models(provider), pi_ai.models(provider)?);
            let mut rows = Vec::new();
            for id in first.keys().chain(second.keys()).collect::<BTreeSet<_>>() {
                let (first, second) = (first.get(id), second.get(id));
                if let Some(retires) =
                    first.and_then(|facts| facts.retires.clone()).filter(|day| &**day <= today)
                {
                    let successor = first.and_then(|facts| facts.successor.clone());
                    table.retired.push(RetiredRow {
                        provider: provider.name,
                        id: id.clone(),
                        retires,
                        successor,
                    });
                    continue;
                }
                let calls_tools = |facts: &Facts| facts.abilities.get("tools") == Some(&Some(true));
                if second.is_some() || first.is_some_and(calls_tools) {
                    rows.push(table.join(provider, id, first, second, overrides)?);
                }
            }
            if provider.thinking == ThinkingApi::Converse {
                rows = without_equal_regions(rows);
                table
                    .retired
                    .retain(|row| row.provider != provider.name || without_region(&row.id) == row.id);
            }
            // litellm has short names, and names with a path of a region, that the services do not accept.
            let is_id = |id: &str| match provider.name {
                "bedrock" | "vertex" => !id.contains('/'),
                "fireworks" => id.starts_with("accounts/"),
                _ => true,
            };
            rows.retain(|row| is_id(&row.id));
            table.retired.retain(|row| row.provider != provider.name || is_id(&row.id));
            let added =
                overrides.iter().enumerate().map(|(index, rule)| (index, rule.retired_rows(provider.name)));
            for (index, added) in added.filter(|(_, added)| !added.is_empty()).collect::<Vec<_>>() {
                rows.retain(|row: &Row| added.iter().all(|retired| retired.id != row.id));
                table.retired.retain(|row| added.iter().all(|retired| retired.id != row.id));
                table.retired.extend(added);
                table.used_overrides.insert(index);
            }
            for (index, rule) in overrides.iter().enumerate() {
                let added = rule.added_rows(provider.name)?;
                if !added.is_empty() {
                    table.used_overrides.insert(index);
                }
                rows.extend(added);
            }
            rows.sort_by(|a, b| a.id.cmp(&b.id));
            add_levels_of_undated(&mut rows);
            table.rows.append(&mut rows);
        }
        let position = |name: &str| PROVIDERS.iter().position(|provider| provider.name == name);
        table.retired.sort_by(|a, b| (position(a.provider), &a.id).cmp(&(position(b.provider), &b.id)));
        Ok(table)
    }

    fn join(
        &mut self,
        provider: &ProviderSource,
        id: &str,
        first: Option<&Facts>,
        second: Option<&Facts>,
        overrides: &[Override],
    ) -> Result<Row, ModelFactsError> {
        let mut row = Row { provider: provider.name, id: id.to_owned(), ..Row::default() };
        row.source = match (first, second) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "litellm",
            (None, _) => "pi-ai",
        };
        let mut conflicts = Vec::new();
        let both = |read: fn(&Facts) -> Option<u64>| (first.and_then(read), second.and_then(read));
        row.label = second.and_then(|facts| facts.label.clone());
        // The catalogue of pi-ai has the first price step as the window of some models.
        let step = first.or(second).and_then(|facts| facts.tiers.first()).map(|tier| tier.above);
        let (window, other_window) = both(|facts| facts.context_window);
        let other_window =
            other_window.filter(|window_of_pi| window.is_none() || Some(*window_of_pi) != step);
        let (output, other_output) = both(|facts| facts.max_output_tokens);
        // litellm has the limit of the input of some models, pi-ai that of input and output together.
        let total = window.zip(output.or(other_output)).map(|(input, output)| input + output);
        let window = if total == other_window { total } else { window };
        row.context_window = merge_sizes("context_window", window, other_window, &mut conflicts);
        row.max_output_tokens = merge_sizes("max_output_tokens", output, other_output, &mut conflicts);
        let prices = (first.and_then(|facts| facts.prices), second.and_then(|facts| facts.prices));
        row.prices = merge_prices(prices.0, prices.1, &mut conflicts);
        row.tiers = merge_tiers(first, second, &mut conflicts);
        row.batch_percent = first.and_then(|facts| facts.batch_percent);
        row.max_images = second.and_then(|facts| facts.max_images);
        for ability in ["tools", "images", "documents", "reasoning", "structured_output"] {
            let value = |facts: Option<&Facts>| facts.and_then(|facts| *facts.abilities.get(ability)?);
            match (value(first), value(second)) {
                (Some(one), Some(other)) if one != other => {
                    conflicts.push(("abilities", format!("{ability} {one} {other}")));
                }
                (Some(true), _) | (_, Some(true)) => row.has.push(ability),
                (Some(false), _) | (_, Some(false)) => row.lacks.push(ability),
                (None, None) => {}
            }
        }
        row.thinking = thinking(provider, id, first, second, &row);
        if let Some(maker) = self.row_of_maker(provider, id).filter(|_| first.is_none()) {
            // Only pi-ai's catalogue of the maker says which form of thinking a model has.
            row.thinking = maker.thinking.clone();
        }
        row.schema = schema(provider, first);
        row.rules = [first, second].into_iter().flatten().flat_map(|facts| facts.rules.clone()).collect();
        row.wire = wire(provider, first, second);
        row.cache = cache(provider, first, second);
        row.instruction_role = instruction_role(provider, first);
        row.retires = first.and_then(|facts| facts.retires.clone());
        row.successor = first.and_then(|facts| facts.successor.clone());
        let matching: Vec<(usize, &Override)> =
            overrides.iter().enumerate().filter(|(_, rule)| rule.matches(&row)).collect();
        for (index, rule) in &matching {
            rule.apply(&mut row)?;
            self.used_overrides.insert(*index);
        }
        let is_open = |(field, _): &(&str, String)| !matching.iter().any(|(_, rule)| rule.sets(field));
        let lines = conflicts.into_iter().filter(is_open);
        self.conflicts
            .extend(lines.map(|(field, values)| format!("{} {id} {field}: {values}", provider.name)));
        if row.thinking == Some(Thinking::default()) {
            row.thinking = None;
        }
        Ok(row)
    }

    /// Returns the row of the same model of Claude at its maker, for a service that offers it over the Messages API too.
    fn row_of_maker(&self, provider: &ProviderSource, id: &str) -> Option<&Row> {
        let offers_claude = matches!(provider.thinking, ThinkingApi::Messages | ThinkingApi::Converse);
        let name = bare_name(id);
        self.rows.iter().find(|row| offers_claude && row.provider == "anthropic" && row.id == name)
    }

    /// Returns the file of the table: a line for each model, then one for each retired model.
    pub(super) fn rows_text(&self) -> String {
        let current = self.rows.iter().filter_map(|row| serde_json::to_string(row).ok());
        let retired = self.retired.iter().filter_map(|row| serde_json::to_string(row).ok());
        current.chain(retired).map(|line| line + "\n").collect()
    }

    /// Returns the list of conflicts.
    pub(super) fn conflicts_text(&self) -> String {
        let mut text = String::from(
            "Values that the sources disagree on (litellm, then pi-ai) and that are left out of the table until a line of \
             overrides.jsonl decides.\n\n",
        );
        for line in &self.conflicts {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Returns the overrides that match no model.
    pub(super) fn unused_overrides<'a>(
        &self,
        overrides: &'a [Override],
    ) -> impl Iterator<Item = &'a Override> {
        let unused = overrides.iter().enumerate().filter(|(index, _)| !self.used_overrides.contains(index));
        unused.map(|(_, rule)| rule)
    }
}

type Conflicts = Vec<(&'static str, String)>;

fn merge_sizes(
    field: &'static str,
    one: Option<u64>,
    other: Option<u64>,
    conflicts: &mut Conflicts,
) -> Option<u64> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    let (small, large) = (a.min(b), a.max(b));
    if (large - small) as f64 <= large as f64 * ROUNDING {
        return Some(small);
    }
    conflicts.push((field, format!("{a} {b}")));
    None
}

fn merge_prices(
    one: Option<RowPrices>,
    other: Option<RowPrices>,
    conflicts: &mut Conflicts,
) -> Option<RowPrices> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    let pairs =
        [(Some(a.input), Some(b.input)), (Some(a.output), Some(b.output)), (a.cache_read, b.cache_read)];
    let differ = pairs.iter().any(|pair| match pair {
        (Some(a), Some(b)) => !a.is_near(*b),
        (None, _) | (_, None) => false,
    });
    if differ {
        let words = |prices: RowPrices| {
            let read = prices.cache_read.map_or_else(|| "-".to_owned(), |price| price.0.to_string());
            format!("{}/{}/{read}", prices.input.0, prices.output.0)
        };
        conflicts.push(("prices", format!("{} {}", words(a), words(b))));
        return None;
    }
    Some(RowPrices {
        cache_read: a.cache_read.or(b.cache_read),
        cache_write: a.cache_write.or(b.cache_write),
        ..a
    })
}

fn merge_tiers(first: Option<&Facts>, second: Option<&Facts>, conflicts: &mut Conflicts) -> Vec<Tier> {
    let list = |facts: Option<&Facts>| facts.map(|facts| facts.tiers.clone()).unwrap_or_default();
    let (one, other) = (list(first), list(second));
    if one.is_empty() || other.is_empty() {
        return if one.is_empty() { other } else { one };
    }
    let steps = |tiers: &[Tier]| tiers.iter().map(|tier| tier.above).collect::<Vec<_>>();
    if steps(&one) != steps(&other) {
        conflicts.push(("tiers", format!("{:?} {:?}", steps(&one), steps(&other))));
    }
    // The tier with the lower step is the safe one.
    if steps(&one) <= steps(&other) { one } else { other }
}

fn thinking(
    provider: &ProviderSource,
    id: &str,
    first: Option<&Facts>,
    second: Option<&Facts>,
    row: &Row,
) -> Option<Thinking> {
    if row.lacks.contains(&"reasoning") {
        return Some(Thinking { form: Some("none".to_owned()), ..Thinking::default() });
    }
    if !row.has.contains(&"reasoning") {
        return None;
    }
    let levels = second.and_then(|facts| facts.levels.clone()).or_else(|| first?.levels.clone());
    let levels = levels.map(|levels| up_to_ceiling(levels, first));
    let off = second.and_then(|facts| facts.off).or_else(|| first?.off);
    let is_adaptive = [first, second].into_iter().flatten().any(|facts| facts.is_adaptive == Some(true));
    let default = first.and_then(|facts| facts.default_level.clone());
    let messages = || {
        let form = if is_adaptive { "adaptive" } else { "budget" };
        let off = (is_adaptive && off != Some(Off::Impossible)).then(|| "disabled".to_owned());
        // The API has no level below `low`.
        let levels = levels.clone().filter(|_| is_adaptive);
        let levels = levels.map(|levels| levels.into_iter().filter(|level| level != "minimal").collect());
        Thinking { form: Some(form.to_owned()), off, levels, default: default.clone(), bound: false }
    };
    let with_levels = || {
        let off = match off {
            Some(Off::Level) => Some("level".to_owned()),
            Some(Off::Disabled) => Some("disabled".to_owned()),
            Some(Off::Impossible) | None => None,
        };
        Thinking {
            form: Some(second.and_then(|facts| facts.form).unwrap_or("levels").to_owned()),
            off,
            levels: levels.clone(),
            default: default.clone(),
            bound: false,
        }
    };
    match provider.thinking {
        ThinkingApi::Messages => Some(messages()),
        ThinkingApi::Converse if id.contains("anthropic.") => Some(messages()),
        ThinkingApi::Converse => None,
        ThinkingApi::Levels => Some(with_levels()),
        ThinkingApi::Gemini if levels.is_some() => Some(with_levels()),
        ThinkingApi::Gemini => Some(Thinking { form: Some("budget".to_owned()), ..Thinking::default() }),
    }
}

/// Leaves out the levels above the ceiling of the service.
fn up_to_ceiling(levels: Vec<String>, facts: Option<&Facts>) -> Vec<String> {
    let ceiling = facts.and_then(|facts| facts.level_ceiling.clone());
    match levels.iter().position(|level| Some(level) == ceiling.as_ref()) {
        Some(last) => levels.into_iter().take(last + 1).collect(),
        None => levels,
    }
}

fn schema(provider: &ProviderSource, first: Option<&Facts>) -> Option<String> {
    let has = match provider.thinking {
        ThinkingApi::Messages => first?.has_output_format,
        ThinkingApi::Converse => first?.has_converse_output_format,
        ThinkingApi::Levels | ThinkingApi::Gemini => None,
    };
    (has == Some(true)).then(|| "output_config".to_owned())
}

fn wire(provider: &ProviderSource, first: Option<&Facts>, second: Option<&Facts>) -> Option<String> {
    let is = |read: fn(&Facts) -> bool| [first, second].into_iter().flatten().any(read);
    let word = match (is(|facts| facts.lacks_chat), is(|facts| facts.is_responses)) {
        (true, _) => "responses_only",
        (false, true) => "responses",
        (false, false) => return None,
    };
    ["openai", "xai", "meta"].contains(&provider.name).then(|| word.to_owned())
}

fn cache(provider: &ProviderSource, first: Option<&Facts>, second: Option<&Facts>) -> Option<String> {
    let is = |read: fn(&Facts) -> bool| [first, second].into_iter().flatten().any(read);
    match provider.name {
        "openai" => is(|facts| facts.has_breakpoints).then(|| "breakpoints".to_owned()),
        "openrouter" => is(|facts| facts.has_messages_api).then(|| "cache_control".to_owned()),
        _ => None,
    }
}

/// The role is a form of the Messages API. The models of OpenAI have an override.
fn instruction_role(provider: &ProviderSource, first: Option<&Facts>) -> Option<String> {
    let has_role = first.is_some_and(|facts| facts.has_later_system);
    let is_claude = provider.thinking == ThinkingApi::Messages || provider.name == "bedrock";
    (has_role && is_claude).then(|| "system".to_owned())
}

/// Gives a row with a date in its id the levels of the row without it, if no source has its own.
fn add_levels_of_undated(rows: &mut [Row]) {
    let known: BTreeMap<String, Thinking> = rows
        .iter()
        .filter_map(|row| {
            Some((row.id.clone(), row.thinking.clone().filter(|thinking| thinking.levels.is_some())?))
        })
        .collect();
    for row in rows {
        let Some(thinking) = known.get(without_date(&row.id)) else { continue };
        let lacks_levels = |own: &Thinking| own.levels.is_none() && own.form == thinking.form;
        if row.thinking.as_ref().is_some_and(lacks_levels) {
            row.thinking = Some(thinking.clone());
        }
    }
}

/// Returns the rows without the regional variants of a model that differ from it in nothing but the id.
fn without_equal_regions(rows: Vec<Row>) -> Vec<Row> {
    let mut groups: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(without_region(&row.id).to_owned()).or_default().push(row);
    }
    let mut kept = Vec::new();
    for (base, mut group) in groups {
        // The plain id first, then the global profile.
        group.sort_by_key(|row| (row.id != base, !row.id.starts_with("global."), row.id.clone()));
        let Some(model) = group.first().cloned() else { continue };
        let differs = |row: &Row| row.prices != model.prices || row.context_window != model.context_window;
        kept.extend(group.into_iter().skip(1).filter(differs));
        kept.push(Row { id: base, ..model });
    }
    kept
}
