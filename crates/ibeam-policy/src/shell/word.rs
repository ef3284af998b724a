//! Words after quote removal, and how much of each is known.

use tree_sitter::Node;

use super::Unanalyzable;
use super::walk::Walk;
use crate::fold::is_ignored_char;

/// A variable in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(super) name: String,
    /// The position in the text of the word, in bytes.
    pub(super) at: usize,
    pub(super) length: usize,
    /// Whether the variable is in double quotes, so that its value is one word.
    pub(super) quoted: bool,
    /// The innermost loop over this variable that contains the word, as an index of `Walk::loops`.
    pub(super) in_loop: Option<usize>,
}

/// A word after quote removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text; expansions are kept as written.
    pub(crate) text: String,
    /// Whether it has an unquoted `*`, `?` or `[`, and so may expand to other words.
    pub(crate) has_glob: bool,
    /// Whether it starts with an unquoted `~`, or with `$HOME`, which becomes `~` in `text`.
    pub(crate) has_tilde: bool,
    /// Whether part of it is quoted or escaped, so that it is neither a keyword nor an assignment.
    pub(crate) quoted: bool,
    /// Whether it is a process substitution, such as `<(…)`: the name of a pipe from or to a command.
    pub(crate) is_process_substitution: bool,
    /// Position in `text` from which the value depends on something unknown.
    unknown_from: Option<usize>,
    /// Whether it may become several words, or none.
    pub(crate) may_split: bool,
    /// Whether the value is unknown, but certainly a number or empty.
    pub(crate) is_number: bool,
    /// The variables in the word, in the order of the text.
    pub(super) variables: Vec<Variable>,
    /// Whether the value depends on something unknown that is not in `variables`.
    pub(super) depends_on_more: bool,
    has_braces: bool,
}

impl Word {
    /// Creates a known word.
    pub(crate) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Whether `text` is the value that the program gets, except for patterns and `~`.
    pub(crate) fn is_known(&self) -> bool {
        self.unknown_from.is_none()
    }

    /// Whether the value can only be the id of a process, or empty: `$!`, or a variable that only gets numbers.
    pub(crate) fn is_job_id(&self) -> bool {
        self.is_number || matches!(self.text.as_str(), "$!" | "${!}")
    }

    /// Returns the known start of `text`.
    pub(crate) fn known_prefix(&self) -> &str {
        self.unknown_from.and_then(|at| self.text.get(..at)).unwrap_or(&self.text)
    }

    /// Whether the value is unknown and may begin with a dash or be several words.
    pub(crate) fn may_be_option(&self) -> bool {
        !self.is_known() && (self.may_split || self.known_prefix().is_empty() || self.text.starts_with('-'))
    }

    /// Adds an expansion that is not in `variables`.
    fn push_expansion(&mut self, source: &str, quoted: bool) {
        self.depends_on_more = true;
        self.push_unknown(source, quoted);
    }

    /// Adds a part whose value is unknown.
    fn push_unknown(&mut self, source: &str, quoted: bool) {
        self.unknown_from.get_or_insert(self.text.len());
        self.text.push_str(source);
        self.may_split |= !quoted;
    }

    /// Returns the word with every variable replaced by its value from `value_of`. Returns `None` if a value is
    /// missing, or if the word depends on something else.
    pub(super) fn substitute<'v>(&self, value_of: impl Fn(&Variable) -> Option<&'v Self>) -> Option<Self> {
        if self.depends_on_more {
            return None;
        }
        let mut word = Self {
            text: String::new(),
            variables: Vec::new(),
            unknown_from: None,
            may_split: false,
            ..self.clone()
        };
        let mut from = 0;
        for variable in &self.variables {
            let value = value_of(variable)?;
            word.text.push_str(self.text.get(from..variable.at)?);
            word.has_tilde |= value.has_tilde && word.text.is_empty();
            if value.has_tilde && !word.text.is_empty() {
                return None;
            }
            word.text.push_str(&value.text);
            word.has_glob |= value.has_glob;
            word.quoted = true;
            from = variable.at + variable.length;
        }
        word.text.push_str(self.text.get(from..)?);
        Some(word)
    }
}

