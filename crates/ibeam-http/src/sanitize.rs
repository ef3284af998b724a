//! Sanitising of remote messages: one line, no invisible characters, limited length.

use ibeam_protocol::invisible::is_invisible;

/// The maximum length of a remote message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns `text` as one line of at most 300 characters, without control characters and other invisible ones. White space is
/// collapsed, and an HTML page is reduced to its title.
pub fn sanitize_message(text: &str) -> String {
    let text = text.trim();
    let is_html = text.starts_with('<');
    let text = if is_html { html_title(text).unwrap_or("an HTML page") } else { text };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !is_invisible(*c) || is_emoji_selector(*c)));
    }
    if line.chars().count() > MAX_MESSAGE_CHARS {
        line = line.chars().take(MAX_MESSAGE_CHARS - 1).collect();
        line.push('…');
    }
    line
}

/// Whether `c` selects the text or picture form of the character before it.
fn is_emoji_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

fn html_title(html: &str) -> Option<&str> {
    let lower = html.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower.get(tag..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    html.get(start..end).map(str::trim).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(sanitize_message(text), expect);
    }

    #[test]
    fn a_message_becomes_one_line_without_control_characters() {
        check(" a\n\tb\u{1b}[31mc\0 \u{202e}d ", "a b[31mc d");
        check("⚠\u{fe0f} no quo\u{ad}ta\u{e0041}", "⚠\u{fe0f} no quota");
    }

    #[test]
    fn an_html_page_is_its_title() {
        check("<!DOCTYPE html><html><head><TITLE>502 Bad\nGateway</TITLE></head>…", "502 Bad Gateway");
        check("<p>x</p>", "an HTML page");
    }

    #[test]
    fn a_long_message_is_cut() {
        assert_eq!(sanitize_message(&"é".repeat(1000)).chars().count(), 300);
    }
}
