//! A remote message made fit to be shown: one line, no control characters, bounded.

/// The most characters of a remote message that are shown.
const LIMIT_CHARS: usize = 300;

/// Makes one line of `text`: white space collapsed, control and direction characters dropped, an HTML page
/// reduced to its title, at most 300 characters.
pub(crate) fn said(text: &str) -> String {
    let text = text.trim();
    let html = text.starts_with('<');
    let text = if html { title(text).unwrap_or("an HTML page") } else { text };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control() && !is_direction_mark(*c)));
    }
    if line.chars().count() > LIMIT_CHARS {
        line = line.chars().take(LIMIT_CHARS - 1).collect();
        line.push('…');
    }
    line
}

/// Characters that reorder or hide what follows them.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn title(html: &str) -> Option<&str> {
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
        assert_eq!(said(text), expect);
    }

    #[test]
    fn a_message_becomes_one_line_without_control_characters() {
        check(" a\n\tb\u{1b}[31mc\0 \u{202e}d ", "a b[31mc d");
    }

    #[test]
    fn an_html_page_is_its_title() {
        check("<!DOCTYPE html><html><head><TITLE>502 Bad\nGateway</TITLE></head>…", "502 Bad Gateway");
        check("<p>x</p>", "an HTML page");
    }

    #[test]
    fn a_long_message_is_cut() {
        assert_eq!(said(&"é".repeat(1000)).chars().count(), 300);
    }
}
