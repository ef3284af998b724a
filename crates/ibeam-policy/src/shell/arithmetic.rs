//! Arithmetic and conditions.
//!
//! Both evaluate their operands: a value such as `a[$(touch x)]` runs a command where a number is expected. So only
//! numbers, and variables that contain only numbers, are accepted.

use tree_sitter::Node;

use super::Unanalyzable;
use super::walk::Walk;
use super::word::is_shell_local;

const NOT_ONLY_NUMBERS: Unanalyzable = Unanalyzable("arithmetic on something that may not be a number");

impl Walk<'_> {
    /// Checks `$((…))`.
    pub(super) fn check_arithmetic_expansion(&mut self, source: &str) -> Result<(), Unanalyzable> {
        let inner =
            source.strip_prefix("$((").and_then(|inner| inner.strip_suffix("))")).ok_or(NOT_ONLY_NUMBERS)?;
        self.check_arithmetic(inner)
    }

    /// Checks an arithmetic text: numbers, operators, and variables, which are recorded and checked at the end.
    pub(super) fn check_arithmetic(&mut self, text: &str) -> Result<(), Unanalyzable> {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let name_length = |text: &str| {
                text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len()
            };
            let length = match c {
                ' ' | '\t' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '~'
                | '?' | ':' | ',' | '(' | ')' => 1,
                '$' => {
                    let after = rest.get(1..).unwrap_or("");
                    if after.starts_with(['?', '#']) {
                        2
                    } else {
                        let length = name_length(after);
                        self.arithmetic_variables.push(
                            after
                                .get(..length)
                                .filter(|name| is_shell_local(name))
                                .ok_or(NOT_ONLY_NUMBERS)?
                                .to_owned(),
                        );
                        1 + length
                    }
                }
                c if c.is_ascii_digit() => name_length(rest),
                c if c.is_ascii_lowercase() => {
                    let length = name_length(rest);
                    self.arithmetic_variables.push(
                        rest.get(..length)
                            .filter(|name| is_shell_local(name))
                            .ok_or(NOT_ONLY_NUMBERS)?
                            .to_owned(),
                    );
                    length
                }
                _ => return Err(NOT_ONLY_NUMBERS),
            };
            rest = rest.get(length..).unwrap_or("");
        }
        Ok(())
    }

    /// Checks `[[ … ]]`, which runs only its substitutions, except for operators that evaluate their operands.
    pub(super) fn check_condition(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let source = self.source(node);
        let framed = source.starts_with("[[ ") && source.ends_with(" ]]");
        if !framed || self.posix {
            return Err(Unanalyzable("a condition that shells read in different ways"));
        }
        self.children(node).into_iter().filter(Node::is_named).try_for_each(|child| self.check_term(child))
    }

    /// Checks one term of a condition: a word, or an operator with its operands.
    fn check_term(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        const UNKNOWN_CONDITION: Unanalyzable = Unanalyzable("a condition that is not understood");
        self.enter()?;
        let children = self.children(node);
        match node.kind() {
            "parenthesized_expression" => {
                children.into_iter().filter(Node::is_named).try_for_each(|child| self.check_term(child))
            }
            "unary_expression" => {
                let (operator, operand) = match children.as_slice() {
                    [operator, operand] => (self.source(*operator), *operand),
                    _ => return Err(UNKNOWN_CONDITION),
                };
                match operator {
                    "!" => self.check_term(operand),
                    "-v" | "-R" | "-o" | "-a" => Err(Unanalyzable("a condition that evaluates")),
                    operator if operator.starts_with('-') && operator.len() == 2 => self.check_term(operand),
                    _ => Err(UNKNOWN_CONDITION),
                }
            }
            "binary_expression" => {
                let (left, operator, right) = match children.as_slice() {
                    [left, operator, right] => (*left, self.source(*operator), *right),
                    _ => return Err(UNKNOWN_CONDITION),
                };
                match operator {
                    "&&" | "||" | "=" | "==" | "!=" | "<" | ">" | "-nt" | "-ot" | "-ef" => {
                        self.check_term(left)?;
                        self.check_term(right)
                    }
                    "=~" => {
                        self.check_term(left)?;
                        let pattern = self.source(right);
                        let body = pattern.strip_suffix('$').unwrap_or(pattern);
                        let plain = |c: char| c.is_ascii_alphanumeric() || "^.+*?[]_-".contains(c);
                        let simple = body.chars().all(plain) && !pattern.is_empty();
                        if simple {
                            Ok(())
                        } else {
                            Err(Unanalyzable("a pattern that shells read in different ways"))
                        }
                    }
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                        let number = |node| {
                            let text = self.source(node);
                            matches!(text, "$?" | "$#")
                                || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
                        };
                        if number(left) && number(right) { Ok(()) } else { Err(NOT_ONLY_NUMBERS) }
                    }
                    _ => Err(UNKNOWN_CONDITION),
                }
            }
            _ => {
                let word = self.parse_word(node)?;
                let operator = !word.quoted && word.text.starts_with(['-', '!', '(']);
                if operator { Err(UNKNOWN_CONDITION) } else { Ok(()) }
            }
        }?;
        self.leave();
        Ok(())
    }
}