const AMBIGUOUS_BACKQUOTE: Unanalyzable = Unanalyzable("a backquote that shells read in different ways");

impl Walk<'_> {
    /// Returns the word of `node`. Commands in it are walked.
    pub(super) fn parse_word(&mut self, node: Node<'_>) -> Result<Word, Unanalyzable> {
        let mut word = Word::default();
        self.parse_word_part(node, &mut word)?;
        let expands_braces = word.has_braces && (word.text.contains(',') || word.text.contains(".."));
        if expands_braces && !word.quoted {
            if self.posix {
                return Err(Unanalyzable("syntax that only bash has"));
            }
            let at = word.text.find('{').unwrap_or(0);
            word.depends_on_more = true;
            word.unknown_from = Some(word.unknown_from.map_or(at, |from| from.min(at)));
            word.may_split = true;
        } else if expands_braces {
            return Err(Unanalyzable("a brace expansion"));
        }
        if word.has_tilde && word.text.len() > 1 && !word.text.starts_with("~/") {
            return Err(Unanalyzable("another user's home directory"));
        }
        Ok(word)
    }

    fn parse_word_part(&mut self, node: Node<'_>, word: &mut Word) -> Result<(), Unanalyzable> {
        let source = self.source(node);
        match node.kind() {
            "word" | "number" | "test_operator" | "extglob_pattern" | "special_character" | "$"
            | "command_name" | "variable_name" | "regex"
                if node.child_count() == 0 =>
            {
                push_unquoted(source, self.text.get(node.end_byte()..).unwrap_or(""), word)
            }
            "command_name" | "concatenation" => {
                self.children(node).into_iter().try_for_each(|child| self.parse_word_part(child, word))
            }
            "raw_string" => {
                word.quoted = true;
                word.text.push_str(source.trim_start_matches('\'').strip_suffix('\'').unwrap_or(""));
                if source.len() < 2 || source.matches('\'').count() != 2 {
                    return Err(Unanalyzable("a quote that is not plain"));
                }
                Ok(())
            }
            "string" => self.parse_string(node, word),
            "ansi_c_string" => {
                if self.posix {
                    return Err(Unanalyzable("syntax that only bash has"));
                }
                word.quoted = true;
                word.text.push_str(&decode_ansi_c(source)?);
                Ok(())
            }
            "simple_expansion" => self.push_variable(source.trim_start_matches('$'), source, false, word),
            "expansion" => self.parse_expansion(node, false, word),
            "command_substitution" => {
                self.walk_substitution(node)?;
                word.push_expansion(source, false);
                Ok(())
            }
            "arithmetic_expansion" => {
                self.check_arithmetic_expansion(source)?;
                word.push_expansion(source, false);
                Ok(())
            }
            "process_substitution" => {
                if self.posix {
                    return Err(Unanalyzable("syntax that only bash has"));
                }
                self.walk_substitution(node)?;
                word.is_process_substitution = true;
                word.text.push_str(source);
                Ok(())
            }
            "brace_expression" => {
                word.has_braces = true;
                word.text.push_str(source);
                Ok(())
            }
            _ => Err(Unanalyzable("a word that is not understood")),
        }
    }

    fn parse_string(&mut self, node: Node<'_>, word: &mut Word) -> Result<(), Unanalyzable> {
        word.quoted = true;
        let mut at = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        for child in self.children(node) {
            if matches!(child.kind(), "string_content" | "\"" | "$") {
                continue;
            }
            let source = self.source(child);
            push_double_quoted(self.text.get(at..child.start_byte()).unwrap_or("`"), false, &mut word.text)?;
            match child.kind() {
                "simple_expansion" => {
                    self.push_variable(source.trim_start_matches('$'), source, true, word)?
                }
                "expansion" => self.parse_expansion(child, true, word)?,
                "command_substitution" => {
                    self.walk_substitution(child)?;
                    word.push_expansion(source, true);
                }
                "arithmetic_expansion" => {
                    self.check_arithmetic_expansion(source)?;
                    word.push_expansion(source, true);
                }
                _ => return Err(Unanalyzable("a word that is not understood")),
            }
            at = child.end_byte();
        }
        push_double_quoted(self.text.get(at..end).unwrap_or("`"), true, &mut word.text)
    }

    /// Walks the expansions of a here-document, and checks that its other parts are literal.
    pub(super) fn walk_here_document(&mut self, node: Node<'_>) -> Result<(), Unanalyzable> {
        let mut scratch = Word::default();
        let mut at = node.start_byte();
        for child in self.children(node) {
            if child.kind() == "heredoc_content" {
                continue;
            }
            check_literal_lines(self.text.get(at..child.start_byte()).unwrap_or("`"))?;
            match child.kind() {
                "simple_expansion" | "expansion" | "command_substitution" => {
                    self.parse_word_part(child, &mut scratch)?
                }
                _ => return Err(Unanalyzable("a here-document that is not understood")),
            }
            at = child.end_byte();
        }
        check_literal_lines(self.text.get(at..node.end_byte()).unwrap_or("`"))
    }

    /// Adds `$name` or `${name}`, written as `source`, to `word`.
    fn push_variable(
        &mut self,
        name: &str,
        source: &str,
        quoted: bool,
        word: &mut Word,
    ) -> Result<(), Unanalyzable> {
        if !is_variable(name) {
            return Err(Unanalyzable("an expansion that is not understood"));
        }
        match name {
            // Always digits.
            "?" | "#" => word.text.push('0'),
            "HOME" if word.text.is_empty() && !word.has_tilde => {
                word.has_tilde = true;
                word.text.push('~');
            }
            "PWD" if word.text.is_empty() => word.text.push('.'),
            "@" if quoted => {
                // `"$@"` becomes one word per argument.
                word.push_expansion(source, false);
            }
            _ if is_shell_local(name) => {
                let (at, length) = (word.text.len(), source.len());
                let in_loop = self.loops.iter().rposition(|found| found.is_open && found.name == name);
                let name = name.to_owned();
                word.variables.push(Variable { name, at, length, quoted, in_loop });
                word.push_unknown(source, quoted);
            }
            _ => word.push_expansion(source, quoted),
        }
        Ok(())
    }

    /// Walks `${…}`: a name, optionally an operator, optionally a default word.
    fn parse_expansion(&mut self, node: Node<'_>, quoted: bool, word: &mut Word) -> Result<(), Unanalyzable> {
        const UNKNOWN_EXPANSION: Unanalyzable = Unanalyzable("an expansion that is not understood");
        let source = self.source(node);
        let inner =
            source.strip_prefix("${").and_then(|inner| inner.strip_suffix('}')).ok_or(UNKNOWN_EXPANSION)?;
        let length = inner.len() > 1 && inner.starts_with('#');
        let named = if length { inner.get(1..).unwrap_or("") } else { inner };
        let special = named.starts_with(['@', '*', '?', '#', '$', '-']);
        let name_ends =
            if special { 1 } else { named.find(|c: char| !is_name_character(c)).unwrap_or(named.len()) };
        let (name, mut rest) = named.split_at_checked(name_ends).ok_or(UNKNOWN_EXPANSION)?;
        if !is_variable(name) {
            return Err(UNKNOWN_EXPANSION);
        }
        if let Some(subscript) = rest.strip_prefix('[') {
            let (index, after) = subscript.split_once(']').ok_or(UNKNOWN_EXPANSION)?;
            let plain = matches!(index, "@" | "*")
                || (!index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()));
            if !plain || self.posix {
                return Err(Unanalyzable("a subscript, which is evaluated"));
            }
            rest = after;
        }
        if rest.is_empty() {
            if length {
                word.text.push('0');
                return Ok(());
            }
            let all = inner.contains('@');
            return self.push_variable(name, source, quoted && !all, word);
        }
        if length {
            return Err(UNKNOWN_EXPANSION);
        }
        const OPERATORS: &[&str] =
            &[":-", ":+", ":?", "-", "+", "?", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];
        let operator =
            OPERATORS.iter().find(|operator| rest.starts_with(**operator)).ok_or(UNKNOWN_EXPANSION)?;
        let tail = rest.get(operator.len()..).unwrap_or("");
        let plain =
            |text: &str| !text.contains(['$', '`', '\'', '"', '\\', '{', '}', '<', '>', '(', ')', '\n']);
        if !plain(tail) {
            if !operator.ends_with(['-', '+', '?']) {
                return Err(UNKNOWN_EXPANSION);
            }
            let mut at = node.end_byte() - 1 - tail.len();
            let mut scratch = Word::default();
            let from = at;
            for child in
                self.children(node).into_iter().filter(|child| child.start_byte() >= from && child.is_named())
            {
                let between = self.text.get(at..child.start_byte()).unwrap_or("$");
                if !plain(between) {
                    return Err(UNKNOWN_EXPANSION);
                }
                self.walk_default_value(child, &mut scratch)?;
                at = child.end_byte();
            }
            if !plain(self.text.get(at..node.end_byte() - 1).unwrap_or("$")) {
                return Err(UNKNOWN_EXPANSION);
            }
        }
        word.push_expansion(source, quoted);
        Ok(())
    }

    /// Walks a default word in an expansion. Single quotes are refused, because their meaning depends on the quotes
    /// around the expansion.
    fn walk_default_value(&mut self, node: Node<'_>, word: &mut Word) -> Result<(), Unanalyzable> {
        match node.kind() {
            "concatenation" => {
                self.children(node).into_iter().try_for_each(|child| self.walk_default_value(child, word))
            }
            "string" | "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                self.parse_word_part(node, word)
            }
            "word"
                if !self.source(node).contains(['$', '`', '\'', '"', '\\', '{', '}', '<', '>', '(', ')']) =>
            {
                Ok(())
            }
            _ => Err(Unanalyzable("an expansion that is not understood")),
        }
    }
}

