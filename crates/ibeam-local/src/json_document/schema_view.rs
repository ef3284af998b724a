//! The part of a schema that decides the form of a value, with references and combinations resolved.

use ibeam_core::JsonSchema;
use serde_json::{Map, Value, json};

/// The maximum number of references and combinations that are resolved for one value. The check of the schema allows fewer.
const MAX_RESOLUTIONS: usize = 128;
/// The largest range of integers that is written as a list of choices.
const MAX_CHOICES: i64 = 100;
/// The texts that may begin a number.
const NUMBER_STARTS: &[&str] = &["-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// One form that a value may take.
#[derive(Clone, Debug)]
pub(super) struct SchemaView {
    pub(super) form: Form,
    /// The keywords that apply to the value.
    keywords: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// One of these values.
    OneOf(Vec<Value>),
    Object,
    Array,
    String,
    Number {
        integer: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) schema: Value,
    pub(super) required: bool,
}

impl SchemaView {
    /// Returns the forms that `schema` allows, one or more.
    pub(super) fn alternatives(root: &JsonSchema, schema: &Value) -> Vec<Self> {
        let mut views = Vec::new();
        let mut pending = vec![keywords_of(schema)];
        let mut resolutions = 0;
        while let Some(mut keywords) = pending.pop() {
            resolutions += 1;
            if resolutions > MAX_RESOLUTIONS {
                break;
            }
            if let Some(reference) = take_text(&mut keywords, "$ref") {
                let target = root.referenced_schema(&reference).map(keywords_of).unwrap_or_default();
                pending.push(merge_keywords(keywords, target));
            } else if let Some(Value::Array(all)) = keywords.shift_remove("allOf") {
                pending.push(all.iter().map(keywords_of).fold(keywords, merge_keywords));
            } else if let Some(Value::Array(any)) = take_first(&mut keywords, &["anyOf", "oneOf"]) {
                pending.extend(
                    any.iter().rev().map(|branch| merge_keywords(keywords.clone(), keywords_of(branch))),
                );
            } else {
                views.extend(
                    forms(&keywords).into_iter().map(|form| Self { form, keywords: keywords.clone() }),
                );
            }
        }
        views
    }

    /// Returns the view of a value that can only be null.
    pub(super) fn null() -> Self {
        Self { form: Form::OneOf(vec![Value::Null]), keywords: Map::new() }
    }

    /// Returns the texts with which a value may begin.
    pub(super) fn first_texts(&self) -> Vec<String> {
        match &self.form {
            Form::OneOf(values) => values.iter().map(Value::to_string).collect(),
            Form::Object => vec!["{".to_owned()],
            Form::Array => vec!["[".to_owned()],
            Form::String => vec!["\"".to_owned()],
            Form::Number { .. } => NUMBER_STARTS.iter().map(|&start| start.to_owned()).collect(),
        }
    }

    /// Returns the properties that the schema names, in its order; required ones without a schema come last.
    pub(super) fn properties(&self) -> Vec<Property> {
        let required: Vec<&str> = self.names("required").collect();
        let named = self.keywords.get("properties").and_then(Value::as_object);
        let mut properties: Vec<Property> = named
            .into_iter()
            .flatten()
            .filter(|(_, schema)| **schema != Value::Bool(false))
            .map(|(key, schema)| Property {
                key: key.clone(),
                schema: schema.clone(),
                required: required.contains(&key.as_str()),
            })
            .collect();
        let other = self.keywords.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        for key in required {
            if !properties.iter().any(|property| property.key == key) {
                properties.push(Property { key: key.to_owned(), schema: other.clone(), required: true });
            }
        }
        properties
    }

    /// Returns the schema of the item at `index`; `None` if the array may not have one.
    pub(super) fn item(&self, index: usize) -> Option<&Value> {
        const ANY: &Value = &Value::Bool(true);
        let first = self.keywords.get("prefixItems").and_then(|items| items.get(index));
        first
            .or_else(|| self.keywords.get("items"))
            .or(Some(ANY))
            .filter(|schema| **schema != Value::Bool(false))
    }

    /// Returns a minimum and a maximum length.
    pub(super) fn bounds(&self, min: &str, max: &str) -> (usize, Option<usize>) {
        let bound = |key: &str| {
            let length = self.keywords.get(key)?.as_f64()?;
            Some(length as usize)
        };
        (bound(min).unwrap_or_default(), bound(max))
    }

    fn names(&self, key: &str) -> impl Iterator<Item = &str> {
        self.keywords.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// Returns the forms that keywords without references and combinations allow.
fn forms(keywords: &Map<String, Value>) -> Vec<Form> {
    if let Some(value) = keywords.get("const") {
        return vec![Form::OneOf(vec![value.clone()])];
    }
    if let Some(values) = keywords.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        return vec![Form::OneOf(values.clone())];
    }
    let types: Vec<&str> = match keywords.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => implied_types(keywords),
    };
    let forms = types.into_iter().map(|name| match name {
        "object" => Form::Object,
        "array" => Form::Array,
        "number" => Form::Number { integer: false },
        "integer" => integers(keywords).map_or(Form::Number { integer: true }, Form::OneOf),
        "boolean" => Form::OneOf(vec![json!(true), json!(false)]),
        "null" => Form::OneOf(vec![Value::Null]),
        _ => Form::String,
    });
    forms.collect()
}

/// Returns the types that keywords speak about; every type but objects and arrays if there is none.
fn implied_types(keywords: &Map<String, Value>) -> Vec<&'static str> {
    let keywords_of_types: [(&str, &[&str]); 3] = [
        ("object", &["properties", "required", "additionalProperties", "patternProperties", "minProperties"]),
        ("array", &["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ];
    let implied =
        keywords_of_types.into_iter().find(|(_, keys)| keys.iter().any(|key| keywords.contains_key(*key)));
    implied.map_or_else(|| vec!["string", "number", "boolean", "null"], |(name, _)| vec![name])
}

/// Returns the integers of a small range.
fn integers(keywords: &Map<String, Value>) -> Option<Vec<Value>> {
    let bound = |key: &str| keywords.get(key).and_then(Value::as_i64);
    let first = bound("minimum").or_else(|| bound("exclusiveMinimum")?.checked_add(1))?;
    let last = bound("maximum").or_else(|| bound("exclusiveMaximum")?.checked_sub(1))?;
    let count = last.checked_sub(first)?;
    (0..MAX_CHOICES).contains(&count).then(|| (first..=last).map(Value::from).collect())
}

fn keywords_of(schema: &Value) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

fn take_text(keywords: &mut Map<String, Value>, key: &str) -> Option<String> {
    match keywords.shift_remove(key)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn take_first(keywords: &mut Map<String, Value>, keys: &[&str]) -> Option<Value> {
    keys.iter().find_map(|key| keywords.shift_remove(*key))
}

/// Returns the keywords of two schemas that apply to the same value. Properties and required names are joined; of another
/// keyword in both, the later one counts.
fn merge_keywords(mut keywords: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in other {
        match (keywords.get_mut(&key), value) {
            (Some(Value::Object(properties)), Value::Object(more)) if key == "properties" => {
                properties.extend(more);
            }
            (Some(Value::Array(names)), Value::Array(more))
                if matches!(key.as_str(), "required" | "allOf") =>
            {
                names.extend(more);
            }
            (_, value) => {
                keywords.insert(key, value);
            }
        }
    }
    keywords
}
