//! The reviewed facts that decide where the sources disagree, or that no source has.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::model_name::{ModelName, bare_name};
use super::row::{Dollars, RetiredRow, Row, RowPrices, Thinking};
use super::{ModelFactsError, read_file};

/// A line of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    /// The provider; every provider if it is absent.
    #[serde(default)]
    provider: Option<String>,
    /// Ids. The names without the decorations of clouds count too.
    #[serde(default)]
    ids: Vec<String>,
    /// A family, such as `claude-sonnet`, or its first words.
    #[serde(default)]
    family: Option<String>,
    /// The lowest and the highest version of the family, such as `5.4`.
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    to: Option<String>,
    /// The form of thinking that a row must have.
    #[serde(default)]
    form: Option<String>,
    /// The fields of the row and their values. `null` leaves a field out.
    #[serde(default)]
    set: Map<String, Value>,
    /// Whether no source has the models with these ids, so that the override adds them.
    #[serde(default)]
    added: bool,
    /// The day on which the models with these ids were retired, if no source has it.
    #[serde(default)]
    retired: Option<String>,
    /// The successor of the retired models.
    #[serde(default)]
    successor: Option<String>,
    /// The page, or the package and file, that has the fact.
    url: String,
    /// The day on which it was read, `YYYY-MM-DD`.
    date: String,
}

impl Override {
    /// Reads the file.
    pub(super) fn load_all(path: &Path) -> Result<Vec<Self>, ModelFactsError> {
        let text = read_file(path)?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let parsed = lines.map(|(index, line)| {
            let bad = |detail: String| ModelFactsError::Content { path: path.to_owned(), detail };
            let parsed: Self =
                serde_json::from_str(line).map_err(|error| bad(format!("line {}: {error}", index + 1)))?;
            let has_evidence = !parsed.url.is_empty() && parsed.date.len() == "2026-01-01".len();
            let selects = !parsed.ids.is_empty() || parsed.family.is_some();
            match has_evidence && selects {
                true => Ok(parsed),
                false => Err(bad(format!("line {}: needs `url`, `date`, and `ids` or `family`", index + 1))),
            }
        });
        parsed.collect()
    }

    /// Whether the override is about a model.
    pub(super) fn matches(&self, row: &Row) -> bool {
        let id = row.id.as_str();
        let form = row.thinking.as_ref().and_then(|thinking| thinking.form.as_ref());
        if self.provider.as_deref().is_some_and(|name| name != row.provider)
            || self.form.is_some() && self.form.as_ref() != form
        {
            return false;
        }
        let bare = bare_name(id);
        let dashed = bare.replace('.', "-");
        if self.ids.iter().any(|name| [id, bare, dashed.as_str()].contains(&name.as_str())) {
            return true;
        }
        let Some(family) = &self.family else { return false };
        let name = ModelName::new(id);
        let rest = name.family.strip_prefix(family.as_str());
        let bound = |text: &Option<String>| text.as_deref().and_then(parse_version);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            && bound(&self.from).is_none_or(|from| name.version >= from)
            && bound(&self.to).is_none_or(|to| name.version <= to)
    }

    /// Returns the retired models that the override adds.
    pub(super) fn retired_rows(&self, provider: &'static str) -> Vec<RetiredRow> {
        let Some(retires) = self.retired.as_ref().filter(|_| self.provider.as_deref() == Some(provider))
        else {
            return Vec::new();
        };
        let row = |id: &String| RetiredRow {
            provider,
            id: id.clone(),
            retires: retires.clone(),
            successor: self.successor.clone(),
        };
        self.ids.iter().map(row).collect()
    }

    /// Returns the current models that the override adds.
    pub(super) fn added_rows(&self, provider: &'static str) -> Result<Vec<Row>, ModelFactsError> {
        if !self.added || self.provider.as_deref() != Some(provider) {
            return Ok(Vec::new());
        }
        let row = |id: &String| {
            let mut row = Row { provider, id: id.clone(), source: "override", ..Row::default() };
            self.apply(&mut row).map(|()| row)
        };
        self.ids.iter().map(row).collect()
    }

    /// Whether the override decides on a field.
    pub(super) fn sets(&self, field: &str) -> bool {
        self.set.contains_key(field)
    }

    /// Applies the override to a row.
    pub(super) fn apply(&self, row: &mut Row) -> Result<(), ModelFactsError> {
        for (field, value) in &self.set {
            let text = || value.as_str().map(str::to_owned);
            let thinking = || row.thinking.clone().unwrap_or_default();
            match field.as_str() {
                "label" => row.label = text(),
                "context_window" => row.context_window = value.as_u64(),
                "max_output_tokens" => row.max_output_tokens = value.as_u64(),
                "prices" => row.prices = prices(value),
                "tiers" if value.is_null() => row.tiers.clear(),
                // The row keeps the ability that one of the sources states; the line only says that this was decided.
                "abilities" => {}
                "batch_percent" => row.batch_percent = value.as_u64(),
                "max_images" => row.max_images = value.as_u64(),
                "wire" => row.wire = text(),
                "cache" => row.cache = text(),
                "schema" => row.schema = text(),
                // The rules of several lines are added.
                "rules" if value.is_null() => row.rules.clear(),
                "rules" => {
                    let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    row.rules.extend(words.map(str::to_owned));
                    row.rules.sort_unstable();
                    row.rules.dedup();
                }
                "instruction_role" => row.instruction_role = text(),
                "retires" => row.retires = text(),
                "successor" => row.successor = text(),
                "thinking.form" => row.thinking = Some(Thinking { form: text(), ..thinking() }),
                "thinking.off" => row.thinking = Some(Thinking { off: text(), ..thinking() }),
                "thinking.default" => row.thinking = Some(Thinking { default: text(), ..thinking() }),
                "thinking.bound" => {
                    row.thinking = Some(Thinking { bound: value == true, ..thinking() });
                }
                "thinking.levels" => {
                    let words = |list: &Vec<Value>| {
                        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                    };
                    row.thinking = Some(Thinking { levels: value.as_array().map(words), ..thinking() });
                }
                other => {
                    return Err(ModelFactsError::Content {
                        path: "overrides.jsonl".into(),
                        detail: format!("unknown field `{other}`"),
                    });
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.family.clone().unwrap_or_else(|| self.ids.join(", "));
        write!(f, "{} ({})", what, self.url)
    }
}

fn prices(value: &Value) -> Option<RowPrices> {
    let price = |name: &str| value.get(name).and_then(Value::as_f64).map(Dollars);
    Some(RowPrices {
        input: price("input")?,
        output: price("output")?,
        cache_read: price("cache_read"),
        cache_write: price("cache_write"),
        cache_write_long: price("cache_write_long"),
    })
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}
