//! Assignments to variables, and the values of variables that the text itself shows: numbers, and the words of a loop.
//!
//! `for f in *.md; do wc -l "$f"; done` runs `wc -l` with names that match `*.md`, and is checked like that. A variable
//! is replaced only if the text assigns it nowhere else.

use tree_sitter::Node;

use super::Unanalyzable;
use super::walk::{BASH_ONLY, SimpleCommand, UNSUPPORTED_SYNTAX, Walk};
use super::word::{Variable, Word, is_display_variable, is_shell_local, is_variable};

/// A loop over words.
#[derive(Clone, Debug)]
pub(super) struct WordLoop {
    /// The variable.
    pub(super) name: String,
    pub(super) values: Vec<Word>,
    /// Whether the walk is inside the body.
    pub(super) is_open: bool,
}

/// Maximum number of commands that one command of a loop is replaced by.
const MAX_ALTERNATIVES: usize = 32;
/// Maximum number of commands that loops may add to a text.
const MAX_ADDED_COMMANDS: usize = 1_000;

impl Walk<'_> {
    /// Walks `declare`, `export` and similar commands: assignments, or else an ordinary command.
    pub(super) fn walk_declaration(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut children = self.children(node).into_iter();
        let keyword = children.next().map(|keyword| self.source(keyword)).ok_or(UNSUPPORTED_SYNTAX)?;
        let exported = matches!(keyword, "export");
        let mut simple = SimpleCommand::default();
        let mut others = Vec::new();
        for child in children {
            match child.kind() {
                "variable_assignment" => self.walk_assignment(child, exported, &mut simple)?,
                "variable_name" if keyword == "local" && is_shell_local(self.source(child)) => {
                    self.non_numeric_variables.push(self.source(child).to_owned());
                }
                _ => others.push(child),
            }
        }
        if !others.is_empty() {
            self.non_numeric_variables.push("*".to_owned());
            simple.words.push(Word::literal(keyword));
            self.push_words(others, &mut simple)?;
        }
        simple.is_export = exported && simple.words.is_empty();
        self.push(simple);
        Ok(())
    }

    pub(super) fn walk_assignment(
        &mut self,
        node: Node<'_>,
        exported: bool,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        let children = self.children(node);
        let [name, operator, rest @ ..] = children.as_slice() else { return Err(UNSUPPORTED_SYNTAX) };
        if name.kind() != "variable_name" || !matches!(operator.kind(), "=" | "+=") {
            return Err(Unanalyzable("a subscript, which is evaluated"));
        }
        let mut plain = operator.kind() == "=";
        let mut number = plain;
        for value in rest {
            if value.kind() == "array" {
                if self.posix {
                    return Err(BASH_ONLY);
                }
                number = false;
                plain = false;
                for element in self.children(*value) {
                    if element.is_named() {
                        let word = self.parse_word(element)?;
                        if word.text.starts_with('[') {
                            return Err(Unanalyzable("a subscript, which is evaluated"));
                        }
                    }
                }
                continue;
            }
            let word = self.parse_word(*value)?;
            let counted = self.source(*value).starts_with("$((") && value.kind() == "arithmetic_expansion";
            let job = matches!(self.source(*value), "$!" | "$$");
            number &=
                counted || job || (word.is_known() && word.text.bytes().all(|byte| byte.is_ascii_digit()));
            plain &= word.is_known() && !word.text.contains(['~', '/', '*', '?', '[']);
        }
        let name = self.source(*name);
        if !number {
            self.non_numeric_variables.push(name.to_owned());
        }
        self.record_assignment(name, exported, plain, simple)
    }

    /// Records an assignment. Assignments that cannot matter to any program are not added to the command.
    pub(super) fn record_assignment(
        &mut self,
        name: &str,
        exported: bool,
        plain: bool,
        simple: &mut SimpleCommand,
    ) -> Result<(), Unanalyzable> {
        if !is_variable(name) {
            return Err(UNSUPPORTED_SYNTAX);
        }
        self.assignments.push(name.to_owned());
        if !((is_shell_local(name) && !exported) || (is_display_variable(name) && plain)) {
            simple.assigned_variables.push(name.to_owned());
        }
        Ok(())
    }

    /// Checks the variables used in arithmetic against all assignments of the text.
    pub(super) fn check_arithmetic_variables(&self) -> Result<(), Unanalyzable> {
        let may_not_be_number =
            |name: &String| self.non_numeric_variables.iter().any(|other| other == name || other == "*");
        if self.arithmetic_variables.iter().any(may_not_be_number) {
            return Err(Unanalyzable("arithmetic on something that may not be a number"));
        }
        Ok(())
    }

    /// Records the variables that a built-in command sets to unknown values.
    pub(super) fn track_builtin_assignment(&mut self, simple: &SimpleCommand) {
        const SETTERS: &[&str] = &[
            "read",
            "mapfile",
            "readarray",
            "printf",
            "getopts",
            "let",
            "eval",
            "source",
            ".",
            "builtin",
            "command",
            "unset",
        ];
        let Some(name) = simple.words.first() else { return };
        let prints = name.text == "printf"
            && simple.words.get(1).is_some_and(|first| first.is_known() && !first.text.starts_with('-'));
        let operands = simple.words.get(1..).unwrap_or_default();
        let is_name = |word: &Word| word.is_known() && (word.text == "-r" || is_shell_local(&word.text));
        if name.text == "read" && !operands.is_empty() && operands.iter().all(is_name) {
            for operand in operands.iter().filter(|operand| operand.text != "-r") {
                self.non_numeric_variables.push(operand.text.clone());
                self.assignments.push(operand.text.clone());
            }
            return;
        }
        if SETTERS.contains(&name.text.as_str()) && !prints {
            self.non_numeric_variables.push("*".to_owned());
        }
    }

    /// Replaces variables by their values, as far as the text shows them.
    pub(super) fn replace_variables(&mut self) {
        let mut commands = Vec::with_capacity(self.commands.len());
        let mut added = 0;
        for mut simple in std::mem::take(&mut self.commands) {
            for word in &mut simple.words {
                word.is_number = !word.is_known()
                    && !word.depends_on_more
                    && word.variables.iter().all(|variable| self.is_number(&variable.name));
            }
            match self.alternatives(&simple).filter(|found| added + found.len() <= MAX_ADDED_COMMANDS) {
                Some(alternatives) => {
                    added += alternatives.len();
                    commands.extend(alternatives);
                }
                None => commands.push(simple),
            }
        }
        self.commands = commands;
    }

    /// Whether the text assigns a variable, and only numbers.
    fn is_number(&self, name: &str) -> bool {
        self.assignments.iter().any(|assigned| assigned == name)
            && !self.non_numeric_variables.iter().any(|other| other == name || other == "*")
    }

    /// Returns the commands that replace a command of a loop. Returns `None` if its variables have no known values.
    fn alternatives(&self, simple: &SimpleCommand) -> Option<Vec<SimpleCommand>> {
        let (program, words) = simple.words.split_first()?;
        let is_open = |word: &&Word| !word.is_known() && !word.depends_on_more;
        let mut loops: Vec<usize> =
            words.iter().filter(is_open).flat_map(|word| &word.variables).filter_map(|v| v.in_loop).collect();
        loops.sort_unstable();
        loops.dedup();
        if loops.is_empty() || !program.is_known() {
            return None;
        }
        let mut choices: Vec<Vec<(usize, &Word)>> = vec![Vec::new()];
        for at in loops {
            let found = self.loops.get(at).filter(|found| self.is_assigned_once(&found.name))?;
            choices = choices
                .iter()
                .flat_map(|choice| {
                    found.values.iter().map(move |value| [choice.as_slice(), &[(at, value)]].concat())
                })
                .take(MAX_ALTERNATIVES + 1)
                .collect();
        }
        if choices.is_empty() || choices.len() > MAX_ALTERNATIVES {
            return None;
        }
        let substitute = |choice: &[(usize, &Word)]| {
            let splits = self.assignments.iter().any(|name| name == "IFS");
            let value_of =
                |variable: &Variable| loop_value(choice, variable).filter(|_| variable.quoted || !splits);
            let words = words.iter().map(|word| match is_open(&word) {
                true => word.substitute(|variable| value_of(variable)).unwrap_or_else(|| word.clone()),
                false => word.clone(),
            });
            let words = std::iter::once(program.clone()).chain(words).collect();
            SimpleCommand { words, ..simple.clone() }
        };
        Some(choices.iter().map(|choice| substitute(choice)).collect())
    }

    fn is_assigned_once(&self, name: &str) -> bool {
        let times = self.assignments.iter().filter(|assigned| *assigned == name).count();
        times == 1 && !self.non_numeric_variables.iter().any(|other| other == "*")
    }
}

/// Returns the value of a variable in one iteration of its loops, if the value is one word there.
fn loop_value<'v>(choice: &[(usize, &'v Word)], variable: &Variable) -> Option<&'v Word> {
    let (_, value) = choice.iter().find(|(at, _)| Some(*at) == variable.in_loop)?;
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | '+' | '@' | '%');
    // Without quotes a name with white space would become several words.
    let is_one =
        variable.quoted || (!value.has_glob && !value.text.is_empty() && value.text.chars().all(is_plain));
    (value.is_known() && !value.is_process_substitution && is_one).then_some(*value)
}
