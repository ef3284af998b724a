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
    /// The pattern for deny rules, which compare folded names and also take names with brackets literally.
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
        let exact = Pattern::new(&with_directory(&pattern), true, false)?;
        let denied = |pattern: &str| Pattern::new(&fold_case(&with_directory(pattern)), true, true);
        // The additional alternatives may exceed the limits of a pattern.
        let folded = denied(&with_literal_names(&pattern)).or_else(|_| denied(&pattern))?;
        let pairs = CharPairs::required_by(&pattern);
        Ok(Self { text: text.to_owned(), anchor, pattern, exact, folded, pairs })
    }

    /// Whether an allow rule with this pattern covers `path`.
    pub(crate) fn allows(&self, path: &Path, workspace: &Path, home: &Path) -> bool {
        self.relative(path, workspace, home).is_some_and(|relative| self.exact.is_match(relative))
    }

    /// Whether a deny rule with this pattern covers `path`. A deny rule covers more than an allow rule: it covers
    /// everything below a match and compares folded names, a name with brackets such as `[id]` is a pattern and also that
    /// very name, and a pattern without `/` matches a name at any depth, inside and outside the workspace.
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

/// Returns the pattern that covers the directory of `dir/**` too, because a tool that walks it requests access to the
/// directory.
fn with_directory(pattern: &str) -> String {
    match pattern.strip_suffix("/**") {
        Some(directory) if !directory.is_empty() => format!("{{{directory},{pattern}}}"),
        Some(_) | None => pattern.to_owned(),
    }
}

/// Returns the pattern whose names with brackets or braces also match themselves: projects have directories such as
/// `[id]`. A pattern with a bracket that spans names, or that escapes one, is returned unchanged.
fn with_literal_names(pattern: &str) -> String {
    let count = |name: &str, c: char| name.matches(c).count();
    let is_closed = |name: &str| count(name, '[') == count(name, ']') && count(name, '{') == count(name, '}');
    if pattern.contains('\\') || !pattern.split('/').all(is_closed) {
        return pattern.to_owned();
    }
    let names = pattern.split('/').map(|name| match name.contains(['[', '{']) {
        true => format!("{{{},{}}}", escape_commas(name), escape_brackets(name)),
        false => name.to_owned(),
    });
    names.collect::<Vec<_>>().join("/")
}

/// Returns the name as an alternative within braces: a comma of its own is a character.
fn escape_commas(name: &str) -> String {
    let (mut depth, mut is_class, mut escaped) = (0_usize, false, String::new());
    for c in name.chars() {
        match c {
            ',' if depth == 0 && !is_class => {
                escaped.push_str("[,]");
                continue;
            }
            '[' => is_class = true,
            ']' => is_class = false,
            '{' if !is_class => depth += 1,
            '}' if !is_class => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped.push(c);
    }
    escaped
}

/// Returns the pattern of the name in which brackets, braces and commas are characters; `*` and `?` stay wildcards.
fn escape_brackets(name: &str) -> String {
    let escape = |c| match c {
        '[' | ']' | '{' | '}' | ',' => format!("[{c}]"),
        c => String::from(c),
    };
    name.chars().map(escape).collect()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expect: bool) {
        let glob = PathGlob::new(pattern).unwrap();
        let (workspace, home) = (Path::new("/w"), Path::new("/h"));
        assert_eq!(glob.denies(&workspace.join(path), workspace, home), expect, "{pattern} {path}");
    }

    #[test]
    fn a_deny_rule_covers_a_name_with_brackets_as_pattern_and_as_name() {
        for (pattern, path, expect) in [
            ("app/[id]/**", "app/[id]/x", true),
            ("app/[id]/**", "app/[ID]", true),
            ("app/[id]/**", "app/i/x", true),
            ("app/[id]/**", "app/z/x", false),
            ("app/[id]/", "app/[id]/a/b", true),
            ("[...slug]", "a/[...slug]/b", true),
            ("app/[id].*", "app/[id].tsx", true),
            ("{a,b}/[id]/x", "a/[id]/x", true),
            ("{a,b}/[id]/x", "{a,b}/i/x", true),
            ("{a,b}/[id]/x", "c/[id]/x", false),
            ("x,[id]", "x,[id]", true),
            ("x,[id]", "x,i", true),
            ("x,[id]", "i", false),
            ("{a/x,[id]/y}", "a/x", true),
            ("{a/x,[id]/y}", "d/y", true),
        ] {
            check(pattern, path, expect);
        }
    }

    #[test]
    fn an_allow_rule_takes_a_name_with_brackets_as_a_pattern_only() {
        let glob = PathGlob::new("app/[id]/x").unwrap();
        let allows = |path: &str| glob.allows(Path::new(path), Path::new("/w"), Path::new("/h"));
        assert!(allows("/w/app/i/x") && !allows("/w/app/[id]/x"));
    }

    proptest! {
        #[test]
        fn names_taken_literally_only_add_to_what_a_pattern_matches(
            pattern in r"[ab\[\]{},*?!/\\-]{1,12}",
            path in r"[ab\[\]{},/]{1,8}",
        ) {
            if let Ok(plain) = Pattern::new(&pattern, true, true)
                && plain.is_match(&path)
            {
                let literal = Pattern::new(&with_literal_names(&pattern), true, true);
                prop_assert!(literal.is_ok_and(|literal| literal.is_match(&path)));
            }
        }
    }
}
