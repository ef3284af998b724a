//! Conversion of HTML to Markdown.
//!
//! A page may be written to harm the converter: nested so deeply that the stack overflows, or so that the conversion
//! takes too long. So the parser stops at a depth that no ordinary page has, the tree is trimmed before it is
//! converted, and both run on a separate thread that stops when the result is no longer needed.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use htmd::options::{BulletListMarker, Options};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use tokio::sync::oneshot;
use url::Url;

use crate::html_table::{element_name, table_handler};

/// Elements without readable content.
const SKIPPED: [&str; 9] =
    ["script", "style", "noscript", "template", "iframe", "svg", "canvas", "object", "head"];
/// Elements that indent each line of their content, so that deep nesting multiplies the text.
const INDENTING: [&str; 4] = ["blockquote", "ul", "ol", "li"];
/// Maximum depth that is converted. An indenting element counts as `INDENT_DEPTH` levels. Ordinary pages have some
/// dozen levels.
const MAX_DEPTH: usize = 200;
const INDENT_DEPTH: usize = 8;
/// Depth at which the parser stops, because it visits all open levels at each tag.
const MAX_PARSED_DEPTH: usize = 10 * MAX_DEPTH;
/// Maximum number of nodes that are converted. Their text is far longer than the text that a model receives.
const MAX_NODES: usize = 100_000;
/// Maximum number of tags that are parsed, half of them closing tags. A node takes a hundred times the memory of its
/// tag.
const MAX_TAGS: usize = 2 * MAX_NODES;
/// Maximum number of bytes of text that are converted.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// Maximum length of a resolved link. A longer link stays as written.
const MAX_URL_BYTES: usize = 2048;
/// Size of the thread's stack, which is enough for `MAX_DEPTH` levels of the converter's recursion.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// Bytes between two checks of the depth and of cancellation.
const CHUNK_BYTES: usize = 4 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Markdown {
    pub(crate) text: String,
    /// Whether no part was left out because of the size or depth of the page.
    pub(crate) is_complete: bool,
}

/// Converts a page, and resolves its links against `base`. Cancel safe: dropping the future ends the work soon.
///
/// # Errors
/// A description of the failure.
pub(crate) async fn html_to_markdown(html: String, base: Option<Url>) -> Result<Markdown, String> {
    let is_wanted = Arc::new(AtomicBool::new(true));
    let _cancel = CancelOnDrop(Arc::clone(&is_wanted));
    let (sender, receiver) = oneshot::channel();
    let work = move || drop(sender.send(convert(&html, base.as_ref(), &is_wanted)));
    let thread = std::thread::Builder::new().name("html".to_owned()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| error.to_string())?;
    receiver.await.map_err(|error| error.to_string())?
}

/// Clears the flag `is_wanted` when it is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn convert(html: &str, base: Option<&Url>, is_wanted: &AtomicBool) -> Result<Markdown, String> {
    let options = TreeBuilderOpts { scripting_enabled: true, ..TreeBuilderOpts::default() };
    let mut parser =
        parse_document(RcDom::default(), ParseOpts { tree_builder: options, ..ParseOpts::default() });
    let (mut remaining, mut tags) = (html, 0);
    while !remaining.is_empty() {
        if !is_wanted.load(Ordering::Relaxed) {
            return Err("the conversion was cancelled".to_owned());
        }
        let (chunk, rest) = remaining.split_at(remaining.floor_char_boundary(CHUNK_BYTES));
        tags += chunk.bytes().filter(|byte| *byte == b'<').count();
        parser.process(StrTendril::from(chunk));
        remaining = rest;
        if tags > MAX_TAGS || last_node_depth(&parser.tokenizer.sink.sink.document) > MAX_PARSED_DEPTH {
            break;
        }
    }
    let document = parser.finish().document;
    let trimmed = trim_document(&document, base);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = htmd::HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.to_vec());
    let body = converter.add_handler(vec!["table"], table_handler).build().tree_to_markdown(&document);
    let text = match trimmed.title {
        Some(title) if !body.starts_with("# ") => format!("# {title}\n\n{body}"),
        Some(_) | None => body,
    };
    Ok(Markdown { text, is_complete: trimmed.is_complete && remaining.is_empty() })
}

/// Returns the depth of the node that was parsed last.
fn last_node_depth(document: &Rc<Node>) -> usize {
    let last = |node: &Rc<Node>| node.children.borrow().last().cloned();
    std::iter::successors(last(document), last).count()
}

/// The result of trimming a document.
struct TrimResult {
    title: Option<String>,
    is_complete: bool,
}

/// Removes what is too deep or too large, resolves links, and finds the title.
fn trim_document(document: &Rc<Node>, base: Option<&Url>) -> TrimResult {
    let mut trimmed = TrimResult { title: None, is_complete: true };
    let (mut nodes, mut text) = (0, 0);
    let mut pending = vec![(Rc::clone(document), 0)];
    while let Some((node, depth)) = pending.pop() {
        nodes += 1;
        let mut children = node.children.borrow_mut();
        let name = element_name(&node);
        match &node.data {
            NodeData::Element { attrs, .. } => match name {
                "title" if trimmed.title.is_none() => trimmed.title = title_text(&children),
                "a" => resolve_link(attrs, "href", base),
                "img" => resolve_link(attrs, "src", base),
                _ => {}
            },
            NodeData::Text { contents } => {
                text += contents.borrow().len();
                if text > MAX_TEXT_BYTES {
                    contents.borrow_mut().clear();
                    trimmed.is_complete = false;
                }
            }
            NodeData::Document
            | NodeData::Doctype { .. }
            | NodeData::Comment { .. }
            | NodeData::ProcessingInstruction { .. } => {}
        }
        if SKIPPED.contains(&name) && name != "head" {
            children.clear();
        }
        let limit = if depth < MAX_DEPTH { MAX_NODES.saturating_sub(nodes) } else { 0 };
        trimmed.is_complete &= children.len() <= limit;
        children.truncate(limit);
        let child_depth = depth + if INDENTING.contains(&name) { INDENT_DEPTH } else { 1 };
        // The first child is visited first, so that the end of the page is left out.
        pending.extend(children.iter().rev().map(|child| (Rc::clone(child), child_depth)));
    }
    trimmed
}

/// Returns the text of a title on one line.
fn title_text(children: &[Rc<Node>]) -> Option<String> {
    let texts = children.iter().filter_map(|child| match &child.data {
        NodeData::Text { contents } => Some(contents.borrow().to_string()),
        NodeData::Document
        | NodeData::Doctype { .. }
        | NodeData::Comment { .. }
        | NodeData::Element { .. }
        | NodeData::ProcessingInstruction { .. } => None,
    });
    let text = texts.collect::<String>();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Resolves the URL in an attribute, and removes a `data:` URL.
fn resolve_link(attributes: &std::cell::RefCell<Vec<html5ever::Attribute>>, name: &str, base: Option<&Url>) {
    for attribute in attributes.borrow_mut().iter_mut().filter(|attribute| &*attribute.name.local == name) {
        let url = match attribute.value.trim() {
            data if data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) => String::new(),
            // A fragment on the same page.
            fragment if fragment.starts_with('#') => continue,
            relative => match base.map(|base| base.join(relative)) {
                Some(Ok(url)) if url.as_str().len() <= MAX_URL_BYTES => url.into(),
                Some(Ok(_) | Err(_)) | None => continue,
            },
        };
        attribute.value = url.into();
    }
}

#[cfg(test)]
#[path = "html_test.rs"]
mod tests;
