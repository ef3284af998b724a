//! The check of a schema before its use: each keyword has a valid value, and each reference has a target.

use std::collections::{BTreeMap, BTreeSet};

use ibeam_protocol::{Sentence, sentence};
use regex::Regex;
use serde_json::{Map, Value};

use super::json_values::shortened_json;
use super::{DRAFT, DRAFT_7, InvalidSchema, child_pointer};

/// The largest number of schemas that may apply to one value because each refers to the next.
const MAX_CHAIN: usize = 64;

/// The compiled patterns, and the pointers of the anchors.
type PatternsAndAnchors = (BTreeMap<String, Regex>, BTreeMap<String, String>);

/// Keywords whose value is one schema, which applies to the same value.
const ONE_IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose value is one schema, which applies to parts of the value.
const ONE_FOR_PARTS: [&str; 6] = [
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas, which apply to the same value.
const LISTS_IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is an object of schemas, which apply to parts of the value.
const MAPS_FOR_PARTS: [&str; 3] = ["properties", "patternProperties", "$defs"];
/// Keywords whose value is a whole number.
const COUNTS: [&str; 8] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];
/// Keywords whose value is any number.
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// Checks a schema and everything that it refers to.
///
/// # Errors
/// The first fault.
pub(super) fn check(document: &Value) -> Result<PatternsAndAnchors, InvalidSchema> {
    let mut checker = Checker { document, patterns: BTreeMap::new(), edges: BTreeMap::new() };
    let mut anchors = BTreeMap::new();
    collect_anchors(document, "", &mut anchors);
    let (mut pending, mut seen) = (vec![String::new()], BTreeSet::from([String::new()]));
    while let Some(pointer) = pending.pop() {
        for next in checker.check_at(&pointer, &anchors)? {
            if seen.insert(next.clone()) {
                pending.push(next);
            }
        }
    }
    checker.reject_cycles()?;
    Ok((checker.patterns, anchors))
}

