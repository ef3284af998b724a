//! Removes what is likely a secret from text that a person may pass on: passwords in URLs, and the values of options,
//! parameters, headers and variables with the name of a secret.
//!
//! Rather too much than too little: for settings that are shown and for bug reports, not for what a model receives.

use std::borrow::Cow;
use std::sync::LazyLock;

use ibeam_providers::is_secret_header;
use regex::{Captures, Regex};

/// The replacement of a secret.
pub(crate) const MASK: &str = "***";

/// A URL with a user: the scheme, the user and the password.
static URL_USER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\b([a-z][a-z0-9+.-]*://)([^\s/?#"'<>`\\]*)@"#).ok());

/// A name and its value. An option is followed by `=`, a blank, or the next text of a list; a header by `: `; a key of
/// JSON by `": "`; a variable or a parameter by `=`.
static NAMED_VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let value = r#"(?:(?:bearer|basic|token)[ +]|(?:bearer|basic|token)%20)?[^\s"'`,&\\\[\]{}()]+"#;
    // The value of another option or variable may begin with a name: `--header 'X-Api-Key: …'`.
    let secret = r"(?:auth|key|token|secret|cookie|password)";
    let option = format!(r#"--?[\w-]*{secret}[\w-]*(?:=["']?|[ \t]+["']?|["']\s*,\s*["'])"#);
    let header = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+:[ \t]*|(?:authorization|cookie):[ \t]*";
    let json = r#"\\?"[\w-]+\\?"\s*:\s*\\?""#;
    let variable = format!(r#"\b[\w.-]*{secret}[\w.-]*=["']?"#);
    Regex::new(&format!("(?i)({option}|{header}|{json}|{variable})({value})")).ok()
});

/// Returns the text with `***` in place of likely secrets. A placeholder such as `${TOKEN}` and a number stay.
pub(crate) fn mask_secrets(text: &str) -> Cow<'_, str> {
    let (Some(url), Some(named)) = (&*URL_USER, &*NAMED_VALUE) else { return Cow::Borrowed(MASK) };
    let without_users = url.replace_all(text, |found: &Captures<'_>| {
        let (scheme, user) = (group(found, 1), group(found, 2));
        match user.split_once(':') {
            _ if is_placeholder(user) => format!("{scheme}{user}@"),
            Some((user, _)) => format!("{scheme}{user}:{MASK}@"),
            // The user of SSH is not a secret; that of HTTP may be a token.
            None if scheme.to_ascii_lowercase().contains("ssh") => format!("{scheme}{user}@"),
            None => format!("{scheme}{MASK}@"),
        }
    });
    let masked = named.replace_all(&without_users, |found: &Captures<'_>| {
        let (name, value) = (group(found, 1), group(found, 2));
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match is_secret_header(name) && !is_placeholder(value) && !is_number {
            true => format!("{name}{MASK}"),
            false => format!("{name}{value}"),
        }
    });
    match masked == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(masked.into_owned()),
    }
}

fn group<'a>(found: &Captures<'a>, index: usize) -> &'a str {
    found.get(index).map_or("", |found| found.as_str())
}

fn is_placeholder(value: &str) -> bool {
    value.starts_with('$') || value == MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(mask_secrets(text), expect);
    }

    #[test]
    fn passwords_in_urls_are_masked() {
        check("base_url = \"https://me:hush@a.test/v1\"", "base_url = \"https://me:***@a.test/v1\"");
        check("postgres://u:p@ss@db/x?y=1", "postgres://u:***@db/x?y=1");
        check("git clone https://ghp_hush@a.test/b", "git clone https://***@a.test/b");
        check("ssh://git@a.test/b git+ssh://git@c.test", "ssh://git@a.test/b git+ssh://git@c.test");
        check("https://${USER}:x@a.test", "https://${USER}:x@a.test");
        check("https://a.test/@scope/b?token=hush&team=c", "https://a.test/@scope/b?token=***&team=c");
    }

    #[test]
    fn values_with_the_name_of_a_secret_are_masked() {
        check("[\"--token\", \"hush\", \"-v\"]", "[\"--token\", \"***\", \"-v\"]");
        check("x --api-key=hush --password 'hush two'", "x --api-key=*** --password '*** two'");
        check("API_TOKEN=hush make", "API_TOKEN=*** make");
        check(
            "curl -H 'Authorization: Bearer hush' -H 'X-Api-Key: hush'",
            "curl -H 'Authorization: ***' -H 'X-Api-Key: ***'",
        );
        check(
            "{\"client_secret\": \"hush\"} {\\\"password\\\":\\\"hush\\\"}",
            "{\"client_secret\": \"***\"} {\\\"password\\\":\\\"***\\\"}",
        );
        check("--header 'Authorization: Basic hush'", "--header 'Authorization: ***'");
        check("x -token hush", "x -token ***");
        check("headers=authorization=Bearer%20hush", "headers=authorization=***");
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "--token ${TOKEN} --max-tokens=4096 --timeout 5 {\"totalTokens\":12}",
            "key: openai ($OPENAI_API_KEY) api_key_env = \"MY_VARIABLE\"",
            "the password is not in the text, nor is a token",
            "",
        ] {
            check(text, text);
        }
    }
}
