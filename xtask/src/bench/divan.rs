//! A parser of divan's output, a tree with six columns. Divan has no other format.

/// The measurement of one bench function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The bench, the groups in it, the function and its argument, outermost first.
    pub(crate) path: Vec<String>,
    /// The median in seconds, or `None` if nothing was measured.
    pub(crate) median: Option<f64>,
    /// The throughputs in divan's format, one for each counter.
    pub(crate) throughput: Vec<String>,
}

/// The number of columns: fastest, slowest, median, mean, samples, iterations.
const COLUMNS: usize = 6;
/// The index of the column with the median.
const MEDIAN_COLUMN: usize = 2;
/// The number of characters of indentation for each level of the tree.
const INDENT_WIDTH: usize = 3;

/// Parses every function in the order of the tree, measured or not.
///
/// # Errors
/// A line that cannot be parsed.
pub(crate) fn parse_rows(tree: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    for line in tree.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("Timer precision")) {
        let (name, cells) = split_line(line);
        let Some((depth, name)) = parse_name(&name) else {
            // A line without a name has the throughput of a counter for the row above.
            let throughput = cells.get(MEDIAN_COLUMN).filter(|cell| !cell.is_empty());
            match (rows.last_mut(), throughput) {
                (Some((_, row)), Some(throughput)) => row.throughput.push(throughput.clone()),
                (None, _) | (_, None) => return Err(line.to_owned()),
            }
            continue;
        };
        path.truncate(depth);
        if path.len() < depth {
            return Err(line.to_owned());
        }
        path.push(name);
        let median = match cells.get(MEDIAN_COLUMN).map(String::as_str) {
            None | Some("" | "median") => None,
            Some(median) => Some(parse_seconds(median).ok_or_else(|| line.to_owned())?),
        };
        rows.push((depth, Row { path: path.clone(), median, throughput: Vec::new() }));
    }
    // A row with a deeper row right below it is a group.
    let depths: Vec<usize> = rows.iter().skip(1).map(|(depth, _)| *depth).chain([0]).collect();
    let leaves = rows.into_iter().zip(depths).filter(|((depth, _), next)| next <= depth && *depth > 0);
    Ok(leaves.map(|((_, row), _)| row).collect())
}

/// Splits a line into the name with the lines of the tree before it, and the columns. A name may contain the column
/// separator.
fn split_line(line: &str) -> (String, Vec<String>) {
    let mut parts: Vec<&str> = line.rsplitn(COLUMNS, '│').collect();
    parts.reverse();
    match parts.split_first() {
        Some((first, rest)) if rest.len() == COLUMNS - 1 => {
            // If the first column has a value, at least two blanks separate the name and the value.
            let first = first.trim_end();
            let name = first.find("─ ").map_or(0, |at| at + "─ ".len());
            let at = first.rfind("  ").filter(|at| *at >= name).map_or(first.len(), |at| at + 2);
            let (name, fastest) = first.split_at_checked(at).unwrap_or((first, ""));
            let cells = [fastest].into_iter().chain(rest.iter().copied()).map(|cell| cell.trim().to_owned());
            (name.trim_end().to_owned(), cells.collect())
        }
        Some(_) | None => (line.trim_end().to_owned(), Vec::new()),
    }
}

/// Returns the depth of a name and the name, or `None` for a line without a name.
fn parse_name(text: &str) -> Option<(usize, String)> {
    match text.split_once("├─ ").or_else(|| text.split_once("╰─ ")) {
        Some((before, name)) => Some((before.chars().count() / INDENT_WIDTH + 1, name.to_owned())),
        None if text.chars().all(|character| character == '│' || character == ' ') => None,
        None => Some((0, text.to_owned())),
    }
}

/// Parses a duration such as `1.5 ms`.
fn parse_seconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::parse_rows;

    #[track_caller]
    fn check(tree: &str, expect: &[(&str, Option<f64>, &[&str])]) {
        let rows = parse_rows(tree).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.path.join("/"), row.median)).collect();
        let expected: Vec<_> = expect.iter().map(|(path, median, _)| ((*path).to_owned(), *median)).collect();
        assert_eq!(found, expected);
        for (row, (_, _, throughput)) in rows.iter().zip(expect) {
            assert_eq!(row.throughput, *throughput);
        }
    }

    const GROUPS: &str = "\
Timer precision: 20 ns
answers            fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ anthropic                     │               │               │               │         │
│  ├─ by_memcpy    95.32 µs      │ 195.3 µs      │ 97.5 µs       │ 101.1 µs      │ 100     │ 100
│  │               12.3 GB/s     │ 6.1 GB/s      │ 12.2 GB/s     │ 11.9 GB/s     │         │
│  ╰─ deltas       4.1 ms        │ 9.3 ms        │ 4.5 ms        │ 4.6 ms        │ 100     │ 100
│                  300.3 MB/s    │ 130.1 MB/s    │ 275.1 MB/s    │ 270.2 MB/s    │         │
│                  2.43 Mitem/s  │ 1.07 Mitem/s  │ 2.22 Mitem/s  │ 2.17 Mitem/s  │         │
╰─ open                          │               │               │               │         │
   ╰─ session                    │               │               │               │         │
      ├─ a | b     1 s           │ 2 s           │ 1.5 s         │ 1.5 s         │ 2       │ 2
      ╰─ [\"x  y\"]  1.5 ns        │ 2 ns          │ 1.75 ns       │ 1.75 ns       │ 2       │ 2

";

    #[test]
    fn groups_arguments_and_counters_are_parsed() {
        check(
            GROUPS,
            &[
                ("answers/anthropic/by_memcpy", Some(97.5 * 1e-6), &["12.2 GB/s"]),
                ("answers/anthropic/deltas", Some(4.5 * 1e-3), &["275.1 MB/s", "2.22 Mitem/s"]),
                ("answers/open/session/a | b", Some(1.5), &[]),
                ("answers/open/session/[\"x  y\"]", Some(1.75 * 1e-9), &[]),
            ],
        );
    }

    #[test]
    fn a_function_without_a_measurement_has_a_row() {
        let tree = "\
search       fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ by_fd
╰─ call      1 ms          │ 1 ms          │ 1 ms          │ 1 ms          │ 1       │ 1
";
        check(tree, &[("search/by_fd", None, &[]), ("search/call", Some(1e-3), &[])]);
    }

    #[test]
    fn other_text_than_a_tree_is_rejected() {
        for line in ["      │ 1 ms │ 1 ms │ 1 ms │ 1 │ 1", "x │ 1 │ 1 │ 1 parsec │ 1 │ 1", "│  │  ├─ deep"]
        {
            let line_error = parse_rows(line).expect_err(line);
            assert_eq!(line_error, line);
        }
    }
}