/// Adds an unquoted part. `next` is the text after it.
fn push_unquoted(source: &str, next: &str, word: &mut Word) -> Result<(), Unanalyzable> {
    let mut previous = word.text.chars().last().unwrap_or('\0');
    let mut chars = source.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                None | Some((_, '\n')) => return Err(Unanalyzable("a continued line")),
                Some((_, escaped)) => {
                    word.text.push(escaped);
                    word.quoted = true;
                    previous = escaped;
                    continue;
                }
            },
            '`' => return Err(AMBIGUOUS_BACKQUOTE),
            '\'' | '"' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '\n' => {
                return Err(Unanalyzable("a word that shells read in different ways"));
            }
            '$' if expands(source.get(at + 1..).filter(|after| !after.is_empty()).unwrap_or(next)) => {
                return Err(Unanalyzable("an expansion that is not understood"));
            }
            '#' if word.text.is_empty() && !word.quoted => {
                return Err(Unanalyzable("a comment that is not plain"));
            }
            '*' | '?' | '[' => word.has_glob = true,
            '~' if word.text.is_empty() && !word.quoted => word.has_tilde = true,
            // The `~` in `a=~/x` and `a:~/x` expands in some positions.
            '~' if matches!(previous, '=' | ':') => {
                word.depends_on_more = true;
                word.unknown_from.get_or_insert(word.text.len());
            }
            '{' => word.has_braces = true,
            c if c.is_whitespace() || is_invisible(c) => return Err(Unanalyzable("an invisible character")),
            _ => {}
        }
        word.text.push(c);
        previous = c;
    }
    Ok(())
}

