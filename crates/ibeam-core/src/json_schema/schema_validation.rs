//! The validation of a document against a schema that was checked before.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use ibeam_protocol::{Sentence, sentence};
use serde_json::{Map, Number, Value};

use super::json_values::{compare, equal, has_type, is_multiple, shortened_json, type_name};
use super::{JsonSchema, Violation, child_pointer};

/// Returns all violations of a document.
pub(super) fn violations(schema: &JsonSchema, document: &Value) -> Vec<Violation> {
    let mut validator = Validator { schema, violations: Vec::new() };
    validator.apply(schema.document(), document, "");
    validator.violations
}

struct Validator<'a> {
    schema: &'a JsonSchema,
    violations: Vec<Violation>,
}

/// The parts of a value that a schema has evaluated, for `unevaluatedProperties` and `unevaluatedItems`.
#[derive(Default)]
struct EvaluatedParts<'a> {
    properties: BTreeSet<&'a str>,
    items: BTreeSet<usize>,
}

impl EvaluatedParts<'_> {
    fn add(&mut self, other: Self) {
        self.properties.extend(other.properties);
        self.items.extend(other.items);
    }
}

impl<'a> Validator<'a> {
    fn report(&mut self, place: &str, detail: Sentence) {
        self.violations.push(Violation { place: place.to_owned(), detail });
    }

