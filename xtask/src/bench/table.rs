//! The table of measurements, with the reference of each row.

use std::fmt::Write as _;

use super::divan::Row;

/// The prefix of the names of references.
const REFERENCE: &str = "by_";

const HEADER: [&str; 5] = ["bench", "median", "throughput", "ratio", "to"];

/// Returns the table as Markdown. A reference has its own row only if no row is compared with it.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut lines: Vec<[String; 5]> = vec![HEADER.map(str::to_owned)];
    for row in rows.iter().filter(|row| reference_name(row).is_none()) {
        let mut name = row.path.join(" · ");
        let mut figures = [row.median.map_or("–".to_owned(), format_duration), row.throughput.join(", ")];
        let compared: Vec<&Row> = rows.iter().filter(|other| is_reference_for(other, row)).collect();
        if compared.is_empty() {
            let [median, throughput] = figures;
            lines.push([name, median, throughput, String::new(), String::new()]);
            continue;
        }
        for other in compared {
            let ratio = match (row.median, other.median) {
                (Some(measured), Some(reference_time)) if reference_time > 0.0 => {
                    format!("{} ×", format_three_digits(measured / reference_time))
                }
                (_, _) => "–".to_owned(),
            };
            let to = reference_name(other).unwrap_or_default().replace('_', " ");
            let to = match other.median {
                Some(median) => format!("{to} {}", format_duration(median)),
                None => format!("{to}, not measured"),
            };
            let [median, throughput] = std::mem::take(&mut figures);
            lines.push([std::mem::take(&mut name), median, throughput, ratio, to]);
        }
    }
    format_markdown(&lines)
}

/// Returns the name of a reference without its prefix, or `None` for another row.
fn reference_name(row: &Row) -> Option<&str> {
    // The function is the last part of the path, or the second last part if the row has an argument.
    row.path.iter().rev().take(2).find_map(|name| name.strip_prefix(REFERENCE))
}

/// Whether `other` is a reference for `row`: in the same group, with the same argument or without one.
fn is_reference_for(other: &Row, row: &Row) -> bool {
    let Some(at) = other.path.iter().rposition(|name| name.starts_with(REFERENCE)) else { return false };
    let (group, argument) = (other.path.get(..at), other.path.get(at + 1));
    reference_name(row).is_none()
        && row.path.get(..at) == group
        && row.path.len() <= at + 2
        && argument.is_none_or(|argument| row.path.get(at + 1) == Some(argument))
}

fn format_duration(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let unit = units.into_iter().find(|(scale, _)| seconds >= *scale);
    let (scale, unit) = unit.unwrap_or((1e-9, "ns"));
    format!("{} {unit}", format_three_digits(seconds / scale))
}

/// Formats a number with three significant digits.
fn format_three_digits(number: f64) -> String {
    let digits = match number {
        number if number >= 100.0 => 0,
        number if number >= 10.0 => 1,
        number if number >= 1.0 => 2,
        number if number >= 0.1 => 3,
        _ => 4,
    };
    format!("{number:.digits$}")
}

fn format_markdown(lines: &[[String; 5]]) -> String {
    let mut widths = [3; 5];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (width, cell) in widths.iter().zip(line) {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            let _ = write!(text, "| {cell}{blanks} ");
        }
        text.push_str("|\n");
        if number == 0 {
            let rule: String = widths.iter().map(|width| format!("|{}", "-".repeat(width + 2))).collect();
            let _ = writeln!(text, "{rule}|");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::divan::Row;
    use super::render;

    fn row(path: &str, median: Option<f64>, throughput: &[&str]) -> Row {
        let throughput = throughput.iter().map(|render| (*render).to_owned()).collect();
        Row { path: path.split('/').map(str::to_owned).collect(), median, throughput }
    }

    #[track_caller]
    fn check(rows: &[Row], expect: &[&str]) {
        let render = render(rows);
        let lines: Vec<String> = render
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_row_is_compared_within_its_group_and_argument() {
        check(
            &[
                row("b/g/by_memcpy/1", Some(1e-6), &[]),
                row("b/g/by_memcpy/2", Some(2e-6), &[]),
                row("b/g/ours/1", Some(3e-6), &["1 GB/s", "2 item/s"]),
                row("b/g/ours/2", Some(3e-6), &[]),
                row("b/other/ours", Some(0.25), &[]),
            ],
            &[
                "| b · g · ours · 1 | 3.00 µs | 1 GB/s, 2 item/s | 3.00 × | memcpy 1.00 µs |",
                "| b · g · ours · 2 | 3.00 µs | | 1.50 × | memcpy 2.00 µs |",
                "| b · other · ours | 250 ms | | | |",
            ],
        );
    }

    #[test]
    fn a_reference_without_an_argument_counts_for_each_argument() {
        check(
            &[
                row("b/by_exec", Some(1e-3), &[]),
                row("b/shell/x", Some(2e-3), &[]),
                row("b/plain", Some(1e-4), &[]),
            ],
            &[
                "| b · shell · x | 2.00 ms | | 2.00 × | exec 1.00 ms |",
                "| b · plain | 100 µs | | 0.100 × | exec 1.00 ms |",
            ],
        );
    }

    #[test]
    fn a_reference_without_a_measurement_is_marked() {
        check(
            &[
                row("s/by_rg", None, &[]),
                row("s/by_fd_in_order", Some(2.0), &[]),
                row("s/call", Some(1.0), &[]),
            ],
            &["| s · call | 1.00 s | | – | rg, not measured |", "| | | | 0.500 × | fd in order 2.00 s |"],
        );
    }
}
