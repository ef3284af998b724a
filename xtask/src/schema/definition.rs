//! A definition of the schema, reduced to the parts that types of other languages can express.
//!
//! Bounds, patterns and mutually exclusive keys are left out.

use serde_json::Value;

/// An object with a name.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) keys: Vec<DefinitionKey>,
}

pub(super) struct DefinitionKey {
    pub(super) name: String,
    /// The description, with unit and the version that added the key.
    pub(super) description: String,
    pub(super) required: bool,
    pub(super) kind: ValueType,
}

pub(super) enum ValueType {
    /// A reference to another definition.
    Named(String),
    /// One of these JSON values.
    OneOf(Vec<Value>),
    Text,
    Integer,
    Number,
    Boolean,
    List(Box<ValueType>),
    /// An object with any keys and values of one kind.
    Dictionary(Box<ValueType>),
    /// A value of one of these kinds.
    Either(Vec<ValueType>),
    /// Any JSON value.
    Anything,
}

impl Definition {
    pub(super) fn from_schema(name: &str, schema: &Value) -> Self {
        let required: Vec<&str> = list(schema, "required").iter().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let key = |(name, schema): (&String, &Value)| DefinitionKey {
            name: name.clone(),
            description: describe_key(schema),
            required: required.contains(&name.as_str()),
            kind: ValueType::from_schema(schema),
        };
        Self {
            name: name.to_owned(),
            description: text(schema, "description").to_owned(),
            keys: properties.into_iter().flatten().map(key).collect(),
        }
    }

    /// Merges the definitions of two contracts. A key that is optional or missing in one of them becomes optional.
    pub(super) fn merge(mut self, later: Self) -> Self {
        let mut keys = Vec::new();
        for mut key in later.keys {
            match self.keys.iter().position(|other| other.name == key.name) {
                Some(index) => keys.push(self.keys.remove(index).merge(key)),
                None => {
                    key.required = false;
                    keys.push(key);
                }
            }
        }
        keys.extend(self.keys.into_iter().map(|key| DefinitionKey { required: false, ..key }));
        let description = merge_descriptions(self.description, &later.description);
        Self { name: self.name, description, keys }
    }

    /// Whether the definition is a line of the stream.
    pub(super) fn is_event(&self) -> bool {
        self.name.ends_with("Event")
    }
}

impl DefinitionKey {
    /// Merges the same key of two contracts.
    fn merge(self, later: Self) -> Self {
        let kind = match (self.kind, later.kind) {
            (ValueType::OneOf(mut values), ValueType::OneOf(more)) => {
                values.extend(more.into_iter().filter(|value| !values.contains(value)).collect::<Vec<_>>());
                ValueType::OneOf(values)
            }
            (kind, _) => kind,
        };
        let description = merge_descriptions(self.description, &later.description);
        Self { name: self.name, description, required: self.required && later.required, kind }
    }
}

/// Returns the common description, or both descriptions with their contracts.
fn merge_descriptions(description: String, later: &str) -> String {
    if description == later {
        return description;
    }
    format!("Contract 1: {description} Contract 2: {later}")
}

impl ValueType {
    fn from_schema(schema: &Value) -> Self {
        if let Some(name) = text(schema, "$ref").strip_prefix("#/$defs/") {
            return Self::Named(name.to_owned());
        }
        if let Some(value) = schema.get("const") {
            return Self::OneOf(vec![value.clone()]);
        }
        match (list(schema, "enum"), list(schema, "anyOf")) {
            ([], []) => {}
            ([], choices) => return Self::Either(choices.iter().map(Self::from_schema).collect()),
            (values, _) => return Self::OneOf(values.to_vec()),
        }
        let inner = |key: &str| Box::new(schema.get(key).map_or(Self::Anything, Self::from_schema));
        match text(schema, "type") {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::List(inner("items")),
            "object" => Self::Dictionary(inner("additionalProperties")),
            _ => Self::Anything,
        }
    }
}

/// Returns the description of a key with its unit and version.
fn describe_key(schema: &Value) -> String {
    let description = text(schema, "description");
    let unit = match text(schema, "x-unit") {
        "" => String::new(),
        unit => format!(" [{unit}]"),
    };
    format!("{description}{unit} (since {})", text(schema, "x-since"))
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
