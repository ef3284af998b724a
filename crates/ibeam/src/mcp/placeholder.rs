//! `${…}` in a declaration: values that do not belong into a file, and places that differ from machine to machine.

use std::path::Path;

/// Returns the value of a variable, `None` where it is not set, or in words why it must not be used.
pub(super) type Variable<'a> = dyn Fn(&str) -> Result<Option<String>, String> + 'a;

/// What the names that are no variables stand for.
pub(super) struct Placeholders<'a> {
    pub(super) home: &'a Path,
    pub(super) workspace: &'a Path,
}

impl Placeholders<'_> {
    /// `text` with `${env:NAME}` and `${NAME}` replaced by the variable, `${userHome}` and `${workspaceFolder}` by
    /// the directories. What is not closed stays as it is.
    ///
    /// # Errors
    /// A variable that is not set or must not be used, in words.
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
