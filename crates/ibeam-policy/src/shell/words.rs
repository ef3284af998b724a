//! From text to simple commands: words, redirections, inert assignments.
//!
//! Accepts less than bash does and means the same by it. Source: POSIX.1-2024, Shell Command Language, 2.2–2.9.

/// Why a text is not understood: a noun phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opaque(pub(crate) &'static str);

/// A word after quote removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Has an unquoted `*`, `?` or `[`: it may become other words.
    pub(crate) glob: bool,
    /// Starts with an unquoted `~`.
    pub(crate) tilde: bool,
    quoted: bool,
}

/// A redirection from or to a file; those between descriptors and to `/dev/null` are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
}

/// A command with its arguments. `words` is empty for a bare redirection or assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// Words that begin or join compound commands.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select",
    "in", "function", "coproc", "{", "}", "[[", "]]",
];

/// Variables that change how something is shown, never what runs or where it connects.
const INERT: &[&str] = &[
    "TZ",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "LANG",
    "LANGUAGE",
    "COLUMNS",
    "LINES",
    "RUST_BACKTRACE",
];

/// True when setting `name` cannot change what a command does.
pub(crate) fn is_inert(name: &str) -> bool {
    INERT.contains(&name) || name.starts_with("LC_")
}

/// Splits `text` into its simple commands, in order.
///
/// # Errors
/// The first thing that is not understood.
pub(crate) fn parse(text: &str) -> Result<Vec<Simple>, Opaque> {
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Opaque("a control character"));
    }
    let mut lexer = Lexer { rest: text };
    let mut commands = Vec::new();
    let mut current: Option<Simple> = None;
    // After `&&`, `||` and `|` a command must follow, on a later line if need be.
    let mut joined = false;
    loop {
        match lexer.token()? {
            Token::Word(word) => push(current.get_or_insert_default(), word)?,
            Token::Redirect(redirect) => current.get_or_insert_default().redirects.extend(redirect),
            Token::Newline if current.is_none() => continue,
            Token::Newline => commands.extend(current.take()),
            Token::Semicolon | Token::Join if current.is_none() => return Err(Opaque("a syntax error")),
            Token::Semicolon => commands.extend(current.take()),
            Token::Join => {
                commands.extend(current.take());
                joined = true;
                continue;
            }
            Token::End if joined && current.is_none() => return Err(Opaque("an unfinished list")),
            Token::End => {
                commands.extend(current);
                return Ok(commands);
            }
        }
        joined = false;
    }
}

/// Adds a word in its place: an assignment, the program or an argument.
fn push(simple: &mut Simple, word: Word) -> Result<(), Opaque> {
    if simple.words.is_empty() && !word.quoted {
        if RESERVED.contains(&word.text.as_str()) {
            return Err(Opaque("a compound command"));
        }
        if let Some((name, value)) = word.text.split_once('=') {
            let plain = !value.contains(['~', '/', '*', '?', '[']);
            return if is_inert(name) && plain { Ok(()) } else { Err(Opaque("an assignment")) };
        }
    }
    simple.words.push(word);
    Ok(())
}

enum Token {
    Word(Word),
    /// `None` for one that touches no file.
    Redirect(Option<Redirect>),
    Newline,
    Semicolon,
    Join,
    End,
}

