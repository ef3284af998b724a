//! Lists the simple commands of a syntax tree: words, redirections and assignments in the order of the text.
//!
//! Only supported kinds of nodes are accepted; all others are refused. Bodies of functions and branches are included
//! whether they run or not.

use tree_sitter::Node;

use super::redirect::Redirect;
use super::variables::WordLoop;
use super::word::Word;
use super::{Unanalyzable, grammar, hazard};

/// A command with its arguments. `words` is empty for a bare redirection or assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Variables set for this command, or from here on, that programs may read.
    pub(crate) assigned_variables: Vec<String>,
    /// Whether the command is `export` with assignments only.
    pub(crate) is_export: bool,
    /// Whether the command certainly calls a function of the text.
    pub(crate) calls_function: bool,
    /// Whether the command may run again, in a loop or a function, so that its changes affect earlier commands.
    pub(crate) may_repeat: bool,
}

impl SimpleCommand {
    /// Whether the command may run a program: all but assignments and built-ins that only print.
    pub(crate) fn may_run_program(&self) -> bool {
        const PRINTING: &[&str] = &["echo", "printf", "pwd", "true", "false", ":"];
        let prints =
            |word: &Word| word.is_known() && !word.has_glob && PRINTING.contains(&word.text.as_str());
        self.calls_function || !self.words.first().is_none_or(prints)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) commands: Vec<SimpleCommand>,
    /// Whether the text defines functions, whose commands run later than their position.
    pub(crate) defines_functions: bool,
}

/// Maximum depth of the walk.
const MAX_DEPTH: u32 = 60;

/// Words that begin or join compound commands at the position of a program's name.
pub(super) const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select",
    "in", "function", "coproc", "{", "}", "[[", "]]", "!",
];

pub(super) const UNSUPPORTED_SYNTAX: Unanalyzable = Unanalyzable("syntax that is not understood");
pub(super) const BASH_ONLY: Unanalyzable = Unanalyzable("syntax that only bash has");

/// Parses `text`. `posix` means that a shell other than bash may run the text.
///
/// # Errors
/// The first part that cannot be analyzed.
pub(crate) fn parse_script(text: &str, posix: bool) -> Result<Script, Unanalyzable> {
    let tree = grammar::parse(text)?;
    let mut walk = Walk::new(text, posix);
    walk.walk_block(tree.root_node(), true)?;
    walk.check_arithmetic_variables()?;
    walk.replace_variables();
    Ok(Script { commands: walk.commands, defines_functions: walk.defines_functions })
}

