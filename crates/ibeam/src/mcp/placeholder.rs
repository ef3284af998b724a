//! Placeholders `${…}` in a declaration: secrets, and paths that differ between machines.

use std::path::Path;

/// Returns the value of a variable; `None` if it is not set; an error message if it must not be used.
pub(super) type Variable<'a> = dyn Fn(&str) -> Result<Option<String>, String> + 'a;

/// The values of the placeholders that are not variables.
pub(super) struct Placeholders<'a> {
    pub(super) home: &'a Path,
    pub(super) workspace: &'a Path,
}

impl Placeholders<'_> {
    /// Replaces `${env:NAME}` and `${NAME}` by the variable, `${userHome}` and `${workspaceFolder}` by the directories.
    /// An unclosed placeholder is not replaced.
    ///
    /// # Errors
    /// The message that a variable is not set or must not be used.
    pub(super) fn fill(&self, text: &str, variable: &Variable<'_>) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else { break };
            filled.push_str(before);
            filled.push_str(&self.value(name, variable)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str, variable: &Variable<'_>) -> Result<String, String> {
        match name {
            "userHome" => Ok(self.home.to_string_lossy().into_owned()),
            "workspaceFolder" => Ok(self.workspace.to_string_lossy().into_owned()),
            name => {
                let name = name.strip_prefix("env:").unwrap_or(name);
                variable(name)?.ok_or_else(|| format!("the variable `{name}` is not set"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let placeholders = Placeholders { home: Path::new("/h"), workspace: Path::new("/w") };
        let variable = |name: &str| match name {
            "KEY" => Err("not this one".to_owned()),
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
        check("open ${TOKEN", Ok("open ${TOKEN"));
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error() {
        check("${env:GONE}", Err("the variable `GONE` is not set"));
        check("${GONE}", Err("the variable `GONE` is not set"));
        check("x${TOKEN}${env:KEY}", Err("not this one"));
    }
}