struct Lexer<'a> {
    rest: &'a str,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Token, Opaque> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        match first {
            '\n' => Ok(self.take(1, Token::Newline)),
            ';' if self.rest.starts_with(";;") => Err(Opaque("a compound command")),
            ';' => Ok(self.take(1, Token::Semicolon)),
            '|' if self.rest.starts_with("||") => Ok(self.take(2, Token::Join)),
            '|' if self.rest.starts_with("|&") => Err(Opaque("`|&`")),
            '|' => Ok(self.take(1, Token::Join)),
            '&' if self.rest.starts_with("&&") => Ok(self.take(2, Token::Join)),
            '&' if self.rest.starts_with("&>") => {
                self.skip(1);
                self.redirect()
            }
            '&' => Err(Opaque("a background command")),
            '<' | '>' => self.redirect(),
            '(' | ')' => Err(Opaque("a subshell")),
            '#' => Err(Opaque("a comment")),
            _ => {
                let digits =
                    self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let after = self.rest.get(digits..).unwrap_or("");
                if digits > 0 && after.starts_with(['<', '>']) {
                    self.skip(digits);
                    return self.redirect();
                }
                self.word().map(Token::Word)
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    fn take(&mut self, bytes: usize, token: Token) -> Token {
        self.skip(bytes);
        token
    }

    /// The rest stands at `<` or `>`.
    fn redirect(&mut self) -> Result<Token, Opaque> {
        let operator = self.rest.len() - self.rest.trim_start_matches(['<', '>', '&', '|', '(']).len();
        let (writes, duplicates) = match self.rest.get(..operator).unwrap_or("") {
            ">" | ">>" | ">|" => (true, false),
            "<" => (false, false),
            ">&" | "<&" => (true, true),
            "<<" | "<<<" => return Err(Opaque("a here-document")),
            ">(" | "<(" => return Err(Opaque("a process substitution")),
            _ => return Err(Opaque("an unusual redirection")),
        };
        self.skip(operator);
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if self.rest.is_empty() || self.rest.starts_with(['\n', ';', '|', '&', '<', '>', '(', ')', '#']) {
            return Err(Opaque("a syntax error"));
        }
        let target = self.word()?;
        if target.glob {
            return Err(Opaque("a redirection to a pattern"));
        }
        if duplicates {
            let plain = target.text == "-" || target.text.chars().all(|c| c.is_ascii_digit());
            return if plain { Ok(Token::Redirect(None)) } else { Err(Opaque("an unusual redirection")) };
        }
        let nowhere = target.text == "/dev/null";
        Ok(Token::Redirect((!nowhere).then_some(Redirect { writes, target })))
    }

    /// The rest stands at the first character of a word.
    fn word(&mut self) -> Result<Word, Opaque> {
        let mut word = Word::default();
        let mut braces = false;
        let mut comma = false;
        let mut previous = '\0';
        loop {
            let mut chars = self.rest.chars();
            let Some(c) = chars.next() else { break };
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '(' | ')' => return Err(Opaque("a subshell or function")),
                '`' => return Err(Opaque("a command substitution")),
                '\'' => {
                    let inner = chars.as_str();
                    let end = inner.find('\'').ok_or(Opaque("an unclosed quote"))?;
                    word.text.push_str(inner.get(..end).unwrap_or(""));
                    word.quoted = true;
                    self.rest = inner.get(end + 1..).unwrap_or("");
                    previous = '\'';
                    continue;
                }
                '"' => {
                    self.skip(1);
                    self.double_quoted(&mut word.text)?;
                    word.quoted = true;
                    previous = '"';
                    continue;
                }
                '\\' => match chars.next() {
                    None | Some('\n') => return Err(Opaque("a continued line")),
                    Some(escaped) => {
                        word.text.push(escaped);
                        word.quoted = true;
                        self.skip(1 + escaped.len_utf8());
                        previous = escaped;
                        continue;
                    }
                },
                '$' if !ends_word(chars.as_str()) => return Err(Opaque("an expansion")),
                '*' | '?' | '[' => word.glob = true,
                '~' if word.text.is_empty() && !word.quoted => word.tilde = true,
                // `a=~/x` and `a:~/x` expand in some places.
                '~' if matches!(previous, '=' | ':') => return Err(Opaque("an expansion")),
                '{' => braces = true,
                ',' => comma = true,
                '.' if previous == '.' => comma = true,
                _ => {}
            }
            word.text.push(c);
            previous = c;
            self.skip(c.len_utf8());
        }
        if braces && comma {
            return Err(Opaque("a brace expansion"));
        }
        if word.tilde && word.text.len() > 1 && !word.text.starts_with("~/") {
            return Err(Opaque("another user's home directory"));
        }
        Ok(word)
    }

    /// The rest stands behind the opening quote.
    fn double_quoted(&mut self, text: &mut String) -> Result<(), Opaque> {
        loop {
            let mut chars = self.rest.chars();
            let c = chars.next().ok_or(Opaque("an unclosed quote"))?;
            let after = chars.as_str();
            self.rest = after;
            match c {
                '"' => return Ok(()),
                '`' => return Err(Opaque("a command substitution")),
                '$' if !after.starts_with('"') && !ends_word(after) => return Err(Opaque("an expansion")),
                '\\' if after.starts_with('\n') => return Err(Opaque("a continued line")),
                '\\' if after.starts_with(['$', '`', '"', '\\']) => {
                    text.extend(chars.next());
                    self.rest = chars.as_str();
                }
                c => text.push(c),
            }
        }
    }
}

/// True where a `$` expands nothing: at the end of a word.
fn ends_word(after: &str) -> bool {
    after.chars().next().is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&'))
}
