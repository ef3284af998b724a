//! Redirections: files that a command reads or writes, and here-documents.
//!
//! The grammar attaches words and whole commands to redirections; this module moves them to their commands. A
//! here-document is parsed a second time, line by line as bash does, and refused if the two results differ.

use tree_sitter::Node;

use super::Unanalyzable;
use super::walk::{BASH_ONLY, SimpleCommand, UNSUPPORTED_SYNTAX, Walk};
use super::word::Word;

/// A redirection from or to a file. Redirections between descriptors and to `/dev/null` are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
}

impl Walk<'_> {
    pub(super) fn walk_redirected_statement(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut simple = SimpleCommand::default();
        let mut body = None;
        for child in self.children(node) {
            match child.kind() {
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
                _ if child.is_named() && body.is_none() => body = Some(child),
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        let is_simple_command = match body {
            Some(body) => {
                self.walk_statement(body)?;
                body.kind() == "command"
            }
            None => false,
        };
        // More words of a simple command may follow its redirections.
        if is_simple_command {
            simple = self.commands.pop().ok_or(UNSUPPORTED_SYNTAX)?;
        }
        let word_count = simple.words.len();
        for child in self.children(node) {
            if child.kind().ends_with("_redirect") {
                self.walk_redirect(child, &mut simple)?;
            }
        }
        if !is_simple_command && simple.words.len() != word_count {
            return Err(UNSUPPORTED_SYNTAX);
        }
        self.push(simple);
        Ok(())
    }

    pub(super) fn walk_redirect(
        &mut self,
        node: Node<'_>,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        match node.kind() {
            "file_redirect" => self.walk_file_redirect(node, simple),
            "herestring_redirect" => {
                if self.posix {
                    return Err(BASH_ONLY);
                }
                for child in self.children(node) {
                    match child.kind() {
                        "<<<" | "file_descriptor" => {}
                        _ if child.is_named() => {
                            self.parse_word(child)?;
                        }
                        _ => return Err(UNSUPPORTED_SYNTAX),
                    }
                }
                Ok(())
            }
            "heredoc_redirect" => self.walk_heredoc_redirect(node, simple),
            _ => Err(UNSUPPORTED_SYNTAX),
        }
    }

    pub(super) fn walk_file_redirect(
        &mut self,
        node: Node<'_>,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        let mut operator = "";
        let mut target = None;
        for child in self.children(node) {
            match child.kind() {
                "file_descriptor" => {}
                "<" | ">" | ">>" | "&>" | "&>>" | "<&" | ">&" | ">|" | "<&-" | ">&-" => {
                    operator = child.kind()
                }
                _ if child.is_named() => {
                    let word = self.parse_word(child)?;
                    if target.is_none() && !operator.ends_with('-') {
                        target = Some(word);
                    } else {
                        // The grammar attaches every following word to the redirection.
                        simple.words.push(word);
                    }
                }
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        // In `{name}>file` the name of the descriptor looks like an argument.
        if self.text.get(..node.start_byte()).is_some_and(|before| before.ends_with('}')) {
            return Err(Unanalyzable("an unusual redirection"));
        }
        if operator.starts_with('&') && self.posix {
            return Err(BASH_ONLY);
        }
        let Some(target) = target else {
            return if operator.ends_with('-') { Ok(()) } else { Err(UNSUPPORTED_SYNTAX) };
        };
        if target.has_glob {
            return Err(Unanalyzable("a redirection to a pattern"));
        }
        if operator.ends_with('&') {
            let is_descriptor = target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit());
            if is_descriptor && target.is_known() {
                return Ok(());
            }
            if operator == "<&" || !target.is_known() {
                return Err(Unanalyzable("an unusual redirection"));
            }
        }
        if !target.is_known() && target.may_split {
            return Err(Unanalyzable("a redirection to a file that is not known"));
        }
        let is_file = target.text != "/dev/null" && !target.is_process_substitution;
        if is_file {
            simple.redirects.push(Redirect { writes: operator != "<", target });
        }
        Ok(())
    }

    /// Walks `<<END` with everything that the grammar attaches to it: the rest of its line, the lines of the document, and the line that ends it.
    fn walk_heredoc_redirect(
        &mut self,
        node: Node<'_>,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        const AMBIGUOUS: Unanalyzable = Unanalyzable("a here-document that shells read in different ways");
        let children = self.children(node);
        let find = |kind: &str| children.iter().find(|child| child.kind() == kind).copied().ok_or(AMBIGUOUS);
        let (start, body, end) = (find("heredoc_start")?, find("heredoc_body")?, find("heredoc_end")?);
        let delimiter = self.source(start);
        let quoted =
            ['\'', '"'].iter().find_map(|quote| delimiter.strip_prefix(*quote)?.strip_suffix(*quote));
        let name = quoted.unwrap_or(delimiter);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(AMBIGUOUS);
        }
        // Bash reads from the next line up to the first line that equals the delimiter.
        let line_end = self.text.get(start.end_byte()..).and_then(|rest| rest.find('\n')).ok_or(AMBIGUOUS)?
            + start.end_byte();
        let strips_tabs = children.iter().any(|child| child.kind() == "<<-");
        let mut at = line_end + 1;
        let lines = self.text.get(at..).ok_or(AMBIGUOUS)?.split_inclusive('\n');
        let mut end_line = None;
        for line in lines {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let stripped = if strips_tabs { bare.trim_start_matches('\t') } else { bare };
            if stripped == name {
                end_line = Some(at..at + bare.len());
                break;
            }
            at += line.len();
        }
        let end_line = end_line.ok_or(AMBIGUOUS)?;
        let is_blank = |range: std::ops::Range<usize>| {
            self.text.get(range).is_some_and(|gap| gap.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\n')))
        };
        let before_body = line_end + 1..body.start_byte().max(line_end + 1);
        if end_line.end != end.end_byte()
            || end.start_byte() < end_line.start
            || body.end_byte() > end.start_byte()
            || (body.start_byte() < line_end)
            || !is_blank(before_body)
            || !is_blank(body.end_byte().max(line_end + 1)..end.start_byte().max(line_end + 1))
        {
            return Err(AMBIGUOUS);
        }
        if quoted.is_none() {
            self.walk_here_document(body)?;
        }
        for child in children {
            match child.kind() {
                "<<" | "<<-" | "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor"
                | "\n" => continue,
                _ => {}
            }
            if child.end_byte() > line_end {
                return Err(AMBIGUOUS);
            }
            match child.kind() {
                "&&" | "||" => {}
                "file_redirect" | "herestring_redirect" => self.walk_redirect(child, simple)?,
                // `cat <<END | grep x`: the other side of the pipe.
                "pipeline" => self.walk_pipeline(child)?,
                _ if !child.is_named() => return Err(UNSUPPORTED_SYNTAX),
                kind if is_statement(kind) => self.walk_statement(child)?,
                _ => simple.words.push(self.parse_word(child)?),
            }
        }
        Ok(())
    }
}

fn is_statement(kind: &str) -> bool {
    kind.ends_with("_statement")
        || matches!(
            kind,
            "command"
                | "list"
                | "pipeline"
                | "subshell"
                | "negated_command"
                | "test_command"
                | "variable_assignment"
                | "variable_assignments"
                | "declaration_command"
                | "unset_command"
                | "function_definition"
        )
}
