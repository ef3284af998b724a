//! JSON Schema 2020-12 of the output, generated from the descriptions of the types.
//!
//! Keywords in addition to the standard: `x-since` is the version of ibeam that added a key. `x-unit` is the unit of a
//! number. `x-origin` is `ibeam` for a key that is not on the published page. `x-always` lists the keys of an object that
//! are not on the published page and that ibeam always writes. A schema describes one line, so it does not describe the
//! order and pairing of lines.

use serde_json::{Map, Value, json};

use crate::Contract;
use crate::check::FUNCTION_CALL;
use crate::describe::{Constraint, DescribeObject, Description, Key, Need, Object, Shape};
use crate::event::{
    AssistantEvent, CallPhase, DeltaEvent, ErrorEvent, FAILURE_CLASSES, InitEvent, ModelFallbackEvent,
    RUN_KEYS, ResultEvent, ResultObject, TextBlock, ToolCallBody, ToolCallEvent, UserEvent,
};
use crate::input::{InputOptions, InterruptInput, UserInput};
use crate::tool::{Arm, COMMON_ARMS, FUNCTION, SUCCESS, TOOLS, Tool, shell};

/// The output format that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaTarget {
    /// The complete stdout of `text`, which is for people.
    Text,
    /// The object of `json` on stdout, and the object of a failure on stderr.
    Json,
    /// One line of `stream-json`.
    StreamJson,
    /// The object of a failure alone.
    Error,
    /// One line of stdin with `--input-format stream-json`.
    Input,
}

impl SchemaTarget {
    /// Every target.
    pub const ALL: [Self; 5] = [Self::Text, Self::Json, Self::StreamJson, Self::Error, Self::Input];

    /// Returns the name in file names and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::StreamJson => "stream-json",
            Self::Error => "error",
            Self::Input => "input",
        }
    }
}

/// The version that added every key so far.
const FIRST_VERSION: &str = "0.1.0";

/// The description of the schema of `text` under contract 1.
const TEXT_DESCRIPTION: &str = "The output of `--output-format text`, for people; do not parse it. First, one line for each action when \
    it ends: `Read file`, `Edited file`, `Ran terminal command`, `Created new file`, `Deleted file`, `Searched files`, \
    `Found files`, `Listed directory`, `Updated to-do list`, `Fetched web page`, `Called MCP tool`. The line of a failed or \
    refused action reports that; `--verbose` adds the path or command. Then an empty line and the final message. The output \
    of a failed run ends after its actions. The lines are in the language of `--lang`; control characters are shown as \
    escapes, except line ends and tabs.";

/// The description of the schema of `text` under contract 2.
const CONTRACT_TWO_TEXT_DESCRIPTION: &str = "The output of `--output-format text`, for people; do not parse it. It is the final \
    message and nothing else. A failed run prints nothing. Control characters are shown as escapes, except line ends and \
    tabs.";

/// The name of the definition of a failure without a stream.
const ERROR_OBJECT: &str = "ErrorObject";

/// Returns the schema of an output under a contract, as a JSON object.
pub fn schema(target: SchemaTarget, contract: Contract) -> Value {
    let mut generator = Generator { contract, definitions: Map::new() };
    let (title, body) = match target {
        SchemaTarget::Text => ("The output of the text format", generator.text()),
        SchemaTarget::StreamJson => ("A line of stream-json", generator.line()),
        SchemaTarget::Error => {
            generator.define(ERROR_OBJECT, |generator| generator.object(ErrorEvent::<String>::object()));
            ("The object of a failure", reference(ERROR_OBJECT))
        }
        SchemaTarget::Input => {
            let inputs = [UserInput::object(), InterruptInput::object()];
            let body = json!({
                "description": "A line on stdin with `--input-format stream-json`, identified by `type`.",
                "oneOf": inputs.map(|input| generator.reference_to(input)),
            });
            let options = InputOptions::OBJECT.name;
            if let Some(Value::Object(options)) = generator.definitions.get_mut(options) {
                // An unknown option is an error, because it may change the meaning of the message.
                options.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            ("A line of the input stream", into_keywords(body))
        }
        SchemaTarget::Json => {
            generator.define(ERROR_OBJECT, |generator| generator.object(ErrorEvent::<String>::object()));
            let result = generator.reference_to(ResultObject::<String>::object());
            let body = json!({
                "description": "The result of a successful run on stdout, or the failure on stderr with \
                    `--error-format json`.",
                "oneOf": [result, reference(ERROR_OBJECT)],
            });
            ("What a run with json prints", into_keywords(body))
        }
    };
    let mut document = into_keywords(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "x-contract": contract.as_str(),
    }));
    document.extend(body);
    if !generator.definitions.is_empty() {
        generator.definitions.sort_keys();
        document.insert("$defs".to_owned(), Value::Object(generator.definitions));
    }
    Value::Object(document)
}

