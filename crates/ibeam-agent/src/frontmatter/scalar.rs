//! A value of a header on one line: a plain or quoted text, with the escapes of YAML.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the text of a plain or quoted value. A value with text after the closing quote is plain.
///
/// # Errors
/// A quote has no end.
pub(super) fn scalar(value: &str) -> Result<String, &'static str> {
    // A comment starts with ` #`.
    let plain = || value.split(" #").next().unwrap_or_default().trim().to_owned();
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return Ok(plain()) };
    let mut text = String::new();
    let mut rest = value.chars().peekable();
    rest.next();
    while let Some(c) = rest.next() {
        if c == quote {
            if quote == '\'' && rest.next_if_eq(&'\'').is_some() {
                text.push('\'');
                continue;
            }
            let after: String = rest.collect();
            return Ok(if super::is_blank(&after) { text } else { plain() });
        }
        match (c, quote) {
            ('\\', '"') => push_escaped(&mut text, &mut rest),
            _ => text.push(c),
        }
    }
    Err("a quote has no end")
}

/// Adds the character of an escape, whose backslash is read. What is not an escape of YAML stays as it is: files of others
/// have paths and regular expressions in quotes.
fn push_escaped(text: &mut String, rest: &mut Peekable<Chars<'_>>) {
    let Some(&name) = rest.peek() else { return text.push('\\') };
    let digits = match name {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    let character = match name {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '0' => Some('\0'),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'e' => Some('\u{1b}'),
        'f' => Some('\u{c}'),
        'v' => Some('\u{b}'),
        'N' => Some('\u{85}'),
        '_' => Some('\u{a0}'),
        'L' => Some('\u{2028}'),
        'P' => Some('\u{2029}'),
        '"' | '\\' | '/' | ' ' => Some(name),
        _ if digits > 0 => return push_code(text, rest, digits),
        _ => None,
    };
    match character {
        Some(character) => {
            rest.next();
            text.push(character);
        }
        None => text.push('\\'),
    }
}

/// Adds the character of a code of `digits` hexadecimal digits. A pair of surrogates, as JSON writes it, is one character.
fn push_code(text: &mut String, rest: &mut Peekable<Chars<'_>>, digits: usize) {
    let mut ahead = rest.clone();
    ahead.next();
    let Some(code) = read_code(&mut ahead, digits) else { return text.push('\\') };
    let mut units = vec![code];
    if (0xd800..0xdc00).contains(&code) {
        let mut pair = ahead.clone();
        if (pair.next(), pair.next()) == (Some('\\'), Some('u'))
            && let Some(low) = read_code(&mut pair, digits)
        {
            units.push(low);
            ahead = pair;
        }
    }
    let character = match units.as_slice() {
        [code] => char::from_u32(*code),
        units => {
            let units = units.iter().map(|unit| u16::try_from(*unit).unwrap_or_default());
            char::decode_utf16(units).next().and_then(Result::ok)
        }
    };
    match character {
        Some(character) => {
            text.push(character);
            *rest = ahead;
        }
        None => text.push('\\'),
    }
}

/// Reads a number of hexadecimal digits; `None` if there are fewer.
fn read_code(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0_u32, |code, _| {
        let digit = rest.next_if(char::is_ascii_hexdigit)?.to_digit(16)?;
        code.checked_mul(16)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_yaml_and_of_json() {
        for (value, expect) in [
            (r#""Caf\u00e9 \u2014 menu""#, "Caf\u{e9} \u{2014} menu"),
            (r#""\x41\U0001F600\t""#, "A\u{1F600}\t"),
            (r#""\ud83d\ude00""#, "\u{1F600}"),
            (r#""\"a\\b\/\"""#, "\"a\\b/\""),
            (r#""\ud83d x""#, "\\ud83d x"),
            (r#""C:\users \d+\.x \u12""#, "C:\\users \\d+\\.x \\u12"),
            (r#"'\n'"#, "\\n"),
        ] {
            assert_eq!(scalar(value).as_deref(), Ok(expect), "{value}");
        }
    }

    #[test]
    fn a_quoted_word_at_the_start_is_plain_text() {
        assert_eq!(scalar("\"Quick\" fix # c").as_deref(), Ok("\"Quick\" fix"));
        assert!(scalar("\"open").is_err());
    }
}
