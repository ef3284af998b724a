//! Markup with foreign text in it: no text can open a tag, leave an attribute, or hide what it says.

use jiff::Timestamp;

use ibeam_protocol::escape_invisible;

/// A piece of a page.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup of ours, as it stands.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Foreign text. What is not seen in it is written out.
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

    /// Foreign text as it stands, in a block of its own.
    pub(super) fn block(&mut self, text: &str) -> &mut Self {
        // A line end right behind the tag is no part of the text.
        self.raw("<pre>\n").text(text).raw("</pre>\n")
    }

    /// The time of day, with the date for programs; nothing where there is none.
    pub(super) fn time(&mut self, at_ms: u64) -> &mut Self {
        self.timed(at_ms, "%H:%M:%S")
    }

    /// Date and time.
    pub(super) fn date(&mut self, at_ms: u64) -> &mut Self {
        self.timed(at_ms, "%Y-%m-%d %H:%M:%S UTC")
    }

    fn timed(&mut self, at_ms: u64, format: &str) -> &mut Self {
        let at = i64::try_from(at_ms).ok().filter(|at_ms| *at_ms > 0);
        let Some(at) = at.and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok()) else { return self };
        let (whole, shown) = (at.to_string(), at.strftime(format).to_string());
        self.raw(" <time datetime=\"").text(&whole).raw("\">").text(&shown).raw("</time>")
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
