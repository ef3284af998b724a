//! Foreign text on its way to people: nothing in it may move a cursor, colour a line or reverse its order.

/// On one line: control characters, line ends and bidirectional overrides become escapes like `\n`, `\u{1b}`.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text, |c| c.is_control() || is_line_or_order_change(c))
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

fn is_line_or_order_change(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
