//! Parses a text into a syntax tree that bash would read in the same way, or returns why that is uncertain.
//!
//! The grammar is that of tree-sitter. It was made for editors: it skips what it does not need, and joins or splits
//! words where bash would not. So every byte between two nodes must be a blank that bash skips too. Everything that the
//! grammar is known to read differently is refused here: line continuations between words, carriage returns, control
//! characters, here-documents with an ambiguous end. Source for bash: its manual, and `tests/policy/differential.rs`.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};

use super::Unanalyzable;

/// Maximum length of a text in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Calls of the parser's progress callback for an ordinary text, in addition to one per byte.
const BASE_PARSE_STEPS: usize = 1000;
/// Maximum depth of a tree. Lists joined by `&&` and `||` count once.
const MAX_TREE_DEPTH: u32 = 500;
/// The grammar's scanner counts open here-documents in one byte.
const MAX_HERE_DOCUMENTS: usize = 100;

/// Parses `text` into a tree without errors.
///
/// # Errors
/// Why the text cannot be parsed, or why bash may read it differently.
pub(super) fn parse(text: &str) -> Result<Tree, Unanalyzable> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Unanalyzable("more text than can be checked"));
    }
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Unanalyzable("a control character"));
    }
    if text.matches("<<").count() > MAX_HERE_DOCUMENTS {
        return Err(Unanalyzable("more here-documents than can be checked"));
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .map_err(|_| Unanalyzable("no grammar to read it"))?;
    let mut steps = BASE_PARSE_STEPS + text.len();
    let mut progress = |state: &tree_sitter::ParseState| {
        steps = steps.saturating_sub(1);
        if steps == 0 || state.has_error() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The grammar's scanner passes whole characters to C's `isdigit`, which reads beyond its table for most of them.
    // For bash non-ASCII characters are parts of words, like any other character without a special meaning.
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'%' }).collect();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options)).ok_or(SYNTAX)?;
    if tree.root_node().has_error() {
        return Err(SYNTAX);
    }
    check_gaps(text, &mut tree.walk())?;
    Ok(tree)
}

const SYNTAX: Unanalyzable = Unanalyzable("a syntax error, or syntax that is not understood");

/// The text that is allowed between two children of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Blanks and line ends.
    Lines,
    Blanks,
    /// No text: the node is one word.
    None,
    /// Any text: the code for this node checks the whole text.
    Any,
}

/// Returns the text that is allowed between the children of a node of this kind.
fn allowed_gap(kind: &str) -> Gap {
    match kind {
        "program"
        | "list"
        | "pipeline"
        | "compound_statement"
        | "subshell"
        | "do_group"
        | "if_statement"
        | "elif_clause"
        | "else_clause"
        | "while_statement"
        | "case_statement"
        | "case_item"
        | "command_substitution"
        | "process_substitution"
        | "function_definition"
        | "array"
        | "heredoc_redirect" => Gap::Lines,
        "string" | "heredoc_body" | "expansion" | "arithmetic_expansion" | "c_style_for_statement" => {
            Gap::Any
        }
        "binary_expression"
        | "unary_expression"
        | "postfix_expression"
        | "ternary_expression"
        | "parenthesized_expression" => Gap::Blanks,
        "concatenation"
        | "variable_assignment"
        | "simple_expansion"
        | "number"
        | "subscript"
        | "command_name"
        | "brace_expression" => Gap::None,
        _ => Gap::Blanks,
    }
}

/// Refuses a tree in which the grammar skipped something that bash would not skip, or split one word into two.
fn check_gaps(text: &str, cursor: &mut TreeCursor<'_>) -> Result<(), Unanalyzable> {
    let root = cursor.node();
    // Text outside the root was skipped too.
    let outside = [text.get(..root.start_byte()), text.get(root.end_byte()..)];
    if outside.iter().any(|part| part.is_none_or(|part| !part.bytes().all(is_blank_or_line))) {
        return Err(SKIPPED);
    }
    let mut depth: u32 = 0;
    loop {
        let node = cursor.node();
        let kind = allowed_gap(node.kind());
        let mut end = node.start_byte();
        let mut last: Option<Node<'_>> = None;
        if cursor.goto_first_child() {
            // Lists are left-leaning, with one level per `&&`; they are walked without recursion.
            depth += u32::from(node.kind() != "list");
            if depth > MAX_TREE_DEPTH {
                return Err(Unanalyzable("commands nested too deeply"));
            }
            loop {
                let child = cursor.node();
                check_gap(text, kind, end..child.start_byte(), last, child)?;
                if child.kind() != "comment" {
                    last = Some(child);
                }
                end = child.end_byte();
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            check_gap(text, kind, end..node.end_byte(), None, node)?;
            // The cursor is at the last child now. Go to the first child, whose own children come next.
            cursor.goto_parent();
            cursor.goto_first_child();
            continue;
        }
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() || cursor.node().id() == root.id() {
                return Ok(());
            }
            depth -= u32::from(cursor.node().kind() != "list");
        }
    }
}

const SKIPPED: Unanalyzable =
    Unanalyzable("a line continuation or a blank that shells read in different ways");

/// Checks the text in `range`, which is between two children of a node, or after the last child.
fn check_gap(
    text: &str,
    gap: Gap,
    range: std::ops::Range<usize>,
    before: Option<Node<'_>>,
    after: Node<'_>,
) -> Result<(), Unanalyzable> {
    let between = text.get(range).ok_or(SKIPPED)?.as_bytes();
    let plain = match gap {
        Gap::Lines => between.iter().copied().all(is_blank_or_line),
        // `for x in a b` ends with its line; `do` may be on a later line.
        Gap::Blanks if after.kind() == "do_group" => between.iter().copied().all(is_blank_or_line),
        Gap::Blanks => between.iter().all(|byte| matches!(byte, b' ' | b'\t')),
        Gap::None => between.is_empty(),
        Gap::Any => true,
    };
    if !plain {
        return Err(SKIPPED);
    }
    let is_word = |node: Node<'_>| node.is_named() && !node.kind().ends_with("_redirect");
    let is_split_word = between.is_empty()
        && matches!(gap, Gap::Lines | Gap::Blanks)
        && before.is_some_and(is_word)
        && is_word(after)
        && !matches!(after.kind(), "heredoc_body" | "heredoc_end" | "do_group")
        && before.is_some_and(|before| !matches!(before.kind(), "file_descriptor" | "heredoc_body"));
    if is_split_word { Err(Unanalyzable("words that shells split in different ways")) } else { Ok(()) }
}

fn is_blank_or_line(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}
