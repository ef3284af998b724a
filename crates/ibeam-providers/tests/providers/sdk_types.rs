//! The types of the parameters of requests in the official client libraries, and the check of a request against them.
//!
//! `cargo xtask sdk-types` writes the file. A type is the name of a basic one, a class after `#`, or an object: `in` has the
//! accepted words, `list` the type of the elements, `any_of` several types. `!` after a field means that it is required.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static TYPES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/sdk_types.json")).unwrap());

/// The types of one library.
pub(crate) struct SdkTypes {
    root: &'static Value,
    classes: &'static Map<String, Value>,
    /// The fields that other services add to the types.
    extensions: &'static [&'static str],
}

impl SdkTypes {
    pub(crate) fn new(library: &str, extensions: &'static [&'static str]) -> Self {
        let types = &TYPES[library];
        let classes = types["classes"].as_object().unwrap_or_else(|| panic!("no types of {library}"));
        Self { root: &types["root"], classes, extensions }
    }

    /// Returns the first place where a request has another type.
    pub(crate) fn fault(&self, request: &Value) -> Option<String> {
        self.check(self.root, request, "").err()
    }

    fn check(&self, kind: &Value, value: &Value, place: &str) -> Result<(), String> {
        let wrong = || Err(format!("{place}: {value} is not {kind}"));
        if let Some(name) = kind.as_str() {
            let is_basic = match name {
                "any" => true,
                "str" => value.is_string(),
                "int" => value.is_i64() || value.is_u64(),
                "float" => value.is_number(),
                "bool" => value.is_boolean(),
                "null" => value.is_null(),
                class => return self.check_class(class.trim_start_matches('#'), value, place),
            };
            return if is_basic { Ok(()) } else { wrong() };
        }
        if let Some(words) = kind["in"].as_array() {
            return if words.contains(value) { Ok(()) } else { wrong() };
        }
        if kind["list"] != Value::Null {
            let Some(elements) = value.as_array() else { return wrong() };
            let mut elements = elements.iter().enumerate();
            return elements.try_for_each(|(index, element)| {
                self.check(&kind["list"], element, &format!("{place}/{index}"))
            });
        }
        let members = kind["any_of"].as_array().map(Vec::as_slice).unwrap_or_default();
        let faults: Vec<String> =
            members.iter().filter_map(|member| self.check(member, value, place).err()).collect();
        if faults.len() < members.len() {
            return Ok(());
        }
        // The deepest fault is that of the member that was meant.
        Err(faults.into_iter().max_by_key(|fault| fault.split(':').next().map(str::len)).unwrap_or_default())
    }

    fn check_class(&self, class: &str, value: &Value, place: &str) -> Result<(), String> {
        let fields = self.classes[class].as_object().unwrap();
        let Some(object) = value.as_object() else { return Err(format!("{place}: {value} is not {class}")) };
        if let Some(missing) = fields
            .keys()
            .filter_map(|field| field.strip_suffix('!'))
            .find(|field| !object.contains_key(*field))
        {
            return Err(format!("{place}: `{missing}` is missing in {class}"));
        }
        for (name, inner) in object {
            let place = format!("{place}/{name}");
            match fields.get(name).or_else(|| fields.get(&format!("{name}!"))) {
                Some(kind) => self.check(kind, inner, &place)?,
                None if self.extensions.contains(&name.as_str()) => {}
                None => return Err(format!("{place}: {class} has no such field")),
            }
        }
        Ok(())
    }
}

#[test]
fn a_request_with_another_field_or_word_is_a_fault() {
    use serde_json::json;
    let types = SdkTypes::new("anthropic", &[]);
    let request = |thinking: Value| {
        let messages = json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]);
        json!({ "model": "m", "max_tokens": 1, "stream": true, "messages": messages, "thinking": thinking })
    };
    assert_eq!(types.fault(&request(json!({ "type": "adaptive", "display": "summarized" }))), None);
    for thinking in
        [json!({ "type": "deep" }), json!({ "type": "adaptive", "level": 1 }), json!({ "type": "enabled" })]
    {
        assert!(types.fault(&request(thinking.clone())).is_some(), "{thinking}");
    }
    assert!(types.fault(&json!({ "model": "m" })).is_some());
}
