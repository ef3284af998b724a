//! Guided decoding of a JSON document that follows a schema.
//!
//! The structure comes from the schema: brackets, keys and commas are appended. The model chooses among enumerated values,
//! alternatives and optional parts, and writes strings and numbers. The result is always JSON, with the types, the required
//! properties and the enumerated values of the schema. Keywords that only bound a value, such as `pattern` or
//! `uniqueItems`, are not guided: validation finds what violates them.

mod schema_view;

use ibeam_core::JsonSchema;
use serde_json::{Map, Value};

use crate::guided_decoder::{DecodeError, GuidedDecoder};
use schema_view::{Form, SchemaView};

/// After this number of tokens, the document gets no optional parts and no longer strings.
const MAX_DOCUMENT_TOKENS: usize = 1000;
/// The maximum number of items of an array without `maxItems`.
const MAX_ITEMS: usize = 50;
/// The depth at which optional parts end, so that a recursive schema ends.
const MAX_OPTIONAL_DEPTH: usize = 8;
/// The depth at which a schema that requires itself is given up: no document is valid.
const MAX_DEPTH: usize = 64;

/// Lets the model write a document that follows `schema`.
pub(crate) fn decode_document(
    decoder: &mut GuidedDecoder<'_>,
    schema: &JsonSchema,
) -> Result<Value, DecodeError> {
    let end = decoder.output_tokens() + MAX_DOCUMENT_TOKENS;
    DocumentDecoder { decoder, schema, end, depth: 0 }.decode_value(schema.document())
}

struct DocumentDecoder<'d, 'a, 's> {
    decoder: &'d mut GuidedDecoder<'a>,
    schema: &'s JsonSchema,
    /// The number of tokens of the decoder at which optional parts end.
    end: usize,
    depth: usize,
}

impl DocumentDecoder<'_, '_, '_> {
    fn decode_value(&mut self, schema: &Value) -> Result<Value, DecodeError> {
        if self.depth == MAX_DEPTH {
            return self.append_value(Value::Null);
        }
        self.depth += 1;
        let view = self.choose_form(SchemaView::alternatives(self.schema, schema))?;
        let value = match &view.form {
            Form::OneOf(values) => self.choose_value(values),
            Form::Object => self.decode_object(&view),
            Form::Array => self.decode_array(&view),
            Form::String => self.decode_string(&view),
            Form::Number { integer } => self.decode_number(*integer),
        };
        self.depth -= 1;
        value
    }

    /// Lets the model choose among the alternatives of a schema by the first token of each.
    fn choose_form(&mut self, mut views: Vec<SchemaView>) -> Result<SchemaView, DecodeError> {
        if self.depth > MAX_OPTIONAL_DEPTH {
            // The alternative that ends soonest.
            views.sort_by_key(|view| matches!(view.form, Form::Object | Form::Array));
            views.truncate(1);
        }
        let starts: Vec<(usize, String)> = views
            .iter()
            .enumerate()
            .flat_map(|(index, view)| view.first_texts().into_iter().map(move |text| (index, text)))
            .collect();
        let chosen = if views.len() > 1 { self.decoder.preferred_index(&starts)? } else { 0 };
        let chosen = chosen.min(views.len().saturating_sub(1));
        Ok(views.into_iter().nth(chosen).unwrap_or_else(SchemaView::null))
    }

    fn choose_value(&mut self, values: &[Value]) -> Result<Value, DecodeError> {
        // A number may be the beginning of another one, so white space ends it.
        let has_numbers = values.iter().any(Value::is_number);
        let end = if has_numbers { " " } else { "" };
        let options: Vec<String> = values.iter().map(|value| format!("{value}{end}")).collect();
        let chosen = self.decoder.choose(&options, false)?;
        Ok(values.get(chosen).cloned().unwrap_or_default())
    }

    fn append_value(&mut self, value: Value) -> Result<Value, DecodeError> {
        self.decoder.append_text(&value.to_string())?;
        Ok(value)
    }

    fn decode_object(&mut self, view: &SchemaView) -> Result<Value, DecodeError> {
        let mut object = Map::new();
        let mut rest = view.properties();
        self.decoder.append_text("{")?;
        loop {
            // The properties up to the next required one; the object may end where none is required.
            let required = rest.iter().position(|property| property.required);
            let mut candidates = required.map_or(rest.len(), |index| index + 1);
            if self.is_over_limit() {
                let end = required.unwrap_or(candidates);
                rest.drain(..end);
                candidates -= end;
            }
            let separator = if object.is_empty() { "" } else { "," };
            let key_text = |key: &str| format!("{separator}{}:", Value::from(key));
            let mut options: Vec<String> =
                rest.iter().take(candidates).map(|property| key_text(&property.key)).collect();
            if required.is_none() {
                options.push("}".to_owned());
            }
            let chosen = self.decoder.choose(&options, false)?;
            if chosen >= candidates {
                return Ok(Value::Object(object));
            }
            let Some(property) = rest.drain(..=chosen).next_back() else { return Ok(Value::Object(object)) };
            let value = self.decode_value(&property.schema)?;
            object.insert(property.key, value);
        }
    }

    fn decode_array(&mut self, view: &SchemaView) -> Result<Value, DecodeError> {
        let (min, max) = view.bounds("minItems", "maxItems");
        let max = max.unwrap_or(MAX_ITEMS.max(min));
        let mut items = Vec::new();
        self.decoder.append_text("[")?;
        while items.len() < max {
            let Some(schema) = view.item(items.len()) else { break };
            let is_required = items.len() < min;
            if !is_required && (self.is_over_limit() || self.chooses_end(schema, items.is_empty())?) {
                break;
            }
            if !items.is_empty() {
                self.decoder.append_text(",")?;
            }
            items.push(self.decode_value(schema)?);
        }
        self.decoder.append_text("]")?;
        Ok(Value::Array(items))
    }

    /// Whether the model ends an array instead of writing an item.
    fn chooses_end(&mut self, item: &Value, is_empty: bool) -> Result<bool, DecodeError> {
        let mut starts = vec![(0, "]".to_owned())];
        if is_empty {
            let views = SchemaView::alternatives(self.schema, item);
            starts.extend(views.iter().flat_map(SchemaView::first_texts).map(|text| (1, text)));
        } else {
            starts.push((1, ",".to_owned()));
        }
        Ok(self.decoder.preferred_index(&starts)? == 0)
    }

    fn decode_string(&mut self, view: &SchemaView) -> Result<Value, DecodeError> {
        let (min, max) = view.bounds("minLength", "maxLength");
        let limit = self.end.saturating_sub(self.decoder.output_tokens());
        self.decoder.decode_json_string(limit, min, max.unwrap_or(usize::MAX)).map(Value::String)
    }

    fn decode_number(&mut self, integer: bool) -> Result<Value, DecodeError> {
        let text = self.decoder.decode_json_number(integer)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn is_over_limit(&self) -> bool {
        self.decoder.output_tokens() >= self.end || self.depth > MAX_OPTIONAL_DEPTH
    }
}

#[cfg(test)]
mod tests;
