//! The `WWW-Authenticate` header of a refused request.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde::{Deserialize, Serialize};

/// The demand of a server for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Challenge {
    /// Whether the token must be bound to a key (`DPoP`).
    #[serde(default)]
    pub(crate) is_dpop: bool,
    /// The URL of the metadata of the server.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The reason, such as `insufficient_scope`.
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// Returns the challenge of a response; an empty one if it has none.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE);
        let mut challenges = values.iter().filter_map(|value| value.to_str().ok()).filter_map(Self::parse);
        challenges.next_back().unwrap_or_default()
    }

    /// Parses `Bearer name="value", name=value` or `DPoP …`; `None` for another scheme.
    fn parse(value: &str) -> Option<Self> {
        let (scheme, parameters) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let is_dpop = scheme.eq_ignore_ascii_case("dpop");
        if !is_dpop && !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut challenge = Self { is_dpop, ..Self::default() };
        let mut rest = parameters;
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once(',').unwrap_or((after, "")),
            };
            match name.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value.to_owned()),
                "scope" => challenge.scopes = value.split_whitespace().map(str::to_owned).collect(),
                "error" => challenge.error = Some(value.trim().to_owned()),
                _ => {}
            }
            rest = after;
        }
        Some(challenge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_parsed_quoted_or_not() {
        let parsed = Challenge::parse(
            r#"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y?a=b,c", x=1"#,
        );
        let expect = Challenge {
            is_dpop: false,
            resource_metadata: Some("https://x/y?a=b,c".to_owned()),
            scopes: vec!["a".to_owned(), "b".to_owned()],
            error: Some("insufficient_scope".to_owned()),
        };
        assert_eq!(parsed, Some(expect));
        assert_eq!(Challenge::parse("Basic realm=x"), None);
        assert_eq!(Challenge::parse("Bearer"), Some(Challenge::default()));
        let nonce = Challenge::parse("DPoP error=use_dpop_nonce, scope=a").unwrap();
        assert!(nonce.is_dpop && nonce.error.as_deref() == Some("use_dpop_nonce") && nonce.scopes == ["a"]);
    }
}
