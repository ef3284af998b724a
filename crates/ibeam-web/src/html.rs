//! HTML as Markdown.
//!
//! A page may be made to hurt whoever converts it: nested so deep that a stack ends, or so tangled that time does. So
//! the parser stops at a depth that no honest page has, the tree is trimmed before the converter walks it, and both
//! happen on a thread of their own that gives up when nobody waits any more.

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

use crate::table::{name, table};

/// Elements that hold nothing to read.
const SKIPPED: [&str; 9] =
    ["script", "style", "noscript", "template", "iframe", "svg", "canvas", "object", "head"];
/// Elements that begin each line inside them anew, so that their depth multiplies what is in them.
const INDENTING: [&str; 4] = ["blockquote", "ul", "ol", "li"];
/// Levels that are walked, an indenting one counted as `INDENT`; honest pages have some dozens.
const DEPTH: usize = 200;
const INDENT: usize = 8;
/// Levels at which the parser stops: it looks through all of them at each tag.
const PARSED_DEPTH: usize = 10 * DEPTH;
/// Nodes that are walked; they make far more text than a model is given.
const NODES: usize = 100_000;
/// Tags that are parsed, half of them closing ones: a node takes a hundred times the memory of its tag.
const TAGS: usize = 2 * NODES;
/// Bytes of text that are walked.
const TEXT: usize = 1024 * 1024;
/// Bytes of an address that is made whole.
const ADDRESS: usize = 2048;
/// Enough for `DEPTH` levels of the converter's recursion.
const STACK: usize = 16 * 1024 * 1024;
/// Bytes between two looks at how deep it is and whether anybody waits.
const CHUNK: usize = 4 * 1024;

/// A page in Markdown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Markdown {
    pub(crate) text: String,
    /// Nothing was left out because there was too much of it.
    pub(crate) whole: bool,
}

/// Converts a page; links are made whole by `base`. Cancel safe: dropping the future ends the work soon.
///
/// # Errors
/// One sentence.
pub(crate) async fn markdown(html: String, base: Option<Url>) -> Result<Markdown, String> {
    let waiting = Arc::new(AtomicBool::new(true));
    let _given_up = GivesUp(Arc::clone(&waiting));
    let (sender, receiver) = oneshot::channel();
    let work = move || drop(sender.send(convert(&html, base.as_ref(), &waiting)));
    let thread = std::thread::Builder::new().name("html".to_owned()).stack_size(STACK).spawn(work);
    thread.map_err(|error| error.to_string())?;
    receiver.await.map_err(|error| error.to_string())?
}

struct GivesUp(Arc<AtomicBool>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn convert(html: &str, base: Option<&Url>, waiting: &AtomicBool) -> Result<Markdown, String> {
    let options = TreeBuilderOpts { scripting_enabled: true, ..TreeBuilderOpts::default() };
    let mut parser =
        parse_document(RcDom::default(), ParseOpts { tree_builder: options, ..ParseOpts::default() });
    let (mut left, mut tags) = (html, 0);
    while !left.is_empty() {
        if !waiting.load(Ordering::Relaxed) {
            return Err("nobody waits any more".to_owned());
        }
        let (chunk, rest) = left.split_at(left.floor_char_boundary(CHUNK));
        tags += chunk.bytes().filter(|byte| *byte == b'<').count();
        parser.process(StrTendril::from(chunk));
        left = rest;
        if tags > TAGS || depth_of_end(&parser.tokenizer.sink.sink.document) > PARSED_DEPTH {
            break;
        }
    }
    let document = parser.finish().document;
    let trimmed = trim(&document, base);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = htmd::HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.to_vec());
    let body = converter.add_handler(vec!["table"], table).build().tree_to_markdown(&document);
    let text = match trimmed.title {
        Some(title) if !body.starts_with("# ") => format!("# {title}\n\n{body}"),
        Some(_) | None => body,
    };
    Ok(Markdown { text, whole: trimmed.whole && left.is_empty() })
}

/// The levels above what was parsed last.
fn depth_of_end(document: &Rc<Node>) -> usize {
    let last = |node: &Rc<Node>| node.children.borrow().last().cloned();
    std::iter::successors(last(document), last).count()
}

struct Trimmed {
    title: Option<String>,
    whole: bool,
}

/// Leaves out what is too deep or too much, makes links whole, and finds the title.
fn trim(document: &Rc<Node>, base: Option<&Url>) -> Trimmed {
    let mut trimmed = Trimmed { title: None, whole: true };
    let (mut nodes, mut text) = (0, 0);
    let mut open = vec![(Rc::clone(document), 0)];
    while let Some((node, depth)) = open.pop() {
        nodes += 1;
        let mut children = node.children.borrow_mut();
        let name = name(&node);
        match &node.data {
            NodeData::Element { attrs, .. } => match name {
                "title" if trimmed.title.is_none() => trimmed.title = text_of(&children),
                "a" => link(attrs, "href", base),
                "img" => link(attrs, "src", base),
                _ => {}
            },
            NodeData::Text { contents } => {
                text += contents.borrow().len();
                if text > TEXT {
                    contents.borrow_mut().clear();
                    trimmed.whole = false;
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
        let room = if depth < DEPTH { NODES.saturating_sub(nodes) } else { 0 };
        trimmed.whole &= children.len() <= room;
        children.truncate(room);
        let below = depth + if INDENTING.contains(&name) { INDENT } else { 1 };
        // The first child is looked at first, so that what is left out is the end of the page.
        open.extend(children.iter().rev().map(|child| (Rc::clone(child), below)));
    }
    trimmed
}

/// The text of a title, on one line.
fn text_of(children: &[Rc<Node>]) -> Option<String> {
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

/// Makes the address in an attribute whole, and drops one that is data instead of an address.
fn link(attributes: &std::cell::RefCell<Vec<html5ever::Attribute>>, name: &str, base: Option<&Url>) {
    for attribute in attributes.borrow_mut().iter_mut().filter(|attribute| &*attribute.name.local == name) {
        let whole = match attribute.value.trim() {
            data if data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) => String::new(),
            // A place on the same page.
            place if place.starts_with('#') => continue,
            relative => match base.map(|base| base.join(relative)) {
                Some(Ok(whole)) if whole.as_str().len() <= ADDRESS => whole.into(),
                Some(Ok(_) | Err(_)) | None => continue,
            },
        };
        attribute.value = whole.into();
    }
}

#[cfg(test)]
#[path = "html_test.rs"]
mod tests;
