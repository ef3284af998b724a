//! The rows as plain markup, for browsers that run no scripts.

use ibeam_output::{Catalogue, PageLine};

use super::row::{BlockContent, CallBlock, Row};

/// Markup of rows up to a length.
pub(super) struct StaticPage {
    markup: String,
    max_bytes: usize,
    is_too_long: bool,
}

impl StaticPage {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { markup: String::new(), max_bytes, is_too_long: false }
    }

    /// Adds a row, unless the page is too long already.
    pub(super) fn push(&mut self, row: &Row, catalogue: &Catalogue) {
        if self.is_too_long {
            return;
        }
        let page = &mut self.markup;
        match row {
            Row::Run { model, cwd, mode, .. } => {
                *page += &format!("<h2>{}</h2>\n<p class=\"quiet\"><code>", escape(model));
                *page += &format!("{}</code> · {}</p>\n", escape(cwd), escape(mode));
            }
            Row::Prompt { text, files, is_withheld, .. } => {
                let heading = if *is_withheld { PageLine::WithheldPrompt } else { PageLine::Prompt };
                *page += &format!("<h3>{}</h3>\n", escape(&catalogue.line(&heading)));
                for part in text.iter().chain(files) {
                    *page += &format!("<p>{}</p>\n", escape(part));
                }
            }
            Row::Answer { text, .. } => {
                *page += &format!("<h3>{}</h3>\n", escape(&catalogue.line(&PageLine::Answer)));
                *page += &format!("<p>{}</p>\n", escape(text));
            }
            Row::Call(call) => {
                *page += &format!("<details><summary>{} <code>", escape(&call.action));
                *page +=
                    &format!("{}</code></summary>\n", escape(call.target.as_deref().unwrap_or_default()));
                call.blocks.iter().for_each(|block| push_block(block, page));
                *page += "</details>\n";
            }
            Row::Request { .. } => {}
            Row::Notice { text, .. } | Row::End { text, .. } => {
                *page += &format!("<p class=\"notice\">{}</p>\n", escape(text));
            }
        }
        if page.len() > self.max_bytes {
            (self.is_too_long, self.markup) = (true, String::new());
        }
    }

    /// Returns the markup, or `note` if the page is too long.
    pub(super) fn finish(&mut self, note: &str) -> String {
        if self.is_too_long { format!("<p>{note}</p>\n") } else { std::mem::take(&mut self.markup) }
    }
}

fn push_block(block: &CallBlock, page: &mut String) {
    if let Some(label) = &block.label {
        *page += &format!("<h4>{}</h4>\n", escape(label));
    }
    match &block.content {
        // HTML ignores a line end right after the tag.
        BlockContent::Text(text) | BlockContent::Markdown(text) | BlockContent::Diff(text) => {
            *page += &format!("<pre>\n{}</pre>\n", escape(text));
        }
        BlockContent::Error(text) => *page += &format!("<p class=\"error\">{}</p>\n", escape(text)),
        BlockContent::Todos(todos) => {
            for (state, text) in todos {
                *page += &format!("<p>{}: {}</p>\n", escape(state), escape(text));
            }
        }
    }
}

/// Returns text that cannot open a tag, leave an attribute or become an entity.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
