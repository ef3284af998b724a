//! Headers that users add to requests: which ones are possible, which ones are secret, which ones replace a key.

use reqwest::header::HeaderName;

/// Headers that belong to the connection. Another value would break it, or send a password to the wrong server.
const RESERVED: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Parts of the names of headers that carry secrets.
const SECRET_NAME_PARTS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];
/// Headers in which services expect a key.
const KEY_HEADERS: &[&str] = &["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// The reason why a header cannot be added to requests. The messages do not contain the value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHeader {
    /// The name is not one of a header.
    #[error("`{0}` is not a header name; a name consists of letters, digits and hyphens")]
    Name(String),
    /// The value has a character that headers cannot contain.
    #[error("the value of the header `{0}` has a line break, or a character that is not visible ASCII")]
    Value(String),
    #[error("the header `{0}` cannot be set, because the connection sets it")]
    Reserved(String),
}

/// Checks that a header can be added to requests.
///
/// # Errors
/// The reason why it cannot.
pub fn check_header(name: &str, value: &str) -> Result<(), InvalidHeader> {
    let parsed: HeaderName = name.parse().map_err(|_| InvalidHeader::Name(name.to_owned()))?;
    if RESERVED.contains(&parsed.as_str()) {
        return Err(InvalidHeader::Reserved(name.to_owned()));
    }
    let is_visible = value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    if is_visible { Ok(()) } else { Err(InvalidHeader::Value(name.to_owned())) }
}

/// Whether a header of this name is likely to carry a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

/// Whether services read their key from a header of this name, so that requests with it need no other key.
pub fn is_key_header(name: &str) -> bool {
    KEY_HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_would_break_a_request_is_refused() {
        for (name, value) in
            [("X-Team", "a b, c"), ("authorization", "Bearer k"), ("X_Y", ""), ("Accept", "a/b")]
        {
            assert_eq!(check_header(name, value), Ok(()), "{name}");
        }
        let name = |name: &str| InvalidHeader::Name(name.to_owned());
        for wrong in ["", "X Y", "X-\u{e4}", "a:b", "a\nb"] {
            assert_eq!(check_header(wrong, "v"), Err(name(wrong)));
        }
        for wrong in ["a\nb", "a\r\nX: y", "caf\u{e9}", "\0"] {
            let error = check_header("X-Key", wrong).unwrap_err();
            assert_eq!(error, InvalidHeader::Value("X-Key".to_owned()));
            assert!(!error.to_string().contains(wrong));
        }
        for reserved in ["Host", "content-LENGTH", "Proxy-Authorization", "Transfer-Encoding"] {
            assert_eq!(check_header(reserved, "v"), Err(InvalidHeader::Reserved(reserved.to_owned())));
        }
    }

    #[test]
    fn names_of_headers_with_secrets_and_keys_are_recognised() {
        assert!(is_secret_header("X-Gateway-Token") && is_secret_header("Cookie"));
        assert!(!is_secret_header("X-Team"));
        assert!(is_key_header("Authorization") && is_key_header("X-Api-Key"));
        assert!(!is_key_header("X-Gateway-Token"));
    }
}
