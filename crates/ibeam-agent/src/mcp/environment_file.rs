//! The `envFile` of a server: lines `NAME=VALUE`, as programs for development read them from `.env`.

use std::path::Path;

use ibeam_files::regular_file;

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the variables of the file.
///
/// # Errors
/// The message that it cannot be read.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let bytes = regular_file::read(path, MAX_BYTES)
        .map_err(|error| format!("its `envFile` `{}` cannot be read: {error}", path.display()))?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// Skips comments and lines that name no variable.
fn parse(text: &str) -> Vec<(String, String)> {
    let lines =
        text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let variables = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '\0');
        is_name.then(|| (name.to_owned(), self::value(value.trim())))
    });
    variables.collect()
}

/// Returns a value without its quotes, or without the comment after it.
fn value(text: &str) -> String {
    let quoted = |quote: char| text.strip_prefix(quote)?.rsplit_once(quote).map(|(value, _)| value);
    if let Some(value) = quoted('\'') {
        return value.to_owned();
    }
    match quoted('"') {
        Some(value) => value.replace("\\n", "\n").replace("\\\"", "\""),
        None => text.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_with_their_quotes_and_comments() {
        let text = "\u{feff}# c\nA=1\n\nexport B = x y # c\r\nC=\"a # \\n\\\"b\\\"\" # c\nD='$A'\nno variable\n=x\nE=a=b\nF=\n";
        let expect = [("A", "1"), ("B", "x y"), ("C", "a # \n\"b\""), ("D", "$A"), ("E", "a=b"), ("F", "")];
        assert_eq!(parse(text), expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
