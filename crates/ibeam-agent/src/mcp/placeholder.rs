//! Placeholders `${…}` in a declaration: secrets, and paths that differ between machines.

use std::path::Path;

/// Returns the value of a variable; `None` if it is not set; an error message if it must not be used.
pub(super) type Variable<'a> = dyn Fn(&str) -> Result<Option<String>, String> + 'a;

/// Maximum depth of placeholders in defaults of placeholders.
const MAX_DEPTH: u32 = 8;

/// The values of the placeholders that are not variables.
pub(super) struct Placeholders<'a> {
    pub(super) home: &'a Path,
    pub(super) workspace: &'a Path,
}

impl Placeholders<'_> {
    /// Replaces `${env:NAME}` and `${NAME}` by the variable, `${NAME:-DEFAULT}` by the default if the variable is not set or
    /// empty, `${userHome}`, `${workspaceFolder}` and `${workspaceFolderBasename}` by the directories and the name, `${/}` by
    /// the separator of paths. An unclosed placeholder is not replaced.
    ///
    /// # Errors
    /// The message that a variable is not set or must not be used.
    pub(super) fn fill(&self, text: &str, variable: &Variable<'_>) -> Result<String, String> {
        self.fill_within(text, variable, MAX_DEPTH)
    }

    /// Fills a path: a leading `~/` is the home directory.
    ///
    /// # Errors
    /// The errors of [`Self::fill`].
    pub(super) fn fill_path(&self, text: &str, variable: &Variable<'_>) -> Result<String, String> {
        match text.strip_prefix("~/") {
            Some(rest) => Ok(format!("{}/{}", self.home.to_string_lossy(), self.fill(rest, variable)?)),
            None => self.fill(text, variable),
        }
    }

    fn fill_within(&self, text: &str, variable: &Variable<'_>, depth: u32) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = split_at_end(after) else { break };
            filled.push_str(before);
            filled.push_str(&self.value(name, variable, depth)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str, variable: &Variable<'_>, depth: u32) -> Result<String, String> {
        match name {
            "userHome" => Ok(self.home.to_string_lossy().into_owned()),
            "workspaceFolder" => Ok(self.workspace.to_string_lossy().into_owned()),
            "workspaceFolderBasename" => {
                Ok(self.workspace.file_name().unwrap_or_default().to_string_lossy().into_owned())
            }
            "/" | "pathSeparator" => Ok("/".to_owned()),
            name => {
                let name = name.strip_prefix("env:").unwrap_or(name);
                let (name, default) =
                    name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
                let value = variable(name)?.filter(|value| default.is_none() || !value.is_empty());
                match (value, default, depth.checked_sub(1)) {
                    (Some(value), _, _) => Ok(value),
                    (None, Some(default), Some(depth)) => self.fill_within(default, variable, depth),
                    (None, Some(default), None) => Ok(default.to_owned()),
                    (None, None, _) => Err(format!("the variable `{name}` is not set")),
                }
            }
        }
    }
}

/// Splits the text after `${` at the brace that ends the placeholder. A default may have placeholders.
fn split_at_end(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let placeholders = Placeholders { home: Path::new("/h"), workspace: Path::new("/w") };
        let variable = |name: &str| match name {
            "KEY" => Err("not this one".to_owned()),
            "EMPTY" => Ok(Some(String::new())),
            name => Ok((name == "TOKEN").then(|| "t-1".to_owned())),
        };
        let filled = placeholders.fill(text, &variable);
        assert_eq!(filled.as_deref().map_err(String::as_str), expect, "{text}");
    }

    #[test]
    fn placeholders_are_filled() {
        check("plain $TOKEN", Ok("plain $TOKEN"));
        check("${env:TOKEN} and ${TOKEN}", Ok("t-1 and t-1"));
        check("${userHome}/x:${workspaceFolder}/y", Ok("/h/x:/w/y"));
        check("${workspaceFolderBasename}${/}z", Ok("w/z"));
        check("open ${TOKEN", Ok("open ${TOKEN"));
    }

    #[test]
    fn a_default_is_used_for_a_variable_that_is_not_set_or_empty() {
        check("${GONE:-http://localhost:3111}/x", Ok("http://localhost:3111/x"));
        check("${TOKEN:-no}${EMPTY:-b}${env:GONE:-}${EMPTY}", Ok("t-1b"));
        check("${GONE:-${env:GONE:-${TOKEN}}}!", Ok("t-1!"));
        check("${KEY:-x}", Err("not this one"));
    }

    #[test]
    fn a_path_may_begin_at_the_home_directory() {
        let placeholders = Placeholders { home: Path::new("/h"), workspace: Path::new("/w") };
        for (text, expect) in [("~/bin/x", "/h/bin/x"), ("a~/b", "a~/b"), ("~user/x", "~user/x"), ("~", "~")]
        {
            assert_eq!(placeholders.fill_path(text, &|_| Ok(None)).as_deref(), Ok(expect));
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error() {
        check("${env:GONE}", Err("the variable `GONE` is not set"));
        check("${GONE}", Err("the variable `GONE` is not set"));
        check("x${TOKEN}${env:KEY}", Err("not this one"));
    }
}
