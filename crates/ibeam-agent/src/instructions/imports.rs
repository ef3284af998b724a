//! The imports of a `CLAUDE.md`: `@PATH` in its text, outside of code, names another text file of the repository.

use std::path::{Path, PathBuf};

/// The endings of files that are imported. Other files stay names, which the model can read.
const ENDINGS: [&str; 3] = [".md", ".mdc", ".txt"];

/// Returns the paths that the text in `directory` imports, in their order, each once.
pub(super) fn imported_paths(text: &str, directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| start.starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(found)) if open == found => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                // Every second part is code.
                let prose = line.split('`').step_by(2);
                let names = prose.flat_map(str::split_whitespace).filter_map(name_of_import);
                for path in names.map(|name| directory.join(name)) {
                    if !paths.contains(&path) {
                        paths.push(path);
                    }
                }
            }
        }
    }
    paths
}

/// Returns the path in a word that is an import.
fn name_of_import(word: &str) -> Option<&str> {
    let name = word.trim_start_matches(['(', '"', '\'']).strip_prefix('@')?;
    let name = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
    (!name.starts_with('~') && ENDINGS.iter().any(|ending| name.ends_with(ending))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_a_word_with_the_path_of_a_text_outside_of_code() {
        let text = "See @README.md and (@docs/style.md).\n`@code.md` @README.md mail a@b.md @package.json\n```\n\
                    @fenced.md\n```\n@~/private.md @../up.txt @x";
        let paths = imported_paths(text, Path::new("/r"));
        assert_eq!(paths, ["/r/README.md", "/r/docs/style.md", "/r/../up.txt"].map(PathBuf::from));
    }
}
