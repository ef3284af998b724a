//! Globs for paths relative to a directory, as `glob`, `grep`, `ls` and rule files have them.
//!
//! Names in projects have brackets and braces: `src/app/(auth)/[locale]/page.tsx`. Where such a name exists, the part of the
//! glob is the name and no pattern. After a wildcard it is both.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ibeam_protocol::{Sentence, sentence};

use crate::glob_bounds;

/// A compiled glob.
#[derive(Clone, Debug)]
pub struct PathGlob(Vec<GlobMatcher>);

impl PathGlob {
    /// Compiles a glob for paths relative to `directory`. One without `/` matches at any depth, as in ignore files.
    ///
    /// # Errors
    /// The message that it is too complex or not a glob.
    pub fn new(pattern: &str, directory: &Path) -> Result<Self, Sentence> {
        let below = Path::new(pattern).strip_prefix(directory).ok().and_then(Path::to_str);
        let pattern = below.unwrap_or(pattern).trim_start_matches("./");
        glob_bounds::check(pattern).map_err(|bound| {
            let head = pattern.get(..pattern.floor_char_boundary(60)).unwrap_or_default();
            Sentence::from(format!(
                "the glob `{head}` is too complex: {bound}; simplify it, or search in several calls"
            ))
        })?;
        let full = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let compile =
            |glob: &String| Ok(GlobBuilder::new(glob).literal_separator(true).build()?.compile_matcher());
        let forms: Result<_, globset::Error> = forms(&full, directory).iter().map(compile).collect();
        forms.map(Self).map_err(|error| {
            let reason = error.kind();
            sentence!("`{pattern}` is not a glob such as `src/**/*.rs`: {reason}", pattern, reason)
        })
    }

    /// Whether a path relative to the directory matches.
    pub fn is_match(&self, relative: &Path) -> bool {
        self.0.iter().any(|matcher| matcher.is_match(relative))
    }
}

/// Returns the globs of which a path has to match one.
fn forms(glob: &str, directory: &Path) -> Vec<String> {
    let mut place = Some(PathBuf::from(directory));
    let (mut pattern, mut literal) = (Vec::new(), Vec::new());
    for part in glob.split('/') {
        let is_name =
            !part.contains(['*', '?', '\\']) && part.matches('{').count() == part.matches('}').count();
        let has_brackets = part.contains(['[', ']', '{', '}']);
        let escaped = globset::escape(part);
        let inner = place.take().map(|place| place.join(part));
        match inner {
            _ if !is_name => {
                pattern.push(part.to_owned());
                literal.push(part.to_owned());
            }
            Some(inner) if !has_brackets || inner.symlink_metadata().is_ok() => {
                pattern.push(escaped.clone());
                literal.push(escaped);
                place = Some(inner);
            }
            Some(_) => {
                pattern.push(part.to_owned());
                literal.push(part.to_owned());
            }
            None => {
                pattern.push(part.to_owned());
                literal.push(escaped);
            }
        }
    }
    let mut forms = vec![pattern.join("/"), literal.join("/")];
    forms.dedup();
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_that_exists_is_no_pattern() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in
            ["app/(auth)/[locale]/[[...in]]/page.tsx", "app/@modal/{x}/[id]/page.tsx", "app/l/page.tsx"]
        {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        let all =
            ["app/(auth)/[locale]/[[...in]]/page.tsx", "app/@modal/{x}/[id]/page.tsx", "app/l/page.tsx"];
        for (glob, expect) in [
            ("app/(auth)/[locale]/[[...in]]/page.tsx", &all[..1]),
            ("app/(auth)/[locale]/**", &all[..1]),
            ("app/@modal/**/[id]/*.tsx", &all[1..2]),
            ("app/@modal/{x}/**", &all[1..2]),
            ("app/[lm]/*", &all[2..]),
            ("app/{l,m}/page.tsx", &all[2..]),
            ("app/{l/page.tsx,m}", &all[2..]),
            ("**/[lk]/*", &all[2..]),
            ("*.tsx", &all[..]),
            ("page.ts[xy]", &all[..]),
        ] {
            let compiled = PathGlob::new(glob, root).unwrap();
            let found: Vec<&str> =
                all.into_iter().filter(|path| compiled.is_match(Path::new(path))).collect();
            assert_eq!(found, expect, "{glob}");
        }
        assert!(PathGlob::new("a/[", root).is_err());
    }
}
