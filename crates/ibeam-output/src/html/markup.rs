//! Markup with escaped text: no text can open a tag, leave an attribute or hide characters.

use jiff::Timestamp;

use ibeam_protocol::escape_invisible;

/// A piece of a page.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds markup unchanged.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds escaped text. Invisible characters become visible escapes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in escape_invisible(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Adds escaped text as a preformatted block.
    pub(super) fn block(&mut self, text: &str) -> &mut Self {
        // HTML ignores a line end right after the tag.
        self.raw("<pre>\n").text(text).raw("</pre>\n")
    }

    /// Adds the time of day, with the date for programs. Nothing is added for 0.
    pub(super) fn time(&mut self, at_ms: u64) -> &mut Self {
        self.timestamp(at_ms, "%H:%M:%S")
    }

    /// Adds date and time.
    pub(super) fn date(&mut self, at_ms: u64) -> &mut Self {
        self.timestamp(at_ms, "%Y-%m-%d %H:%M:%S UTC")
    }

    fn timestamp(&mut self, at_ms: u64, format: &str) -> &mut Self {
        let at = i64::try_from(at_ms).ok().filter(|at_ms| *at_ms > 0);
        let Some(at) = at.and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok()) else { return self };
        let (machine, shown) = (at.to_string(), at.strftime(format).to_string());
        self.raw(" <time datetime=\"").text(&machine).raw("\">").text(&shown).raw("</time>")
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
