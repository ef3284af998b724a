//! Foreign text on its way to people: nothing in it may move a cursor, colour a line or reverse its order.

use ibeam_protocol::invisible::is_invisible;

/// On one line: control characters, line ends and all that is not seen become escapes like `\n`, `\u{1b}`.
pub(crate) fn one_line(text: &str) -> String {
    // One selector or joiner belongs to the writing of many emoji, and misleads nobody.
    let is_of_writing = |c| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    escaped(text, |c| c.is_control() || (is_invisible(c) && !is_of_writing(c)))
}

/// Over several lines: `\n` and tabs stay, `\r` goes, other control characters become escapes.
pub(crate) fn many_lines(text: &str) -> String {
    escaped(&text.replace('\r', ""), |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// At most `limit` characters, the last of them `…` where something was cut.
pub(crate) fn shortened(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}
