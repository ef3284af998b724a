//! The two kinds of patterns in tokens: over paths and over plain text.
//!
//! Path patterns are anchored: `/…` at the root, `~/…` at the home directory, all others at the workspace. In a path
//! `*` matches within one name and `**` matches across names; in text `*` matches anything.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::fold::{fold_case, fold_path};
use crate::pattern::{CharPairs, Pattern};

/// The directory from which a pattern starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Workspace,
}

/// A pattern over absolute paths. The pattern of a directory covers its content only if it ends in `/` or `/**`.
#[derive(Clone, Debug)]
pub struct PathGlob {
    /// The pattern as written in the rule.
    text: String,
    anchor: Anchor,
    /// The pattern without its anchor.
    pattern: String,
    /// The pattern for allow rules, which compare names exactly.
    exact: Pattern,
    /// The pattern for deny rules, which compare folded names.
    folded: Pattern,
    /// Pairs of characters that occur in every path that the pattern matches.
    pairs: CharPairs,
}

impl PathGlob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The reason why it is invalid, as text.
    pub fn new(text: &str) -> Result<Self, String> {
        let (anchor, rest) = if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Root, rest)
        } else {
            (Anchor::Workspace, text.strip_prefix("./").unwrap_or(text))
        };
        if rest.split('/').any(|name| name == "..") {
            return Err("`..` in a pattern is never matched; write an absolute path".to_owned());
        }
        let pattern = match rest.strip_suffix('/') {
            Some(directory) => format!("{directory}/**"),
            None => rest.to_owned(),
        };
        let whole = match pattern.strip_suffix("/**") {
            // `dir/**` covers the directory too, because a tool that walks it requests access to the directory.
            Some(directory) if !directory.is_empty() => format!("{{{directory},{pattern}}}"),
            Some(_) | None => pattern.clone(),
        };
        let exact = Pattern::new(&whole, true, false)?;
        let folded = Pattern::new(&fold_case(&whole), true, true)?;
        let pairs = CharPairs::required_by(&pattern);
        Ok(Self { text: text.to_owned(), anchor, pattern, exact, folded, pairs })
    }

    /// Whether an allow rule with this pattern covers `path`.
    pub(crate) fn allows(&self, path: &Path, workspace: &Path, home: &Path) -> bool {
        self.relative(path, workspace, home).is_some_and(|relative| self.exact.is_match(relative))
    }

    /// Whether a deny rule with this pattern covers `path`. A deny rule covers more than an allow rule: it covers
    /// everything below a match and compares folded names, and a pattern without `/` matches a name at any depth,
    /// inside and outside the workspace.
    pub(crate) fn denies(&self, path: &Path, workspace: &Path, home: &Path) -> bool {
        if self.covers(path, workspace, home) {
            return true;
        }
        // A file system that folds names also folds the names in the paths of workspace and home.
        let fold_of = |path: &Path| fold_path(path).unwrap_or_else(|| path.to_owned());
        fold_path(path).is_some_and(|folded| self.covers(&folded, &fold_of(workspace), &fold_of(home)))
    }

    fn covers(&self, path: &Path, workspace: &Path, home: &Path) -> bool {
        let anywhere = self.matches_anywhere();
        if anywhere {
            let rest = self.pattern.strip_prefix("**/").unwrap_or(&self.pattern);
            let names = path.components().filter_map(|component| match component {
                Component::Normal(name) => Some(Path::new(name)),
                Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
            });
            if !rest.contains('/') && names.into_iter().any(|name| self.folded.is_match(name)) {
                return true;
            }
        }
        let relative = self
            .relative(path, workspace, home)
            .or_else(|| if anywhere { path.strip_prefix("/").ok() } else { None });
        relative.is_some_and(|relative| relative.ancestors().any(|part| self.folded.is_match(part)))
    }

    /// Whether the pattern can cover a path with these pairs of characters: a fast check before [`Self::denies`].
    pub(crate) fn may_deny(&self, pairs: CharPairs) -> bool {
        pairs.is_superset(self.pairs)
    }

    /// Whether one component of the pattern is `name`, ignoring case.
    pub(crate) fn names_component(&self, name: &str) -> bool {
        self.pattern.split('/').any(|part| part.eq_ignore_ascii_case(name))
    }

    /// Whether a deny rule with this pattern may cover something below `directory`.
    pub(crate) fn may_match_below(&self, directory: &Path, workspace: &Path, home: &Path) -> bool {
        if self.matches_anywhere() {
            return true;
        }
        let root = self.root(workspace, home);
        root.starts_with(directory) || directory.starts_with(&root)
    }

    /// Returns the directory that contains everything that a rule with this pattern covers. Not meaningful for a
    /// pattern that [matches anywhere](Self::matches_anywhere).
    pub(crate) fn root(&self, workspace: &Path, home: &Path) -> PathBuf {
        let start = match self.anchor {
            Anchor::Root => Path::new("/"),
            Anchor::Home => home,
            Anchor::Workspace => workspace,
        };
        let literal = self.pattern.split('/').take_while(|name| !has_wildcard(name));
        literal.fold(start.to_owned(), |path, name| path.join(name))
    }

    /// Whether a shell pattern may expand to something that a deny rule with this pattern covers.
    pub(crate) fn may_overlap(&self, shell_pattern: &str) -> bool {
        let own: Vec<&str> = self.pattern.split('/').filter(|name| *name != "**").collect();
        let wild = shell_pattern.split('/').filter(|name| has_wildcard(name));
        let overlaps_own = |name: &str| own.iter().any(|own| names_overlap(name, own));
        wild.into_iter().any(overlaps_own)
    }

    /// Whether an allow rule with this pattern may cover something below `directory`, but not all of it.
    pub(crate) fn may_allow_below(&self, directory: &Path, workspace: &Path, home: &Path) -> bool {
        let root = self.root(workspace, home);
        (root != directory && root.starts_with(directory))
            || (directory.starts_with(&root) && !self.is_tree())
    }

    /// Whether the pattern is a single path, or a single path and everything below it.
    pub(crate) fn is_tree(&self) -> bool {
        !self.matches_anywhere() && !has_wildcard(self.pattern.strip_suffix("/**").unwrap_or(&self.pattern))
    }

    /// Whether a deny rule with this pattern matches names at any depth, also outside the workspace.
    pub(crate) fn matches_anywhere(&self) -> bool {
        self.anchor == Anchor::Workspace && (!self.pattern.contains('/') || self.pattern.starts_with("**/"))
    }

    /// Whether the pattern is a plain path without wildcards.
    pub(crate) fn is_plain(&self) -> bool {
        !has_wildcard(&self.pattern)
    }

    fn relative<'a>(&self, path: &'a Path, workspace: &Path, home: &Path) -> Option<&'a Path> {
        match self.anchor {
            Anchor::Root => path.strip_prefix("/").ok(),
            Anchor::Home => path.strip_prefix(home).ok(),
            Anchor::Workspace => path.strip_prefix(workspace).ok(),
        }
    }
}

impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

/// Whether some file name matches both patterns. Brackets and braces are treated as matching anything.
fn names_overlap(shell: &str, own: &str) -> bool {
    if own.starts_with('.') && shell.starts_with(['*', '?', '[']) {
        // Wildcards of the shell do not match hidden names.
        return false;
    }
    let (shell, own) = (simplify(shell), simplify(own));
    // Dynamic programming: each cell is whether the rest of `shell` and the rest of `own` can be the same name.
    let mut below = vec![false; own.len() + 1];
    for (i, a) in shell.iter().map(Some).chain([None]).enumerate().collect::<Vec<_>>().into_iter().rev() {
        let last = i == shell.len();
        let mut row = vec![false; own.len() + 1];
        for j in (0..=own.len()).rev() {
            let at = |row: &[bool], index: usize| row.get(index).copied().unwrap_or(false);
            let overlaps = match (a, own.get(j)) {
                (None, None) => true,
                (Some('*'), _) if at(&below, j) => true,
                (Some('*'), Some(_)) => at(&row, j + 1),
                (_, Some('*')) => at(&row, j + 1) || (!last && at(&below, j)),
                (Some(a), Some(b)) => (a == b || *a == '?' || *b == '?') && at(&below, j + 1),
                (Some(_), None) | (None, Some(_)) => false,
            };
            if let Some(cell) = row.get_mut(j) {
                *cell = overlaps;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(false)
}

/// Returns a pattern of literal characters, `?` and `*`; other wildcards become `*`.
fn simplify(pattern: &str) -> Vec<char> {
    let mut closing = None;
    let mut simple = Vec::new();
    for c in pattern.chars().flat_map(char::to_lowercase) {
        match (closing, c) {
            (Some(end), c) if c == end => closing = None,
            (Some(_), _) => {}
            (None, '[') => {
                closing = Some(']');
                simple.push('*');
            }
            (None, '{') => {
                closing = Some('}');
                simple.push('*');
            }
            (None, '\\') => simple.push('*'),
            (None, c) => simple.push(c),
        }
    }
    simple
}

/// A pattern over text.
#[derive(Clone, Debug)]
pub struct TextGlob {
    text: String,
    exact: Pattern,
    folded: Pattern,
}

impl TextGlob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The reason why it is invalid, as text.
    pub fn new(text: &str) -> Result<Self, String> {
        let (exact, folded) = (Pattern::new(text, false, false)?, Pattern::new(text, false, true)?);
        Ok(Self { text: text.to_owned(), exact, folded })
    }

    /// Whether all of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.exact.is_match(text)
    }

    /// Whether every text that begins with `start` matches.
    pub(crate) fn matches_all_with_prefix(&self, start: &str) -> bool {
        let literal = self.text.strip_suffix('*').unwrap_or("");
        self.text.ends_with('*') && !has_wildcard(literal) && start.starts_with(literal)
    }

    /// Whether some text that begins with `start` may match, ignoring case.
    pub(crate) fn may_match_with_prefix(&self, start: &str) -> bool {
        let literal = self.text.split(['*', '?', '[', '{', '\\']).next().unwrap_or("").to_lowercase();
        let start = start.to_lowercase();
        literal.starts_with(&start) || start.starts_with(&literal)
    }

    /// Whether all of `text` matches, ignoring case.
    pub fn matches_folded(&self, text: &str) -> bool {
        self.folded.is_match(text)
    }
}

impl fmt::Display for TextGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
