//! A whole command line as the `command` of a server: files of several programs have it there, with its arguments.

use std::path::{Path, PathBuf};

/// Characters that have a meaning for a shell. No shell starts a server, so a line with them is not split.
const SHELL_CHARACTERS: [char; 13] = ['|', '&', ';', '<', '>', '$', '`', '(', ')', '*', '?', '\\', '\n'];

/// Splits `command` into the program and its first arguments, unless it is the name of a program with blanks in it.
pub(super) fn split(
    command: String,
    args: Vec<String>,
    directory: &Path,
    program_directories: &[PathBuf],
) -> (String, Vec<String>) {
    let is_program = match command.contains('/') {
        true => directory.join(&command).exists(),
        false => program_directories.iter().any(|directory| directory.join(&command).exists()),
    };
    if is_program {
        return (command, args);
    }
    match words(&command) {
        Some((program, first_args)) if !first_args.is_empty() => {
            (program, first_args.into_iter().chain(args).collect())
        }
        Some(_) | None => (command, args),
    }
}

/// Returns the words of a line: split at white space, text in quotes is a part of one word. `None` for a line that only a
/// shell understands.
fn words(line: &str) -> Option<(String, Vec<String>)> {
    if line.contains(SHELL_CHARACTERS) {
        return None;
    }
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let mut words = words.into_iter();
    quote.is_none().then(|| Some((words.next()?, words.collect())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_unless_it_is_a_program_or_needs_a_shell() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("my tools")).unwrap();
        std::fs::write(directory.path().join("my tools/x"), "").unwrap();
        for (command, expect) in [
            ("npx", vec!["npx", "last"]),
            ("npx -y  @a/b", vec!["npx", "-y", "@a/b", "last"]),
            ("x --name 'a b' --d=\"c d\" ''", vec!["x", "--name", "a b", "--d=c d", "", "last"]),
            ("./my tools/x", vec!["./my tools/x", "last"]),
            ("./your tools/x", vec!["./your", "tools/x", "last"]),
            ("cd a && b", vec!["cd a && b", "last"]),
            ("x 'open", vec!["x 'open", "last"]),
            (" ", vec![" ", "last"]),
        ] {
            let (program, args) = split(command.to_owned(), vec!["last".to_owned()], directory.path(), &[]);
            assert_eq!(std::iter::once(program).chain(args).collect::<Vec<_>>(), expect, "{command}");
        }
    }
}