/// Returns the pointer that a reference within `document` names.
pub(super) fn resolve_reference(
    document: &Value,
    anchors: &BTreeMap<String, String>,
    reference: &str,
) -> Option<String> {
    let id = document.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let local = id.and_then(|id| reference.strip_prefix(id)).unwrap_or(reference);
    let fragment = match local.strip_prefix('#') {
        Some(fragment) => percent_decode(fragment)?,
        None if local.is_empty() => String::new(),
        None => return None,
    };
    match fragment.is_empty() || fragment.starts_with('/') {
        true => document.pointer(&fragment).is_some().then_some(fragment),
        false => anchors.get(&fragment).cloned(),
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn collect_anchors(value: &Value, pointer: &str, anchors: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            if let Some(anchor) = fields.get("$anchor").and_then(Value::as_str) {
                anchors.insert(anchor.to_owned(), pointer.to_owned());
            }
            for (key, value) in fields.iter().filter(|(key, _)| !matches!(key.as_str(), "const" | "enum")) {
                collect_anchors(value, &child_pointer(pointer, key), anchors);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_anchors(item, &child_pointer(pointer, index), anchors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Checker<'a> {
    document: &'a Value,
    patterns: BTreeMap<String, Regex>,
    /// The schemas that apply to the same value as each schema.
    edges: BTreeMap<String, Vec<String>>,
}

impl Checker<'_> {
    /// Checks one schema. Returns the pointers of the schemas in it.
    fn check_at(
        &mut self,
        pointer: &str,
        anchors: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, InvalidSchema> {
        let schema = match self.document.pointer(pointer) {
            Some(Value::Object(schema)) => schema,
            Some(Value::Bool(_)) => return Ok(Vec::new()),
            Some(other) => {
                let what = sentence!("a schema: an object, true or false");
                return Err(fault(pointer, should_be(other, what)));
            }
            None => return Ok(Vec::new()),
        };
        let (mut in_place, mut parts) = (Vec::new(), Vec::new());
        check_values(schema, pointer)?;
        check_identity(schema, pointer)?;
        if draft_of(self.document) == Some(DRAFT_7) {
            check_draft_7(schema, pointer)?;
        }
        for (key, value) in schema {
            let place = child_pointer(pointer, key);
            let key = key.as_str();
            let deeper = |name: &str| child_pointer(&place, name);
            if ONE_IN_PLACE.contains(&key) {
                in_place.push(place);
            } else if ONE_FOR_PARTS.contains(&key) {
                parts.push(place);
            } else if LISTS_IN_PLACE.contains(&key) || key == "prefixItems" {
                let list = value.as_array().filter(|list| !list.is_empty());
                let list =
                    list.ok_or_else(|| fault(&place, sentence!("should be a list of one or more schemas")))?;
                let places = (0..list.len()).map(|index| child_pointer(&place, index));
                if key == "prefixItems" { parts.extend(places) } else { in_place.extend(places) }
            } else if MAPS_FOR_PARTS.contains(&key) || key == "dependentSchemas" {
                let map = value.as_object();
                let map = map.ok_or_else(|| fault(&place, sentence!("should be an object of schemas")))?;
                if key == "patternProperties" {
                    for pattern in map.keys() {
                        self.compile(pattern, &deeper(pattern))?;
                    }
                }
                let places = map.keys().map(|name| deeper(name));
                if key == "dependentSchemas" { in_place.extend(places) } else { parts.extend(places) }
            } else if key == "pattern" {
                let pattern = value.as_str().ok_or_else(|| fault(&place, sentence!("should be a string")))?;
                self.compile(pattern, &place)?;
            } else if key == "$ref" {
                let reference =
                    value.as_str().ok_or_else(|| fault(&place, sentence!("should be a string")))?;
                let found = resolve_reference(self.document, anchors, reference).ok_or_else(|| {
                    let detail = if reference.starts_with('#') {
                        sentence!("`{reference}` does not exist in this schema", reference)
                    } else {
                        sentence!(
                            "`{reference}` is a remote reference; only references within the file are supported, such \
                             as `#/$defs/name`",
                            reference
                        )
                    };
                    fault(&place, detail)
                })?;
                in_place.push(found);
            }
        }
        self.edges.insert(pointer.to_owned(), in_place.clone());
        Ok([in_place, parts].concat())
    }

    fn compile(&mut self, pattern: &str, place: &str) -> Result<(), InvalidSchema> {
        if !self.patterns.contains_key(pattern) {
            let regex = Regex::new(pattern).map_err(|error| {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
                fault(
                    place,
                    sentence!(
                        "`{pattern}` is not a supported regular expression: {error}",
                        pattern,
                        error = reason
                    ),
                )
            })?;
            self.patterns.insert(pattern.to_owned(), regex);
        }
        Ok(())
    }

    /// Rejects schemas that apply themselves to the same value again, and chains that are too long.
    fn reject_cycles(&self) -> Result<(), InvalidSchema> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for next in self.edges.values().flatten() {
            *counts.entry(next).or_default() += 1;
        }
        let is_start = |place: &&String| !counts.contains_key(place.as_str());
        let mut ready: Vec<(&str, usize)> =
            self.edges.keys().filter(is_start).map(|place| (place.as_str(), 1)).collect();
        let mut lengths: BTreeMap<&str, usize> = BTreeMap::new();
        while let Some((place, length)) = ready.pop() {
            if length > MAX_CHAIN {
                let detail =
                    sentence!("more than {count} schemas apply through each other", count = MAX_CHAIN);
                return Err(fault(place, detail));
            }
            for next in self.edges.get(place).into_iter().flatten() {
                let longest = lengths.entry(next).or_default();
                *longest = (*longest).max(length + 1);
                if let Some(count) = counts.get_mut(next.as_str()) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push((next, *longest));
                    }
                }
            }
        }
        match counts.iter().find(|(_, count)| **count > 0) {
            None => Ok(()),
            Some((place, _)) => {
                Err(fault(place, sentence!("refers to itself without an object or a list in between")))
            }
        }
    }
}

fn fault(pointer: &str, detail: Sentence) -> InvalidSchema {
    let place = if pointer.is_empty() { sentence!("top level") } else { pointer.into() };
    InvalidSchema { place, detail }
}

fn should_be(value: &Value, what: Sentence) -> Sentence {
    sentence!("`{text}` should be {what}", text = shortened_json(value), what)
}

/// Rejects keywords that identify schemas in ways that are not supported.
fn check_identity(schema: &Map<String, Value>, pointer: &str) -> Result<(), InvalidSchema> {
    for key in ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"] {
        if schema.contains_key(key) {
            return Err(fault(
                &child_pointer(pointer, key),
                sentence!("is not supported; use `$ref` and `$defs`"),
            ));
        }
    }
    if schema.contains_key("$id") && !pointer.is_empty() {
        return Err(fault(&child_pointer(pointer, "$id"), sentence!("is supported at the top level only")));
    }
    match schema.get("$schema") {
        Some(draft) if !matches!(draft.as_str().map(without_empty_fragment), Some(DRAFT | DRAFT_7)) => {
            let detail = sentence!(
                "{value} is not supported; write the schema for {draft}",
                value = shortened_json(draft),
                draft = DRAFT
            );
            Err(fault(&child_pointer(pointer, "$schema"), detail))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the draft that `$schema` at the top level names.
fn draft_of(document: &Value) -> Option<&str> {
    document.get("$schema").and_then(Value::as_str).map(without_empty_fragment)
}

fn without_empty_fragment(uri: &str) -> &str {
    uri.trim_end_matches('#')
}

/// Rejects keywords that mean something else in draft 7 than in 2020-12.
///
/// Source: the release notes of drafts 2019-09 and 2020-12.
fn check_draft_7(schema: &Map<String, Value>, pointer: &str) -> Result<(), InvalidSchema> {
    let replaced = [
        ("additionalItems", "`items` with `prefixItems`"),
        ("dependencies", "`dependentRequired` or `dependentSchemas`"),
    ];
    for (key, replacement) in replaced {
        if schema.contains_key(key) {
            let detail = sentence!(
                "is a keyword of draft 7; use {replacement} of {draft}",
                replacement,
                draft = DRAFT
            );
            return Err(fault(&child_pointer(pointer, key), detail));
        }
    }
    let is_annotation = |key: &String| {
        matches!(
            key.as_str(),
            "$ref"
                | "$schema"
                | "$id"
                | "$comment"
                | "title"
                | "description"
                | "default"
                | "examples"
                | "definitions"
        )
    };
    match schema.keys().find(|key| !is_annotation(key)) {
        Some(ignored) if schema.contains_key("$ref") => {
            let detail = sentence!(
                "has no effect next to `$ref` in draft 7; write the schema for {draft}",
                draft = DRAFT
            );
            Err(fault(&child_pointer(pointer, ignored), detail))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks the values of the keywords that hold no schemas.
fn check_values(schema: &Map<String, Value>, pointer: &str) -> Result<(), InvalidSchema> {
    for (key, value) in schema {
        let names = |value: &Value| {
            let list = value.as_array();
            list.is_some_and(|list| list.iter().all(Value::is_string))
        };
        let required = match key.as_str() {
            "type" => {
                let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                let list = value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(known));
                (!known(value) && !list)
                    .then(|| sentence!("one of {words}, or a list of them", words = TYPES.join(", ")))
            }
            "enum" => (!value.is_array()).then(|| sentence!("a list of values")),
            "required" => (!names(value)).then(|| sentence!("a list of property names")),
            "dependentRequired" => {
                let valid = value.as_object().is_some_and(|map| map.values().all(names));
                (!valid).then(|| sentence!("an object of lists of property names"))
            }
            "uniqueItems" => (!value.is_boolean()).then(|| sentence!("true or false")),
            "multipleOf" if value.as_f64().is_some_and(|factor| factor <= 0.0) => {
                Some(sentence!("a number above 0"))
            }
            key if NUMBERS.contains(&key) => (!value.is_number()).then(|| sentence!("a number")),
            key if COUNTS.contains(&key) => {
                let whole = value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0);
                (!whole).then(|| sentence!("a whole number of 0 or more"))
            }
            _ => None,
        };
        if let Some(required) = required {
            return Err(fault(&child_pointer(pointer, key), should_be(value, required)));
        }
    }
    Ok(())
}
