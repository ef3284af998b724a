//! The records of callgrind, a tool of valgrind that counts instructions and lists functions.

use std::time::Duration;

/// The timeout of a run. Programs are slow under valgrind.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);

/// Returns the names of the functions in a record, which has each name only at its first use.
pub(crate) fn function_names(record: &str) -> Vec<&str> {
    let named = record.lines().filter_map(|line| {
        let (key, rest) = line.split_once("fn=(")?;
        let (_, name) = rest.split_once(") ")?;
        matches!(key, "" | "c").then_some(name)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::function_names;

    #[test]
    fn a_record_names_the_functions_that_ran_or_were_called() {
        let record =
            "fn=(12) main\n+3 4\nfn=(12)\ncfn=(7) tree_sitter::Parser::new\ncalls=1 0\ncfi=(3) file.rs\n";
        assert_eq!(function_names(record), ["main", "tree_sitter::Parser::new"]);
    }
}