/// The keywords of a schema.
type Keywords = Map<String, Value>;

fn into_keywords(schema: Value) -> Keywords {
    match schema {
        Value::Object(keywords) => keywords,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn reference(name: &str) -> Keywords {
    into_keywords(json!({ "$ref": format!("#/$defs/{name}") }))
}

/// Collects the definitions of one schema.
struct Generator {
    contract: Contract,
    definitions: Map<String, Value>,
}

impl Generator {
    /// Adds a definition, unless it is there already, and returns a reference to it.
    fn define(&mut self, name: &str, definition: impl FnOnce(&mut Self) -> Keywords) -> Keywords {
        if !self.definitions.contains_key(name) {
            // The description of a directory refers to itself, so the name must exist before its keys are described.
            self.definitions.insert(name.to_owned(), Value::Null);
            let definition = definition(self);
            self.definitions.insert(name.to_owned(), Value::Object(definition));
        }
        reference(name)
    }

    fn reference_to(&mut self, object: &'static Object) -> Keywords {
        self.define(object.name, |generator| generator.object(object))
    }

    fn text(&self) -> Keywords {
        let description = match self.contract {
            Contract::One => TEXT_DESCRIPTION,
            Contract::Two => CONTRACT_TWO_TEXT_DESCRIPTION,
        };
        into_keywords(json!({
            "description": description,
            "type": "string",
            "pattern": "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]*$",
        }))
    }

    fn line(&mut self) -> Keywords {
        let assistant = match self.contract {
            Contract::One => DeltaEvent::<String>::object(),
            Contract::Two => AssistantEvent::<String>::object(),
        };
        let events = [
            self.reference_to(InitEvent::<String>::object()),
            self.reference_to(UserEvent::<String>::object()),
            self.reference_to(assistant),
            self.tool_call_event("ToolCallStartedEvent", CallPhase::Started),
            self.tool_call_event("ToolCallCompletedEvent", CallPhase::Completed),
            self.reference_to(ModelFallbackEvent::<String>::object()),
            self.result_event(),
            self.define("ErrorEvent", Self::error_event),
        ];
        into_keywords(json!({
            "oneOf": events,
            "description":
                "A line of `stream-json`, identified by `type` and `subtype`. Fields are in wire order.",
        }))
    }

    fn error_event(&mut self) -> Keywords {
        let mut event = self.object(ErrorEvent::<String>::object());
        if let Some(Value::Array(required)) = event.get_mut("required") {
            required.extend(RUN_KEYS.map(Value::from));
        }
        event
    }

    fn result_event(&mut self) -> Keywords {
        const SEGMENTS: &[&str] = &["The concatenation of the texts of all segments, in order."];
        let event = ResultEvent::<String>::object();
        let mut keys = event.keys.to_vec();
        if let (Contract::Two, Some(result)) =
            (self.contract, keys.iter_mut().find(|key| key.name == "result"))
        {
            result.docs = SEGMENTS;
        }
        self.define(event.name, |generator| generator.object_with(event, event.docs, &keys))
    }

    /// Defines the event of one phase of a call. Both phases have the same keys with other descriptions.
    fn tool_call_event(&mut self, name: &str, phase: CallPhase) -> Keywords {
        let event = ToolCallEvent::<String, ToolCallBody>::object();
        let mut keys = event.keys.to_vec();
        for key in &mut keys {
            match (phase, key.name) {
                (CallPhase::Started, "subtype") => key.shape = Shape::Enum(&["started"]),
                (CallPhase::Completed, "subtype") => key.shape = Shape::Enum(&["completed"]),
                (_, "tool_call") => key.shape = Shape::ToolCall(Some(phase)),
                _ => {}
            }
            match (phase, key.name) {
                (CallPhase::Completed, "call_id") => key.docs = &["The `call_id` of the line `started`."],
                (CallPhase::Completed, "tool_call") => {
                    key.docs = &["The tool, its arguments and its `result`."];
                }
                (CallPhase::Completed, "timestamp_ms") => {
                    key.docs = &["The end time, since 1970-01-01 UTC."];
                }
                _ => {}
            }
        }
        let docs: &[&str] = match phase {
            CallPhase::Started => event.docs,
            CallPhase::Completed => {
                &["A tool call has ended: successful, failed, refused or interrupted. Each started \
                call has exactly one such line."]
            }
        };
        self.define(name, |generator| generator.object_with(event, docs, &keys))
    }

    fn object(&mut self, object: &'static Object) -> Keywords {
        let mut keywords = self.object_with(object, object.docs, object.keys);
        if object.name == TextBlock::<String>::object().name {
            move_description_first(&mut keywords);
        }
        keywords
    }

    /// Returns the schema of an object with another description and other keys.
    fn object_with(&mut self, object: &Object, docs: &[&str], keys: &[Key]) -> Keywords {
        let mut properties = Map::new();
        let mut required = Vec::new();
        if let Some(tag) = object.tag {
            properties.insert("type".to_owned(), tag_property(tag));
            required.push(Value::from("type"));
        }
        for key in keys {
            let property = match key.shape {
                Shape::Enum([tag]) if key.name == "type" => tag_property(tag),
                _ => Value::Object(self.property(key)),
            };
            properties.insert(key.name.to_owned(), property);
        }
        let names = |is_wanted: fn(Need) -> bool| {
            keys.iter().filter(move |key| is_wanted(key.need)).map(|key| Value::from(key.name))
        };
        required.extend(names(|need| matches!(need, Need::Always | Need::IbeamPayload)));
        let always: Vec<Value> = names(|need| need == Need::Ibeam).collect();
        if let Constraint::OneKey = object.constraint {
            return into_keywords(json!({
                "oneOf": one_of_keys(keys.iter().map(|key| key.name)),
                "description": join_lines(docs),
                "type": "object",
                "properties": properties,
            }));
        }
        let mut keywords = into_keywords(json!({
            "type": "object", "properties": properties, "required": required, "description": join_lines(docs),
        }));
        match object.constraint {
            Constraint::None | Constraint::OneKey => {}
            Constraint::OneOf(keys) => {
                keywords.insert("oneOf".to_owned(), one_of_keys(keys.iter().copied()));
            }
            Constraint::Requires(key, other) => {
                keywords.insert("dependentRequired".to_owned(), json!({ key: [other] }));
            }
        }
        if !always.is_empty() {
            keywords.insert("x-always".to_owned(), Value::from(always));
        }
        keywords
    }

    fn property(&mut self, key: &Key) -> Keywords {
        let value = self.value(&key.shape);
        // The published schema has this order, and its bytes do not change.
        let is_value_last = key.need == Need::Optional && matches!(key.shape, Shape::Object(_));
        let mut keywords = if is_value_last { Map::new() } else { value.clone() };
        keywords.insert("description".to_owned(), Value::from(join_lines(key.docs)));
        keywords.extend(self.keywords_of_property(&key.shape));
        let texts = [
            ("pattern", key.pattern),
            ("x-unit", key.unit),
            ("x-origin", if key.is_addition { "ibeam" } else { "" }),
            ("x-since", FIRST_VERSION),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        keywords.extend(texts.map(|(keyword, text)| (keyword.to_owned(), Value::from(text))));
        if is_value_last {
            keywords.extend(value);
        }
        keywords
    }

    /// Returns the schema of a value, without the keywords of the property.
    fn value(&mut self, shape: &Shape) -> Keywords {
        let with_type = |kind: &str| into_keywords(json!({ "type": kind }));
        match *shape {
            Shape::Any | Shape::AnyObject => Map::new(),
            Shape::Text | Shape::AbsolutePath | Shape::ContractName | Shape::Enum(_) | Shape::OpenEnum(_) => {
                with_type("string")
            }
            Shape::Uuid => into_keywords(json!({
                "type": "string",
                "format": "uuid",
                "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            })),
            Shape::FailureCode => {
                let codes = FAILURE_CLASSES.iter().map(|class| class.code);
                into_keywords(json!({ "type": "string", "enum": codes.collect::<Vec<_>>() }))
            }
            Shape::Count => into_keywords(json!({ "type": "integer", "minimum": 0 })),
            Shape::Between(first, last) => {
                into_keywords(json!({ "type": "integer", "minimum": first, "maximum": last }))
            }
            Shape::Integer => with_type("integer"),
            Shape::Amount => with_type("number"),
            Shape::Flag | Shape::True | Shape::False => with_type("boolean"),
            Shape::Object(object) | Shape::ObjectWithConst(object, ..) | Shape::UncheckedObject(object) => {
                self.reference_to(object())
            }
            Shape::UncheckedMap(object) => {
                let values = self.reference_to(object());
                into_keywords(json!({ "type": "object", "additionalProperties": values }))
            }
            Shape::ToolCall(_) => self.define("ToolCall", Self::tool_call),
            Shape::List(item) | Shape::NonEmptyList(item) => {
                let items = self.value(item);
                into_keywords(json!({ "type": "array", "items": items }))
            }
            Shape::TextOrNonEmptyList(item) => {
                let items = self.value(item);
                let list = json!({ "type": "array", "items": items, "minItems": 1 });
                into_keywords(json!({ "anyOf": [{ "type": "string" }, list] }))
            }
        }
    }

    /// Returns the keywords that follow the description of a property.
    fn keywords_of_property(&self, shape: &Shape) -> Keywords {
        into_keywords(match *shape {
            Shape::Enum([value]) => json!({ "const": value }),
            Shape::Enum(values) | Shape::OpenEnum(values) => json!({ "enum": values }),
            Shape::AnyObject => json!({ "type": "object" }),
            Shape::ContractName => json!({ "const": self.contract.as_str() }),
            Shape::True => json!({ "const": true }),
            Shape::False => json!({ "const": false }),
            Shape::Amount => json!({ "minimum": 0 }),
            Shape::NonEmptyList(_) => json!({ "minItems": 1 }),
            Shape::ObjectWithConst(_, key, value) => json!({ "properties": { key: { "const": value } } }),
            Shape::ToolCall(Some(CallPhase::Started)) => {
                json!({ "additionalProperties": { "properties": { "result": false } } })
            }
            Shape::ToolCall(Some(CallPhase::Completed)) => {
                json!({ "additionalProperties": { "required": ["result"] } })
            }
            Shape::Any
            | Shape::Text
            | Shape::Count
            | Shape::Between(..)
            | Shape::Integer
            | Shape::Flag
            | Shape::Uuid
            | Shape::AbsolutePath
            | Shape::FailureCode
            | Shape::Object(_)
            | Shape::UncheckedObject(_)
            | Shape::UncheckedMap(_)
            | Shape::ToolCall(None)
            | Shape::List(_)
            | Shape::TextOrNonEmptyList(_) => json!({}),
        })
    }

    fn tool_call(&mut self) -> Keywords {
        let mut properties = Map::new();
        for tool in TOOLS {
            if let Some(args) = tool.args {
                let call = self.named_call(tool, args);
                properties.insert(tool.key.to_owned(), with_description(call, tool.description));
            }
        }
        let function = self.define(FUNCTION_CALL.name, Self::function_call);
        let description = "Calls a tool without its own key, or one that does not exist.";
        properties.insert(FUNCTION.to_owned(), with_description(function, description));
        let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        let Value::Array(mut alternatives) = one_of_keys(keys.iter().copied()) else { return Map::new() };
        alternatives.push(json!({
            "description": "A tool of a later version.",
            "propertyNames": { "not": { "enum": keys } },
            "not": { "propertyNames": { "not": { "pattern": KEY_PATTERN } } },
        }));
        into_keywords(json!({
            "description": "A call: one key, which names the tool.",
            "type": "object",
            "properties": properties,
            "patternProperties": { KEY_PATTERN: { "type": "object", "required": ["args"] } },
            "oneOf": alternatives,
        }))
    }

    /// Defines a call of a tool. The arguments of a successful call fit the tool; other calls may have any arguments.
    fn named_call(&mut self, tool: &Tool, args: Description) -> Keywords {
        let name = definition_name(tool);
        let args = self.reference_to(args());
        let result = self.define(&format!("{name}Result"), |generator| generator.result(tool));
        let call = json!({
            "description": tool.description,
            "type": "object",
            "properties": {
                "args": {
                    "description": "The arguments as the model wrote them; they may not fit the tool.",
                    "anyOf": [args, {
                        "description": "Arguments that do not fit the tool; such a call does not run.",
                        "type": "object",
                    }],
                    "x-since": FIRST_VERSION,
                },
                "result": with_description(result, "The outcome of the call; in `completed` only."),
            },
            "required": ["args"],
            "if": { "required": ["result"], "properties": { "result": { "required": [SUCCESS] } } },
            "then": { "properties": { "args": args } },
        });
        self.define(&format!("{name}Call"), |_| into_keywords(call))
    }

    fn result(&mut self, tool: &Tool) -> Keywords {
        let success = Arm { name: SUCCESS, description: "The call succeeded.", payload: tool.success };
        let arms: Vec<&Arm> = [&success].into_iter().chain(COMMON_ARMS).chain(tool.arms).collect();
        let mut properties = Map::new();
        for arm in &arms {
            let payload = self.reference_to((arm.payload)());
            properties.insert(arm.name.to_owned(), with_description(payload, arm.description));
        }
        if tool.key == shell::KEY {
            let flag = into_keywords(json!({ "type": "boolean" }));
            let description = "True for a command that continues in the background; a key next to the arm.";
            properties.insert("isBackground".to_owned(), with_description(flag, description));
        }
        into_keywords(json!({
            "description": format!("The outcome of `{}`: exactly one arm.", tool.key),
            "type": "object",
            "properties": properties,
            "oneOf": one_of_keys(arms.iter().map(|arm| arm.name)),
        }))
    }

    fn function_call(&mut self) -> Keywords {
        let mut keywords = self.object(&FUNCTION_CALL);
        if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
            properties.values_mut().filter_map(Value::as_object_mut).for_each(move_description_first);
            let result = with_description(Map::new(), "The output of the tool; in `completed` only.");
            properties.insert("result".to_owned(), result);
        }
        move_description_first(&mut keywords);
        keywords
    }
}

/// The keys of tools, including those of later versions.
const KEY_PATTERN: &str = "^[a-z][A-Za-z]*ToolCall$";

/// Returns `Read` for `readToolCall`.
fn definition_name(tool: &Tool) -> String {
    let name = tool.key.trim_end_matches("ToolCall");
    let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
    format!("{}{rest}", first.to_uppercase())
}

/// Returns the property `type` with the only value `tag`.
fn tag_property(tag: &str) -> Value {
    json!({ "type": "string", "const": tag, "description": "The type of the object.", "x-since": FIRST_VERSION })
}

/// Returns the alternatives for `oneOf`: exactly one of these keys is present.
fn one_of_keys<'a>(keys: impl Iterator<Item = &'a str>) -> Value {
    keys.map(|key| json!({ "required": [key] })).collect()
}

/// Returns a property: a schema with its description.
fn with_description(mut schema: Keywords, description: &str) -> Value {
    schema.insert("description".to_owned(), Value::from(description));
    schema.insert("x-since".to_owned(), Value::from(FIRST_VERSION));
    Value::Object(schema)
}

/// Moves the description to the front, where the published schema has it.
fn move_description_first(schema: &mut Keywords) {
    if let Some(description) = schema.shift_remove("description") {
        schema.shift_insert(0, "description".to_owned(), description);
    }
}

/// Joins the lines of a description.
fn join_lines(docs: &[&str]) -> String {
    docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}
