//! Conversion of HTML tables to Markdown tables.
//!
//! Cells are not padded to the widest, because one long cell in a long table would give gigabytes of spaces. A table
//! without a header is mostly used for layout, and a table inside a cell cannot be written in Markdown: only their
//! content is kept.

use std::rc::Rc;

use htmd::Element;
use htmd::element_handler::{HandlerResult, Handlers};
use markup5ever_rcdom::{Node, NodeData};

/// Converts the element `table`.
pub(crate) fn table_handler(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let parts = TableParts::from_node(element.node);
    if !parts.has_header || is_in_cell(element.node) {
        let content = handlers.walk_children(element.node).content;
        return Some(format!("\n\n{}\n\n", content.trim_matches('\n')).into());
    }
    let mut table = String::from("\n\n");
    for caption in &parts.captions {
        table.push_str(&text_on_one_line(handlers, caption));
        table.push_str("\n\n");
    }
    for (number, row) in parts.rows.iter().enumerate() {
        table.push('|');
        for cell in row {
            table.push_str(&format!(" {} |", text_on_one_line(handlers, cell).replace('|', "\\|")));
        }
        table.push('\n');
        if number == 0 {
            table.push_str(&format!("|{}\n", " - |".repeat(row.len())));
        }
    }
    table.push('\n');
    Some(table.into())
}

/// The captions and rows of a table.
#[derive(Default)]
struct TableParts {
    captions: Vec<Rc<Node>>,
    /// The rows that have cells.
    rows: Vec<Vec<Rc<Node>>>,
    has_header: bool,
}

impl TableParts {
    fn from_node(table: &Rc<Node>) -> Self {
        let mut parts = Self::default();
        for child in table.children.borrow().iter() {
            match element_name(child) {
                "caption" => parts.captions.push(Rc::clone(child)),
                "thead" => {
                    parts.has_header = true;
                    parts.add_rows(child);
                }
                "tbody" | "tfoot" => parts.add_rows(child),
                _ => {}
            }
        }
        parts
    }

    fn add_rows(&mut self, group: &Rc<Node>) {
        for row in group.children.borrow().iter().filter(|child| element_name(child) == "tr") {
            let is_cell = |child: &&Rc<Node>| matches!(element_name(child), "td" | "th");
            let cells: Vec<_> = row.children.borrow().iter().filter(is_cell).cloned().collect();
            self.has_header |= cells.iter().any(|cell| element_name(cell) == "th");
            if !cells.is_empty() {
                self.rows.push(cells);
            }
        }
    }
}

fn text_on_one_line(handlers: &dyn Handlers, node: &Rc<Node>) -> String {
    handlers.walk_children(node).content.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_in_cell(table: &Rc<Node>) -> bool {
    std::iter::successors(parent(table), parent).any(|above| matches!(element_name(&above), "td" | "th"))
}

/// Returns the parent of a node. The parent is in a `Cell`, so it is taken out and put back.
fn parent(node: &Rc<Node>) -> Option<Rc<Node>> {
    let weak_parent = node.parent.take();
    let parent = weak_parent.as_ref().and_then(|parent| parent.upgrade());
    node.parent.set(weak_parent);
    parent
}

/// Returns the name of an element, and an empty text for other nodes.
pub(crate) fn element_name(node: &Rc<Node>) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        NodeData::Document
        | NodeData::Doctype { .. }
        | NodeData::Text { .. }
        | NodeData::Comment { .. }
        | NodeData::ProcessingInstruction { .. } => "",
    }
}