/// The state of a walk over the syntax tree of one text.
pub(super) struct Walk<'t> {
    pub(super) text: &'t str,
    /// Whether a shell other than bash may run the text.
    pub(super) posix: bool,
    depth: u32,
    pub(super) commands: Vec<SimpleCommand>,
    /// Functions that are certainly defined at the current position.
    defined_functions: Vec<String>,
    defines_functions: bool,
    in_function: bool,
    in_loop: bool,
    /// Variables used in arithmetic.
    pub(super) arithmetic_variables: Vec<String>,
    /// Variables whose value may not be a number; `*` means all variables.
    pub(super) non_numeric_variables: Vec<String>,
    /// Assigned variables, once per assignment.
    pub(super) assignments: Vec<String>,
    /// Loops over words, in the order of the text.
    pub(super) loops: Vec<WordLoop>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str, posix: bool) -> Self {
        Self {
            text,
            posix,
            depth: 0,
            commands: Vec::new(),
            defined_functions: Vec::new(),
            defines_functions: false,
            in_function: false,
            in_loop: false,
            arithmetic_variables: Vec::new(),
            non_numeric_variables: Vec::new(),
            assignments: Vec::new(),
            loops: Vec::new(),
        }
    }

    pub(super) fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or("\0")
    }

    /// Returns the children without comments.
    #[allow(clippy::unused_self, reason = "called like the other methods of the walk")]
    pub(super) fn children<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let mut cursor = node.walk();
        node.children(&mut cursor).filter(|child| child.kind() != "comment").collect()
    }

    /// Counts one more level of nesting.
    pub(super) fn enter(&mut self) -> Result<(), Unanalyzable> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Unanalyzable("commands nested too deeply")) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Walks a sequence of statements: a program, a body, the content of brackets. `top` means that the sequence
    /// certainly runs, in this shell.
    fn walk_block(&mut self, node: Node<'_>, top: bool) -> Result<(), Unanalyzable> {
        self.enter()?;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "comment" => self.check_comment(child)?,
                "function_definition" => {
                    let name = self.walk_function(child)?;
                    if top {
                        self.defined_functions.push(name);
                    }
                }
                _ if child.is_named() => self.walk_statement(child)?,
                // In the grammar `;;` ends a statement; in bash it does so only within `case`.
                ";" | "&" | "\n" | "(" | ")" | "$(" | "<(" | ">(" | "do" | "done" | "{" | "}" | "if"
                | "then" | "elif" | "else" | "fi" | "while" | "until" | "`" => {}
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        self.leave();
        Ok(())
    }

    /// Checks that a comment begins where a word could begin.
    fn check_comment(&self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let before = self.text.get(..node.start_byte()).and_then(|text| text.chars().last());
        let plain = before.is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')'));
        if plain { Ok(()) } else { Err(Unanalyzable("a comment that is not plain")) }
    }

    fn check_comments(&self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut cursor = node.walk();
        node.children(&mut cursor)
            .filter(|child| child.kind() == "comment")
            .try_for_each(|child| self.check_comment(child))
    }

    pub(super) fn walk_statement(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        self.enter()?;
        self.check_comments(node)?;
        match node.kind() {
            "command" => self.walk_command(node)?,
            "variable_assignment" => {
                let mut simple = SimpleCommand::default();
                self.walk_assignment(node, false, &mut simple)?;
                self.push(simple);
            }
            "variable_assignments" => {
                let mut simple = SimpleCommand::default();
                for child in self.children(node) {
                    self.walk_assignment(child, false, &mut simple)?;
                }
                self.push(simple);
            }
            "declaration_command" => self.walk_declaration(node)?,
            "unset_command" => {
                let mut simple = SimpleCommand::default();
                self.push_words(self.children(node), &mut simple)?;
                self.defined_functions.clear();
                self.push(simple);
            }
            "test_command" => self.walk_test_command(node)?,
            "redirected_statement" => self.walk_redirected_statement(node)?,
            "list" => self.walk_list(node)?,
            "pipeline" => self.walk_pipeline(node)?,
            "negated_command" => match self.children(node).as_slice() {
                [bang, command] if self.source(*bang) == "!" && bang.end_byte() < command.start_byte() => {
                    self.walk_statement(*command)?;
                }
                _ => return Err(UNSUPPORTED_SYNTAX),
            },
            "subshell" => {
                if self.source(node).starts_with("((") {
                    return Err(Unanalyzable("brackets that shells read in different ways"));
                }
                self.walk_subshell(node)?;
            }
            "compound_statement" => self.walk_compound(node)?,
            "if_statement" | "elif_clause" | "else_clause" => self.walk_block(node, false)?,
            "while_statement" => self.walk_in_loop(|walk| walk.walk_block(node, false))?,
            "do_group" => self.walk_block(node, false)?,
            "for_statement" => self.walk_for_loop(node)?,
            "c_style_for_statement" => self.walk_c_style_for(node)?,
            "case_statement" => self.walk_case(node)?,
            "function_definition" => {
                self.walk_function(node)?;
            }
            _ => return Err(UNSUPPORTED_SYNTAX),
        }
        self.leave();
        Ok(())
    }

    /// Adds a command at the current position.
    pub(super) fn push(&mut self, mut simple: SimpleCommand) {
        simple.may_repeat = self.in_loop || self.in_function;
        self.commands.push(simple);
    }

    fn walk_in_loop(
        &mut self,
        walk: impl FnOnce(&mut Self) -> Result<(), Unanalyzable>,
    ) -> Result<(), Unanalyzable> {
        let outer = std::mem::replace(&mut self.in_loop, true);
        walk(self)?;
        self.in_loop = outer;
        Ok(())
    }

    /// Walks a subshell, whose changes of directory end with it.
    fn walk_subshell(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let outer = std::mem::replace(&mut self.in_loop, false);
        self.walk_block(node, false)?;
        self.in_loop = outer;
        Ok(())
    }

    /// Walks `$(…)`, `` `…` ``, `<(…)` or `>(…)`.
    pub(super) fn walk_substitution(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let source = self.source(node);
        if source.starts_with("$((") || source.starts_with("$`") {
            return Err(Unanalyzable("brackets that shells read in different ways"));
        }
        if source.starts_with('`') && (source.matches('`').count() != 2 || source.contains(['\\', '"', '\'']))
        {
            return Err(Unanalyzable("a backquote that shells read in different ways"));
        }
        if let [_, redirect, _] = self.children(node).as_slice()
            && redirect.kind() == "file_redirect"
        {
            let mut simple = SimpleCommand::default();
            self.walk_file_redirect(*redirect, &mut simple)?;
            self.push(simple);
            return Ok(());
        }
        self.walk_subshell(node)
    }

    /// Walks `a && b || c`. The tree is left-leaning and may have thousands of levels, so this is a loop.
    fn walk_list(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut parts = Vec::new();
        let mut rest = node;
        while rest.kind() == "list" {
            self.check_comments(rest)?;
            let [left, operator, right] =
                <[Node<'_>; 3]>::try_from(self.children(rest)).map_err(|_| UNSUPPORTED_SYNTAX)?;
            self.check_operator_line(left, operator)?;
            parts.push(right);
            rest = left;
        }
        parts.push(rest);
        parts.into_iter().rev().try_for_each(|part| self.walk_statement(part))
    }

    /// Walks `a | b`.
    pub(super) fn walk_pipeline(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut before: Option<Node<'_>> = None;
        for child in self.children(node) {
            if child.is_named() {
                self.walk_statement(child)?;
                before = Some(child);
                continue;
            }
            if child.kind() == "|&" && self.posix {
                return Err(BASH_ONLY);
            }
            if let Some(before) = before {
                self.check_operator_line(before, child)?;
            }
        }
        Ok(())
    }

    /// Checks that an operator is on the same line as the command before it.
    fn check_operator_line(&self, before: Node<'_>, operator: Node<'_>) -> Result<(), Unanalyzable> {
        let between = self.text.get(before.end_byte()..operator.start_byte()).unwrap_or("\n");
        if between.contains('\n') || !matches!(operator.kind(), "&&" | "||" | "|" | "|&") {
            Err(UNSUPPORTED_SYNTAX)
        } else {
            Ok(())
        }
    }

    /// Walks `{ …; }` or `((…))`.
    fn walk_compound(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let source = self.source(node);
        if let Some(inner) = source.strip_prefix("((") {
            if self.posix {
                return Err(BASH_ONLY);
            }
            return self.check_arithmetic(inner.strip_suffix("))").ok_or(UNSUPPORTED_SYNTAX)?);
        }
        let inner =
            source.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).ok_or(UNSUPPORTED_SYNTAX)?;
        let closes = inner.trim_end_matches([' ', '\t']).ends_with([';', '\n', '&']);
        if !inner.starts_with([' ', '\t', '\n']) || !closes {
            return Err(Unanalyzable("braces that shells read in different ways"));
        }
        self.walk_block(node, false)
    }

    /// Walks the definition of a function. Returns its name.
    fn walk_function(&mut self, node: Node<'_>) -> Result<String, Unanalyzable> {
        let children = self.children(node);
        let name = children
            .iter()
            .find(|child| child.kind() == "word")
            .map(|name| self.source(*name))
            .ok_or(UNSUPPORTED_SYNTAX)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.chars().all(plain) || name.starts_with('-') || RESERVED.contains(&name) {
            return Err(Unanalyzable("a function with a name that is not plain"));
        }
        if hazard::is_listed(&name.to_lowercase()) {
            return Err(Unanalyzable("a function with the name of a program"));
        }
        self.defines_functions = true;
        let outer = std::mem::replace(&mut self.in_function, true);
        for child in children {
            match child.kind() {
                "word" | "(" | ")" => {}
                "function" if !self.posix => {}
                "compound_statement" | "subshell" => self.walk_statement(child)?,
                "file_redirect" | "herestring_redirect" => {
                    let mut simple = SimpleCommand::default();
                    self.walk_redirect(child, &mut simple)?;
                    self.push(simple);
                }
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        self.in_function = outer;
        Ok(name.to_owned())
    }

    fn walk_for_loop(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let (mut variable, mut values) = ("", Vec::new());
        for child in self.children(node) {
            match child.kind() {
                "for" | "in" | ";" | "\n" => {}
                "variable_name" => {
                    let name = self.source(child);
                    let mut simple = SimpleCommand::default();
                    self.record_assignment(name, false, true, &mut simple)?;
                    // The values may be anything.
                    self.non_numeric_variables.push(name.to_owned());
                    self.push(simple);
                    variable = name;
                }
                "do_group" => {
                    let (values, at) = (std::mem::take(&mut values), self.loops.len());
                    self.loops.push(WordLoop { name: variable.to_owned(), values, is_open: true });
                    self.walk_in_loop(|walk| walk.walk_block(child, false))?;
                    if let Some(found) = self.loops.get_mut(at) {
                        found.is_open = false;
                    }
                }
                _ if child.is_named() => values.push(self.parse_word(child)?),
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        Ok(())
    }

    fn walk_c_style_for(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let children = self.children(node);
        let open = children.iter().find(|child| child.kind() == "((").ok_or(UNSUPPORTED_SYNTAX)?;
        let close = children.iter().find(|child| child.kind() == "))").ok_or(UNSUPPORTED_SYNTAX)?;
        let body = children.last().ok_or(UNSUPPORTED_SYNTAX)?;
        let inner = self.text.get(open.end_byte()..close.start_byte()).ok_or(UNSUPPORTED_SYNTAX)?;
        let between = self.text.get(close.end_byte()..body.start_byte()).ok_or(UNSUPPORTED_SYNTAX)?;
        if self.posix || !between.trim_start_matches([' ', ';', '\n']).is_empty() || body.kind() != "do_group"
        {
            return Err(UNSUPPORTED_SYNTAX);
        }
        inner.split(';').try_for_each(|part| self.check_arithmetic(part))?;
        self.walk_in_loop(|walk| walk.walk_block(*body, false))
    }

    fn walk_case(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        for child in self.children(node) {
            match child.kind() {
                "case" | "in" | ";" | "\n" => {}
                "esac" => {
                    let before =
                        self.text.get(..child.start_byte()).unwrap_or("").trim_end_matches([' ', '\t']);
                    if !before.ends_with(['\n', ';']) {
                        return Err(UNSUPPORTED_SYNTAX);
                    }
                }
                "case_item" => {
                    self.enter()?;
                    self.check_comments(child)?;
                    let mut body = false;
                    for part in self.children(child) {
                        match part.kind() {
                            ")" => body = true,
                            "(" | "|" if !body => {}
                            ";;" | ";&" | ";;&" | ";" | "&" | "\n" if body => {}
                            _ if !part.is_named() => return Err(UNSUPPORTED_SYNTAX),
                            _ if body => self.walk_statement(part)?,
                            _ => {
                                self.parse_word(part)?;
                            }
                        }
                    }
                    self.leave();
                }
                _ if child.is_named() => {
                    self.parse_word(child)?;
                }
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        Ok(())
    }

    /// Walks `[ … ]` or `[[ … ]]`.
    fn walk_test_command(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let source = self.source(node);
        if source.starts_with("[[") {
            return self.check_condition(node);
        }
        if !(source.starts_with("[ ") && source.ends_with(" ]")) {
            return Err(Unanalyzable("a condition that shells read in different ways"));
        }
        // In bash `[` is an ordinary command, so its words matter.
        let mut simple = SimpleCommand { words: vec![Word::literal("[")], ..SimpleCommand::default() };
        for child in self.children(node).into_iter().filter(Node::is_named) {
            self.walk_test_operands(child, &mut simple.words)?;
        }
        self.push(simple);
        Ok(())
    }

    fn walk_test_operands(&mut self, node: Node<'_>, words: &mut Vec<Word>) -> Result<(), Unanalyzable> {
        self.enter()?;
        match node.kind() {
            "unary_expression" | "binary_expression" => {
                self.children(node)
                    .into_iter()
                    .try_for_each(|child| self.walk_test_operands(child, words))?;
            }
            "=" | "==" | "!=" | "!" => words.push(Word::literal(self.source(node))),
            _ if node.is_named() => words.push(self.parse_word(node)?),
            _ => return Err(Unanalyzable("a condition that shells read in different ways")),
        }
        self.leave();
        Ok(())
    }

    fn walk_command(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut simple = SimpleCommand::default();
        let mut words = Vec::new();
        for child in self.children(node) {
            match child.kind() {
                "variable_assignment" if words.is_empty() && simple.words.is_empty() => {
                    self.walk_assignment(child, true, &mut simple)?;
                }
                "file_redirect" | "herestring_redirect" => self.walk_redirect(child, &mut simple)?,
                "=~" | "==" | "$" => words.push(child),
                "variable_assignment" | "subshell" => return Err(UNSUPPORTED_SYNTAX),
                _ if child.is_named() => words.push(child),
                _ => return Err(UNSUPPORTED_SYNTAX),
            }
        }
        let misplaced = !simple.words.is_empty();
        self.push_words(words, &mut simple)?;
        let name = simple.words.first().ok_or(UNSUPPORTED_SYNTAX)?;
        let keyword = !name.quoted && RESERVED.contains(&name.text.as_str());
        if keyword || misplaced {
            return Err(UNSUPPORTED_SYNTAX);
        }
        self.track_builtin_assignment(&simple);
        let name = simple.words.first().map(|name| name.text.clone()).unwrap_or_default();
        simple.calls_function = self.defined_functions.contains(&name);
        self.push(simple);
        Ok(())
    }

    pub(super) fn push_words(
        &mut self,
        nodes: Vec<Node<'_>>,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        for node in nodes {
            let word = match node.kind() {
                "=~" | "==" | "$" | "unset" | "unsetenv" => {
                    let next = self.text.get(node.end_byte()..).unwrap_or("");
                    if !(next.is_empty() || next.starts_with([' ', '\t', '\n', ';', '&', '|', ')'])) {
                        return Err(Unanalyzable("words that shells split in different ways"));
                    }
                    Word::literal(self.source(node))
                }
                _ => self.parse_word(node)?,
            };
            let brace = matches!(word.text.as_str(), "{" | "}") && !word.quoted;
            if brace {
                return Err(Unanalyzable("braces that shells read in different ways"));
            }
            simple.words.push(word);
        }
        Ok(())
    }
}
