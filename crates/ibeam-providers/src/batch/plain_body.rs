//! Request bodies without a stream: those of the wire protocols, without the keys that ask for a stream.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The keys that only requests for a stream have.
const STREAM_KEYS: [&str; 2] = ["stream", "stream_options"];

/// Returns a request body without the keys that ask for a stream. The other keys keep their order and their bytes, on
/// which the caches of the services depend.
///
/// # Errors
/// The body is not a JSON object.
pub fn remove_stream_keys(body: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let fields = reader.deserialize_map(Fields)?;
    reader.end()?;
    let mut plain = Vec::with_capacity(body.len());
    plain.push(b'{');
    for (key, value) in fields.iter().filter(|(key, _)| !STREAM_KEYS.contains(&key.as_str())) {
        if plain.len() > 1 {
            plain.push(b',');
        }
        serde_json::to_writer(&mut plain, key)?;
        plain.push(b':');
        plain.extend_from_slice(value.get().as_bytes());
    }
    plain.push(b'}');
    Ok(plain)
}

/// Reads the fields of an object in their order.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_of_a_stream_at_the_top_are_removed() {
        for (body, plain) in [
            (r#"{"model":"m","stream":true,"messages":[]}"#, r#"{"model":"m","messages":[]}"#),
            (
                r#"{"stream":true,"stream_options":{"include_usage":true},"a":{"stream":1.50}}"#,
                r#"{"a":{"stream":1.50}}"#,
            ),
            (r#"{"stream":true}"#, "{}"),
            (r#"{"contents":[]}"#, r#"{"contents":[]}"#),
        ] {
            assert_eq!(remove_stream_keys(body.as_bytes()).unwrap(), plain.as_bytes());
        }
        assert!(remove_stream_keys(b"[]").is_err());
        assert!(remove_stream_keys(b"{} {}").is_err());
    }
}