    /// Applies a schema to a value. Returns the parts that it has evaluated.
    fn apply<'v>(&mut self, schema: &'a Value, value: &'v Value, place: &str) -> EvaluatedParts<'v> {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => {
                self.report(place, sentence!("is not allowed"));
                return EvaluatedParts::default();
            }
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return EvaluatedParts::default();
            }
        };
        let before = self.violations.len();
        self.check_any_type(schema, value, place);
        let mut evaluated = self.apply_in_place(schema, value, place);
        match value {
            Value::Object(fields) => self.check_object(schema, fields, place, &mut evaluated),
            Value::Array(items) => self.check_array(schema, items, place, &mut evaluated),
            Value::String(text) => self.check_string(schema, text, place),
            Value::Number(number) => self.check_number(schema, number, place),
            Value::Null | Value::Bool(_) => {}
        }
        // A schema that fails has evaluated nothing.
        if self.violations.len() > before { EvaluatedParts::default() } else { evaluated }
    }

    /// Applies a schema on trial. Returns its violations, which are not reported.
    fn attempt<'v>(
        &self,
        schema: &'a Value,
        value: &'v Value,
        place: &str,
    ) -> Result<EvaluatedParts<'v>, Vec<Violation>> {
        let mut trial = Validator { schema: self.schema, violations: Vec::new() };
        let evaluated = trial.apply(schema, value, place);
        if trial.violations.is_empty() { Ok(evaluated) } else { Err(trial.violations) }
    }

    /// Checks the keywords that apply to every type.
    fn check_any_type(&mut self, schema: &'a Map<String, Value>, value: &Value, place: &str) {
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !names.is_empty() && !names.iter().any(|name| has_type(value, name)) {
            let either = |first: Sentence, second: Sentence| sentence!("{first} or {second}", first, second);
            let types = names.into_iter().map(Sentence::from).reduce(either).unwrap_or_else(|| "".into());
            self.report(
                place,
                sentence!("should be of type {types}, not {type}", types, type = type_name(value)),
            );
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array)
            && !values.iter().any(|allowed| equal(allowed, value))
        {
            let allowed: Vec<_> = values.iter().map(shortened_json).collect();
            let (values, value) = (allowed.join(", "), shortened_json(value));
            self.report(place, sentence!("should be one of {values}, not {value}", values, value));
        }
        if let Some(constant) = schema.get("const")
            && !equal(constant, value)
        {
            let (constant, value) = (shortened_json(constant), shortened_json(value));
            self.report(place, sentence!("should be {constant}, not {value}", constant, value));
        }
    }

    /// Applies the schemas in a schema that apply to the same value.
    fn apply_in_place<'v>(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &'v Value,
        place: &str,
    ) -> EvaluatedParts<'v> {
        let mut evaluated = EvaluatedParts::default();
        if let Some(target) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.schema.referenced_schema(reference))
        {
            evaluated.add(self.apply(target, value, place));
        }
        for part in list(schema, "allOf") {
            evaluated.add(self.apply(part, value, place));
        }
        if schema.contains_key("anyOf") {
            let attempts = list(schema, "anyOf").iter().map(|part| self.attempt(part, value, place));
            let (valid, failed): (Vec<_>, Vec<_>) = attempts.partition(Result::is_ok);
            match valid.is_empty() {
                false => valid.into_iter().flatten().for_each(|part| evaluated.add(part)),
                true => self.report_closest("anyOf", failed, place),
            }
        }
        if schema.contains_key("oneOf") {
            let attempts = list(schema, "oneOf").iter().map(|part| self.attempt(part, value, place));
            let (valid, failed): (Vec<_>, Vec<_>) = attempts.partition(Result::is_ok);
            match valid.len() {
                0 => self.report_closest("oneOf", failed, place),
                1 => valid.into_iter().flatten().for_each(|part| evaluated.add(part)),
                count => {
                    self.report(
                        place,
                        sentence!("should match exactly one schema of `oneOf`, but matches {count}", count),
                    );
                }
            }
        }
        if let Some(not) = schema.get("not")
            && self.attempt(not, value, place).is_ok()
        {
            self.report(place, sentence!("should not match {schema}", schema = shortened_json(not)));
        }
        if let Some(condition) = schema.get("if") {
            let branch = match self.attempt(condition, value, place) {
                Ok(part) => {
                    evaluated.add(part);
                    "then"
                }
                Err(_) => "else",
            };
            if let Some(branch) = schema.get(branch) {
                evaluated.add(self.apply(branch, value, place));
            }
        }
        if let (Some(Value::Object(dependent)), Value::Object(fields)) =
            (schema.get("dependentSchemas"), value)
        {
            for (_, part) in dependent.iter().filter(|(name, _)| fields.contains_key(*name)) {
                evaluated.add(self.apply(part, value, place));
            }
        }
        evaluated
    }

    /// Reports the violations of the schema that fits best.
    fn report_closest(
        &mut self,
        keyword: &str,
        failed: Vec<Result<EvaluatedParts<'_>, Vec<Violation>>>,
        place: &str,
    ) {
        let closest = failed.into_iter().filter_map(Result::err).min_by_key(|violations| {
            // A value of the right type is closer than one of another type.
            let wrong_type =
                violations.iter().any(|found| found.place == place && found.detail.contains("of type"));
            (wrong_type, violations.len())
        });
        let detail =
            vec![sentence!("matches no schema of `{keyword}`", keyword), sentence!("for the closest one:")];
        self.report(place, Sentence::list(detail, "; "));
        self.violations.extend(closest.unwrap_or_default());
    }

    fn check_object<'v>(
        &mut self,
        schema: &'a Map<String, Value>,
        fields: &'v Map<String, Value>,
        place: &str,
        evaluated: &mut EvaluatedParts<'v>,
    ) {
        for name in list(schema, "required").iter().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.report(place, sentence!("lacks the property `{name}`", name));
            }
        }
        self.check_count(
            schema,
            fields.len(),
            ["minProperties", "maxProperties"],
            CountedParts::Properties,
            place,
        );
        if let Some(Value::Object(dependent)) = schema.get("dependentRequired") {
            for (name, required) in dependent.iter().filter(|(name, _)| fields.contains_key(*name)) {
                for other in required.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if !fields.contains_key(other) {
                        self.report(
                            place,
                            sentence!(
                                "lacks the property `{name}`, which `{other}` requires",
                                name = other,
                                other = name
                            ),
                        );
                    }
                }
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let (names, additional) = (schema.get("propertyNames"), schema.get("additionalProperties"));
        for (name, value) in fields {
            let deeper = child_pointer(place, name);
            let mut is_known = false;
            if let Some(part) = properties.and_then(|properties| properties.get(name)) {
                is_known = true;
                self.apply(part, value, &deeper);
            }
            for (pattern, part) in patterns.into_iter().flatten() {
                if self.matches(pattern, name) {
                    is_known = true;
                    self.apply(part, value, &deeper);
                }
            }
            match additional {
                Some(Value::Bool(false)) if !is_known => {
                    self.report(&deeper, sentence!("is not a property of the schema"));
                }
                Some(part) if !is_known => {
                    is_known = true;
                    self.apply(part, value, &deeper);
                }
                Some(_) | None => {}
            }
            if let Some(part) = names
                && let Err(found) = self.attempt(part, &Value::String(name.clone()), "")
            {
                let reasons: Vec<_> = found.into_iter().map(|violation| violation.detail).collect();
                self.report(
                    &deeper,
                    sentence!("has a name that {what}", what = Sentence::list(reasons, ", ")),
                );
            }
            if is_known {
                evaluated.properties.insert(name);
            }
        }
        if let Some(part) = schema.get("unevaluatedProperties") {
            for (name, value) in fields {
                if evaluated.properties.insert(name) {
                    self.apply(part, value, &child_pointer(place, name));
                }
            }
        }
    }

    fn check_array<'v>(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &'v [Value],
        place: &str,
        evaluated: &mut EvaluatedParts<'v>,
    ) {
        self.check_count(schema, items.len(), ["minItems", "maxItems"], CountedParts::Items, place);
        let prefix = list(schema, "prefixItems");
        for (index, (part, item)) in prefix.iter().zip(items).enumerate() {
            self.apply(part, item, &child_pointer(place, index));
            evaluated.items.insert(index);
        }
        if let Some(part) = schema.get("items") {
            for (index, item) in items.iter().enumerate().skip(prefix.len()) {
                self.apply(part, item, &child_pointer(place, index));
                evaluated.items.insert(index);
            }
        }
        if let Some(part) = schema.get("contains") {
            let matches = |(_, item): &(usize, &Value)| self.attempt(part, item, "").is_ok();
            let found: Vec<usize> =
                items.iter().enumerate().filter(matches).map(|(index, _)| index).collect();
            let count = |key| schema.get(key).and_then(Value::as_f64);
            if (found.len() as f64) < count("minContains").unwrap_or(1.0) {
                self.report(
                    place,
                    sentence!("contains too few items that match {schema}", schema = shortened_json(part)),
                );
            }
            if count("maxContains").is_some_and(|most| found.len() as f64 > most) {
                self.report(
                    place,
                    sentence!("contains too many items that match {schema}", schema = shortened_json(part)),
                );
            }
            evaluated.items.extend(found);
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let repeated = items
                .iter()
                .enumerate()
                .find(|(index, item)| items.iter().take(*index).any(|earlier| equal(earlier, item)));
            if let Some((index, item)) = repeated {
                self.report(
                    &child_pointer(place, index),
                    sentence!("repeats the item {item}", item = shortened_json(item)),
                );
            }
        }
        if let Some(part) = schema.get("unevaluatedItems") {
            for (index, item) in items.iter().enumerate() {
                if evaluated.items.insert(index) {
                    self.apply(part, item, &child_pointer(place, index));
                }
            }
        }
    }

    fn check_string(&mut self, schema: &'a Map<String, Value>, text: &str, place: &str) {
        self.check_count(
            schema,
            text.chars().count(),
            ["minLength", "maxLength"],
            CountedParts::Characters,
            place,
        );
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            self.report(place, sentence!("should match the pattern `{pattern}`", pattern));
        }
    }

    fn check_number(&mut self, schema: &'a Map<String, Value>, number: &Number, place: &str) {
        type Check = fn(&Number, &Number) -> bool;
        type Fault = fn(&Number, &Number) -> Sentence;
        let checks: [(&str, Check, Fault); 5] = [
            (
                "minimum",
                |number, limit| compare(number, limit) != Ordering::Less,
                |number, limit| sentence!("should be at least {limit}, not {number}", limit, number),
            ),
            (
                "maximum",
                |number, limit| compare(number, limit) != Ordering::Greater,
                |number, limit| sentence!("should be at most {limit}, not {number}", limit, number),
            ),
            (
                "exclusiveMinimum",
                |number, limit| compare(number, limit) == Ordering::Greater,
                |number, limit| sentence!("should be more than {limit}, not {number}", limit, number),
            ),
            (
                "exclusiveMaximum",
                |number, limit| compare(number, limit) == Ordering::Less,
                |number, limit| sentence!("should be less than {limit}, not {number}", limit, number),
            ),
            ("multipleOf", is_multiple, |number, limit| {
                sentence!("should be a multiple of {limit}, not {number}", limit, number)
            }),
        ];
        for (keyword, is_valid, fault) in checks {
            if let Some(Value::Number(limit)) = schema.get(keyword)
                && !is_valid(number, limit)
            {
                self.report(place, fault(number, limit));
            }
        }
    }

    fn check_count(
        &mut self,
        schema: &'a Map<String, Value>,
        count: usize,
        [least, most]: [&str; 2],
        unit: CountedParts,
        place: &str,
    ) {
        let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
        if let Some(least) = limit(least).filter(|least| (count as f64) < *least) {
            self.report(place, unit.too_few(least, count));
        }
        if let Some(most) = limit(most).filter(|most| count as f64 > *most) {
            self.report(place, unit.too_many(most, count));
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.schema.patterns.get(pattern).is_some_and(|regex| regex.is_match(text))
    }
}

/// The parts of a value that a schema limits.
#[derive(Clone, Copy)]
enum CountedParts {
    Properties,
    Items,
    Characters,
}

impl CountedParts {
    fn too_few(self, limit: f64, count: usize) -> Sentence {
        match self {
            Self::Properties => {
                sentence!("should have at least {limit} properties, not {count}", limit, count)
            }
            Self::Items => sentence!("should have at least {limit} items, not {count}", limit, count),
            Self::Characters => {
                sentence!("should have at least {limit} characters, not {count}", limit, count)
            }
        }
    }

    fn too_many(self, limit: f64, count: usize) -> Sentence {
        match self {
            Self::Properties => {
                sentence!("should have at most {limit} properties, not {count}", limit, count)
            }
            Self::Items => sentence!("should have at most {limit} items, not {count}", limit, count),
            Self::Characters => {
                sentence!("should have at most {limit} characters, not {count}", limit, count)
            }
        }
    }
}

/// Returns the list of schemas or names in a keyword; empty if the keyword is absent.
fn list<'a>(schema: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
