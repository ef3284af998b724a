//! Compiled patterns of rules, with size limits, lazy compilation and a fast pre-check.
//!
//! A managed file may have tens of thousands of rules, most of which cannot match a given path. The pairs of characters
//! in the path are enough to skip them.

use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// Maximum length of a pattern in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum nesting depth of braces.
const MAX_BRACE_DEPTH: usize = 8;
/// Maximum number of braces, brackets, alternatives and wildcards.
const MAX_SPECIAL: usize = 512;

/// One compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    glob: Box<Glob>,
    matcher: OnceLock<Box<GlobMatcher>>,
}

impl Pattern {
    /// Parses a pattern, in which `*` does not match `/` if `has_separator` is set. Limits keep the automaton small:
    /// the glob compiler does not have limits and panics if the regular expression gets too large.
    ///
    /// # Errors
    /// The reason why the pattern is invalid, as text.
    pub(crate) fn new(text: &str, has_separator: bool, ignores_case: bool) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let (mut depth, mut deepest, mut special) = (0_usize, 0_usize, 0_usize);
        for c in text.chars() {
            special += usize::from(matches!(c, '{' | ',' | '[' | '*' | '?'));
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        if deepest > MAX_BRACE_DEPTH {
            return Err(format!("its braces nest deeper than {MAX_BRACE_DEPTH}"));
        }
        if special > MAX_SPECIAL {
            return Err(format!("it has more than {MAX_SPECIAL} wildcards and alternatives"));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(has_separator)
            .backslash_escape(true)
            .case_insensitive(ignores_case)
            .build()
            .map_err(|error| error.kind().to_string())?;
        Ok(Self { glob: Box::new(glob), matcher: OnceLock::new() })
    }

    /// Whether all of `text` matches.
    pub(crate) fn is_match(&self, text: impl AsRef<Path>) -> bool {
        self.matcher.get_or_init(|| Box::new(self.glob.compile_matcher())).is_match(text)
    }
}

/// A set of pairs of adjacent ASCII characters, ignoring case. It may contain more pairs than were added, but not
/// fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CharPairs([u64; 4]);

impl CharPairs {
    const NONE: Self = Self([0; 4]);
    const ALL: Self = Self([u64::MAX; 4]);

    /// Returns the pairs in a path. A path with non-ASCII characters has every pair, because such characters may
    /// compare equal to ASCII ones.
    pub(crate) fn in_path(path: &Path) -> Self {
        let bytes = path.as_os_str().as_encoded_bytes();
        if bytes.is_ascii() { Self::NONE.with(bytes) } else { Self::ALL }
    }

    /// Returns pairs that occur in every path that `pattern` matches: those within literal parts of its names.
    pub(crate) fn required_by(pattern: &str) -> Self {
        // The end of a bracket expression is ambiguous: `[]ab]`.
        if !pattern.is_ascii() || pattern.contains(['\\', '[']) {
            return Self::NONE;
        }
        let (mut depth, mut found, mut from) = (0_usize, Self::NONE, 0);
        let bytes = pattern.as_bytes();
        for (at, byte) in bytes.iter().chain([&b'/']).enumerate() {
            let is_special = matches!(byte, b'*' | b'?' | b'{' | b'}' | b'/' | b'!');
            if is_special {
                if depth == 0 {
                    found = found.with(bytes.get(from..at).unwrap_or_default());
                }
                from = at + 1;
            }
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        found
    }

    /// Whether every pair of `other` is in this set.
    pub(crate) fn is_superset(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| other & !own == 0)
    }

    /// Adds the pairs of adjacent bytes.
    fn with(mut self, bytes: &[u8]) -> Self {
        for (first, second) in bytes.iter().zip(bytes.iter().skip(1)) {
            let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
            let bit = first.wrapping_mul(31).wrapping_add(second.wrapping_mul(7));
            if let Some(word) = self.0.get_mut(usize::from(bit >> 6)) {
                *word |= 1 << (bit & 63);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CharPairs, Pattern};
    use crate::glob::PathGlob;

    #[test]
    fn a_skipped_pattern_does_not_match() {
        let patterns = [
            "secret/**",
            "*.key",
            ".env*",
            "**/*.pem",
            "a[bc]d",
            "{a,bc}/x",
            "[!a]bc",
            "a{b,[c]}d",
            "~/x/",
            "/etc/x?",
            "[]]ab",
            "[]ab]cd",
            "[!]ab]cd",
            "a]b",
            "x[[]y",
            "{a,}bc",
            "SECRET/**",
            "a\\*b",
            "\u{e9}x",
            ".g*/hooks",
        ];
        let paths = [
            "/w/secret",
            "/w/Secret/a",
            "/w/a.KEY",
            "/w/.env.local",
            "/w/x/y.pem",
            "/w/abd",
            "/w/acd",
            "/w/bc/x",
            "/w/a/x",
            "/w/xbc",
            "/w/a]b",
            "/w/]ab",
            "/w/x[y",
            "/w/bc",
            "/h/x/y",
            "/etc/xy",
            "/w/a*b",
            "/w/\u{c9}x",
            "/w/.env.",
            "/w/sub/.git/hooks",
            "/w/\u{17f}ecret",
            "/w/.env::x",
            "/w/\u{212a}ey.\u{212a}ey",
            "/w/acd/e",
            "/w/acd",
            "/w/bcd",
            "/w/xcd",
        ];
        for pattern in patterns {
            let glob = PathGlob::new(pattern).unwrap();
            for path in paths.map(Path::new) {
                let is_skipped = !glob.may_deny(CharPairs::in_path(path));
                let denies = glob.denies(path, Path::new("/w"), Path::new("/h"));
                assert!(!(is_skipped && denies), "{pattern} {path:?}");
            }
        }
        let glob = PathGlob::new("secret/**").unwrap();
        assert!(!glob.may_deny(CharPairs::in_path(Path::new("/home/ann/work/src/main.rs"))));
    }

    #[test]
    fn the_largest_patterns_can_be_compiled() {
        for text in [
            format!("{}a{}", "{".repeat(8), "}".repeat(8)),
            "[a-z\u{e0}-\u{fe}]".repeat(300),
            "?".repeat(512),
            "*a".repeat(512),
            "**/".repeat(256),
            format!("{{{}}}", "ab,".repeat(500)),
            "\u{e9}".repeat(2000),
        ] {
            for fold in [false, true] {
                let pattern = Pattern::new(&text, true, fold).unwrap();
                assert_eq!(pattern.is_match("no such name"), text.starts_with("**"), "{text}");
            }
        }
    }
}
