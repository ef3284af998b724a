//! The code blocks of a page, by heading.

use crate::suite::SuiteError;

/// The code blocks of a page.
pub(super) struct Recipes {
    blocks: Vec<Block>,
}

/// A code block, and the last heading above it.
struct Block {
    heading: String,
    code: String,
}

impl Recipes {
    /// Reads the blocks of a page in Markdown.
    pub(super) fn new(page: &str) -> Self {
        let mut blocks = Vec::new();
        let mut heading = "";
        let mut open: Option<String> = None;
        for line in page.lines() {
            match (&mut open, line.starts_with("```")) {
                (None, true) => open = Some(String::new()),
                (None, false) if line.starts_with('#') => heading = line.trim_start_matches('#').trim(),
                (None, false) => {}
                (Some(code), false) => {
                    code.push_str(line);
                    code.push('\n');
                }
                (Some(code), true) => {
                    blocks.push(Block { heading: heading.to_owned(), code: std::mem::take(code) });
                    open = None;
                }
            }
        }
        Self { blocks }
    }

    /// Returns the code block with this number, from 0, below a heading.
    ///
    /// # Errors
    /// The page has no such block.
    pub(super) fn block(&self, heading: &str, number: usize) -> Result<&str, SuiteError> {
        let mut blocks = self.blocks.iter().filter(|block| block.heading == heading);
        let missing = || SuiteError::Failed(format!("no code block {number} below the heading `{heading}`"));
        blocks.nth(number).map(|block| block.code.as_str()).ok_or_else(missing)
    }
}

/// Returns a recipe with another text in each place of `documented`.
///
/// # Errors
/// The recipe does not contain the text, so it must have changed.
pub(super) fn replace(recipe: &str, documented: &str, actual: &str) -> Result<String, SuiteError> {
    if !recipe.contains(documented) {
        return Err(SuiteError::Failed(format!("`{documented}` is not in the recipe:\n{recipe}")));
    }
    Ok(recipe.replace(documented, actual))
}

#[cfg(test)]
mod tests {
    use super::{Recipes, replace};

    #[test]
    fn blocks_are_found_by_their_heading() {
        let page = "# A\n```sh\n# no heading\none\n```\n## B\ntext\n```\ntwo\n```\n\n```yaml\nthree\n```\n";
        let recipes = Recipes::new(page);
        assert_eq!(recipes.block("A", 0).unwrap(), "# no heading\none\n");
        assert_eq!(recipes.block("B", 1).unwrap(), "three\n");
        assert!(recipes.block("B", 2).is_err() && recipes.block("no heading", 0).is_err());
        assert_eq!(replace("a b a", "a", "c").unwrap(), "c b c");
        assert!(replace("b", "a", "c").is_err());
    }
}