/// Adds a literal part of `"…"`.
fn push_double_quoted(source: &str, last: bool, text: &mut String) -> Result<(), Unanalyzable> {
    let mut chars = source.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => return Err(AMBIGUOUS_BACKQUOTE),
            '"' => return Err(Unanalyzable("a quote that is not plain")),
            '$' => {
                let after = source.get(at + 1..).unwrap_or("");
                // A `$` before the closing quote is literal.
                if expands(after) || (after.is_empty() && !last) {
                    return Err(Unanalyzable("an expansion that is not understood"));
                }
                text.push('$');
            }
            '\\' => match chars.next() {
                None | Some((_, '\n')) => return Err(Unanalyzable("a continued line")),
                Some((_, escaped @ ('$' | '`' | '"' | '\\'))) => text.push(escaped),
                Some((_, other)) => text.extend(['\\', other]),
            },
            c => text.push(c),
        }
    }
    Ok(())
}

/// Checks that a part of a here-document does not expand.
fn check_literal_lines(source: &str) -> Result<(), Unanalyzable> {
    let expanding =
        source.char_indices().any(|(at, c)| c == '$' && expands(source.get(at + 1..).unwrap_or("")));
    if expanding || source.contains(['`', '\\']) {
        return Err(Unanalyzable(
            "a here-document that expands in a way that is not understood; quote its delimiter",
        ));
    }
    Ok(())
}

