//! The token that requests over HTTP must carry.

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The shortest token that is accepted. A shorter one could be guessed.
const MIN_CHARS: usize = 16;

/// The hash of a token.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Returns a new token and its text.
    pub fn random() -> (Self, String) {
        let text = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        (Self(hash(&text)), text)
    }

    /// Returns the token with this text.
    ///
    /// # Errors
    /// The reason why the text cannot be a token.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() < MIN_CHARS {
            return Err(format!("a token should have at least {MIN_CHARS} characters"));
        }
        match text.chars().all(|character| character.is_ascii_graphic()) {
            true => Ok(Self(hash(text))),
            false => Err("a token should consist of ASCII characters without spaces".to_owned()),
        }
    }

    /// Whether a request carries the token. The comparison of hashes takes no longer for a better guess.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(AUTHORIZATION).map(HeaderValue::to_str);
        let Some(Ok(value)) = value else { return false };
        let Some((scheme, text)) = value.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && hash(text.trim()) == self.0
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: bool) {
        let token = Token::parse("fake-token-of-a-test").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        assert_eq!(token.is_in(&headers), expect, "{value}");
    }

    #[test]
    fn only_the_token_itself_is_accepted() {
        check("Bearer fake-token-of-a-test", true);
        check("bearer  fake-token-of-a-test", true);
        check("Bearer fake-token-of-a-tes", false);
        check("Basic fake-token-of-a-test", false);
        check("fake-token-of-a-test", false);
        check("Bearer", false);
    }

    #[test]
    fn a_token_that_could_be_guessed_is_refused() {
        assert!(Token::parse("short").is_err());
        assert!(Token::parse("a token with some spaces").is_err());
        let (token, text) = Token::random();
        assert_eq!(Token::parse(&text).unwrap().0, token.0);
    }
}
