//! The examples of `--help`.

use crate::command::facts_on_path;

/// The examples of a prompt.
const PROMPT_EXAMPLES: &[&str] = &[
    "ibeam \"Explain this project\"",
    "ibeam -p --output-format text \"Fix the failing test\"",
    "ibeam -p --continue --output-format json \"Now the docs\"",
];

/// The number of examples of a command that groups others.
const MAX_GROUP_EXAMPLES: usize = 4;

/// Returns the examples of a prompt or of the command at `path`; of a command that groups others, an example of each of the
/// first ones.
pub(super) fn of_command(path: &str) -> Vec<&'static str> {
    match facts_on_path(path).last() {
        None if path.is_empty() => PROMPT_EXAMPLES.to_vec(),
        None => Vec::new(),
        Some(facts) if facts.below.is_empty() => facts.examples.to_vec(),
        Some(facts) => {
            let below = facts.below.iter().filter_map(|facts| facts.examples.first().copied());
            below.take(MAX_GROUP_EXAMPLES).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::{Cli, parse};

    /// Splits a line as a shell does, without escapes and expansion.
    fn split(line: &str) -> Vec<OsString> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for character in line.chars() {
            match (quote, character) {
                (None, '"' | '\'') => quote = Some(character),
                (Some(open), _) if open == character => quote = None,
                (None, ' ') => words.push(String::new()),
                (None | Some(_), _) => words.last_mut().unwrap().push(character),
            }
        }
        words.into_iter().skip(1).map(Into::into).collect()
    }

    /// Adds the paths of all visible commands that group no others.
    fn add_paths(command: &Command, path: &str, paths: &mut Vec<String>) {
        let visible: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
        if visible.is_empty() || path.is_empty() {
            paths.push(path.to_owned());
        }
        for sub in visible {
            add_paths(sub, format!("{path} {}", sub.get_name()).trim(), paths);
        }
    }

    #[test]
    fn a_command_that_groups_others_has_examples_of_these() {
        let examples = of_command("policy");
        assert_eq!(examples, ["ibeam policy list", "ibeam policy test 'git push'"]);
        assert_eq!(of_command("sessions").len(), MAX_GROUP_EXAMPLES);
        assert_eq!(of_command("nothing"), [""; 0]);
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let mut paths = Vec::new();
        add_paths(&Cli::command(), "", &mut paths);
        assert!(paths.len() > 50, "{paths:?}");
        for path in &paths {
            let examples = of_command(path);
            assert!(!examples.is_empty(), "{path}");
            for example in examples {
                let Ok(cli) = parse(&split(example)) else { panic!("{example}") };
                let expected = format!("ibeam {path}");
                assert_eq!(cli.command_path.as_deref().unwrap_or("ibeam "), expected, "{example}");
            }
        }
    }
}