/// Whether a `$` before `after` starts an expansion.
fn expands(after: &str) -> bool {
    after.starts_with(|c: char| {
        is_name_character(c)
            || matches!(c, '*' | '@' | '#' | '?' | '$' | '!' | '-' | '(' | '[' | '{' | '\'' | '"')
    })
}

/// Decodes `$'…'` if its escapes are simple.
fn decode_ansi_c(source: &str) -> Result<String, Unanalyzable> {
    const UNKNOWN_ESCAPE: Unanalyzable = Unanalyzable("a quote with escapes that are not plain");
    let inner = source.strip_prefix("$'").and_then(|inner| inner.strip_suffix('\'')).ok_or(UNKNOWN_ESCAPE)?;
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\'' => return Err(UNKNOWN_ESCAPE),
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(c @ ('\\' | '\'' | '"')) => c,
                _ => return Err(UNKNOWN_ESCAPE),
            },
            c => c,
        });
    }
    Ok(text)
}

/// Whether a character is invisible, so that two different names look the same.
pub(super) fn is_invisible(c: char) -> bool {
    is_ignored_char(c)
        || matches!(
            c,
            '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{3164}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether `name` is a variable name, a position, or a special parameter of one character.
pub(super) fn is_variable(name: &str) -> bool {
    matches!(name, "@" | "*" | "?" | "#" | "$" | "-" | "!" | "_")
        || (name.len() == 1 && name.starts_with(|c: char| c.is_ascii_digit()))
        || (name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(is_name_character))
}

/// Whether a variable of this name stays in the shell and has no meaning for programs.
pub(super) fn is_shell_local(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
        && !["npm_", "bun_"].iter().any(|prefix| name.starts_with(prefix))
        && !name.ends_with("_proxy")
        && !matches!(
            name,
            "histchars" | "auto_resume" | "path" | "fpath" | "cdpath" | "manpath" | "prompt" | "status"
        )
}

/// Variables that change how output looks, but not what runs or connects.
const DISPLAY_VARIABLES: &[&str] = &[
    "TZ",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CARGO_TERM_COLOR",
    "LANG",
    "LANGUAGE",
    "COLUMNS",
    "LINES",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
];

/// Whether setting `name` cannot change what a command does.
pub(super) fn is_display_variable(name: &str) -> bool {
    DISPLAY_VARIABLES.contains(&name) || name.starts_with("LC_")
}
