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

/// Elements that hold nothing to read.
const SKIPPED: [&str; 9] =
    ["script", "style", "noscript", "template", "iframe", "svg", "canvas", "object", "head"];
/// Levels of elements that are walked; honest pages have some dozens.
const DEPTH: usize = 200;
/// Levels at which the parser stops: it looks through all of them at each tag.
const PARSED_DEPTH: usize = 10 * DEPTH;
/// Nodes that are walked; they make far more text than a model is given.
const NODES: usize = 100_000;
/// Enough for `DEPTH` levels of the converter's recursion.
const STACK: usize = 16 * 1024 * 1024;
/// Bytes between two looks at how deep it is and whether anybody waits.
const CHUNK: usize = 4 * 1024;

/// Converts a page; links are made whole by `base`. Cancel safe: dropping the future ends the work soon.
///
/// # Errors
/// One sentence.
pub(crate) async fn markdown(html: String, base: Option<Url>) -> Result<String, String> {
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

fn convert(html: &str, base: Option<&Url>, waiting: &AtomicBool) -> Result<String, String> {
    let options = TreeBuilderOpts { scripting_enabled: true, ..TreeBuilderOpts::default() };
    let mut parser =
        parse_document(RcDom::default(), ParseOpts { tree_builder: options, ..ParseOpts::default() });
    let mut left = html;
    while !left.is_empty() {
        if !waiting.load(Ordering::Relaxed) {
            return Err("nobody waits any more".to_owned());
        }
        let (chunk, rest) = left.split_at(left.floor_char_boundary(CHUNK));
        parser.process(StrTendril::from(chunk));
        left = if depth_of_end(&parser.tokenizer.sink.sink.document) < PARSED_DEPTH { rest } else { "" };
    }
    let document = parser.finish().document;
    let title = trim(&document, base);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = htmd::HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.to_vec()).build();
    let body = converter.tree_to_markdown(&document);
    Ok(match title {
        Some(title) if !body.starts_with("# ") => format!("# {title}\n\n{body}"),
        Some(_) | None => body,
    })
}

/// The levels above what was parsed last.
fn depth_of_end(document: &Rc<Node>) -> usize {
    let last = |node: &Rc<Node>| node.children.borrow().last().cloned();
    std::iter::successors(last(document), last).count()
}

/// Leaves out what is too deep or too much, makes links whole, and gives the title.
fn trim(document: &Rc<Node>, base: Option<&Url>) -> Option<String> {
    let mut title = None;
    let mut seen = 0;
    let mut open = vec![(Rc::clone(document), 0)];
    while let Some((node, depth)) = open.pop() {
        seen += 1;
        let mut children = node.children.borrow_mut();
        if depth >= DEPTH || seen >= NODES {
            children.clear();
            continue;
        }
        if let NodeData::Element { name, attrs, .. } = &node.data {
            match &*name.local {
                "title" if title.is_none() => title = text_of(&children),
                "a" => link(attrs, "href", base),
                "img" => link(attrs, "src", base),
                _ => {}
            }
        }
        children.truncate(NODES - seen);
        // The first child is looked at first, so that what is left out is the end of the page.
        open.extend(children.iter().rev().map(|child| (Rc::clone(child), depth + 1)));
    }
    title
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
                Some(Ok(whole)) => whole.into(),
                Some(Err(_)) | None => continue,
            },
        };
        attribute.value = whole.into();
    }
}

#[cfg(test)]
#[path = "html_test.rs"]
mod tests;
