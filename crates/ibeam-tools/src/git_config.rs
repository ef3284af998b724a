//! The part of git's configuration syntax that is needed to read its keys and values.
//!
//! Follows no includes and evaluates nothing. A text that cannot be parsed returns `None`, so that the caller can
//! assume the worst.

/// Returns the last value of `key`, e.g. `core.worktree`; `None` when there is none, or the text cannot be parsed.
pub(crate) fn value(text: &[u8], key: &str) -> Option<String> {
    entries(text)?.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Whether the text has only entries that `git init` and `git clone` write; in the repository of a submodule they also
/// write the path of its work tree.
pub(crate) fn is_plain(text: &[u8], is_submodule: bool) -> bool {
    entries(text).is_some_and(|entries| {
        entries.iter().all(|(key, value)| {
            is_plain_entry(key, value) || (is_submodule && key == "core.worktree" && value.starts_with("../"))
        })
    })
}

/// Whether the texts differ only in the upstream settings of branches.
pub(crate) fn differs_only_in_branches(old: &[u8], new: &[u8]) -> bool {
    let is_of_branch = |(key, _): &&(String, String)| key.starts_with("branch.");
    match (entries(old), entries(new)) {
        (Some(old), Some(new)) => {
            let rest = |entry: &&(String, String)| !is_of_branch(entry);
            old.iter().filter(rest).eq(new.iter().filter(rest))
                && new.iter().filter(is_of_branch).all(|(key, value)| is_plain_entry(key, value))
        }
        (None, _) | (_, None) => false,
    }
}

fn is_plain_entry(key: &str, value: &str) -> bool {
    let core = [
        "repositoryformatversion",
        "filemode",
        "bare",
        "logallrefupdates",
        "ignorecase",
        "precomposeunicode",
        "symlinks",
        "sharedrepository",
        "abbrev",
        "autocrlf",
        "eol",
    ];
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let (_, name) = rest.rsplit_once('.').unwrap_or(("", rest));
    match section {
        "core" => core.contains(&rest),
        "extensions" => matches!(name, "objectformat" | "refstorage" | "partialclone"),
        "remote" => match name {
            "url" => !value.contains("::") && !value.starts_with('-'),
            "fetch" | "tagopt" | "promisor" | "partialclonefilter" | "mirror" => true,
            _ => false,
        },
        "branch" => matches!(name, "remote" | "merge" | "rebase" | "vscode-merge-base"),
        "submodule" => {
            matches!(name, "url" | "active") && !value.contains("::") && !value.starts_with(['!', '-'])
        }
        "user" => matches!(name, "name" | "email"),
        "init" => name == "defaultbranch",
        _ => false,
    }
}

/// Returns every key, section and name in lower case, with its value; `None` for a text that git would not read, or
/// that this parser does not support.
pub(crate) fn entries(text: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut entries = Vec::new();
    let mut section = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut rest = line.trim();
        if let Some(header) = rest.strip_prefix('[') {
            let (name, after) = parse_header(header)?;
            section = Some(name);
            rest = after.trim();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name.trim(), parse_value(value, &mut lines)?),
            None => (rest, "true".to_owned()),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return None;
        }
        entries.push((format!("{}.{}", section.as_ref()?, name.to_ascii_lowercase()), value));
    }
    Some(entries)
}

/// Parses `section "sub"]`; returns the section and the rest of the line.
fn parse_header(text: &str) -> Option<(String, &str)> {
    let end = text.find([']', ' ', '\t', '"'])?;
    let (name, rest) = text.split_at(end);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let rest = rest.trim_start();
    if let Some(after) = rest.strip_prefix(']') {
        return Some((name, after));
    }
    let mut sub = String::new();
    let mut chars = rest.strip_prefix('"')?.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => sub.push(chars.next()?),
            c => sub.push(c),
        }
    }
    let after = chars.as_str().trim_start().strip_prefix(']')?;
    Some((format!("{name}.{sub}"), after))
}

/// Parses a value: removes quotes, escapes, the comment and line continuations.
fn parse_value<'a>(text: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let (mut value, mut is_quoted, mut trimmed_length) = (String::new(), false, 0);
    let mut chars = text.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' => match chars.next() {
                None => {
                    chars = lines.next()?.chars();
                    continue;
                }
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some(c @ ('"' | '\\')) => value.push(c),
                Some(_) => return None,
            },
            '#' | ';' if !is_quoted => break,
            c => value.push(c),
        }
        if is_quoted || !c.is_whitespace() {
            trimmed_length = value.len();
        }
    }
    if is_quoted {
        return None;
    }
    value.truncate(trimmed_length);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{differs_only_in_branches, is_plain, value};

    const CLONE: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
        \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\
        \tmerge = refs/heads/main\n[user]\n\tname = A \"b\" ; c\n";

    #[track_caller]
    fn check(text: &str, expect: bool) {
        assert_eq!(is_plain(text.as_bytes(), false), expect, "{text}");
    }

    #[test]
    fn settings_that_git_writes_are_plain() {
        check("", true);
        check(CLONE, true);
        check("# only words\n; and more\n[core]\n", true);
    }

    #[test]
    fn settings_that_run_programs_are_not_plain_in_any_spelling() {
        for more in [
            "[core]\n\tfsmonitor = touch x\n",
            "[CORE] FsMonitor = touch x\n",
            "[core] hooksPath = h\n",
            "[core \"\"] x = y\n",
            "[core]\n\tbare = false\\\n\n\tsshCommand = x\n",
            "[alias]\n\tz = !touch x\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:x\"]\n\tpath = e\n",
            "[remote \"origin\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[filter \"x\"]\n\tclean = x\n",
            "[submodule \"x\"]\n\tupdate = !x\n",
            "fsmonitor = x\n",
            "[core\n",
            "\u{feff}[core]\n",
        ] {
            check(&format!("{CLONE}{more}"), false);
        }
    }

    #[test]
    fn a_branch_may_follow_another() {
        let with =
            |more: &str| differs_only_in_branches(CLONE.as_bytes(), format!("{CLONE}{more}").as_bytes());
        assert!(with("[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n"));
        assert!(!with("[branch \"x\"]\n\tmergeoptions = --strategy=x\n"));
        assert!(!with("[core]\n\tbare = true\n"));
        assert!(!with("[remote \"origin\"]\n\turl = elsewhere\n"));
        assert!(is_plain(b"[core]\n\tworktree = ../../../sub\n", true));
        assert!(!is_plain(b"[core]\n\tworktree = /home\n", true));
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (text, expect) in [
            ("[core]\n\tworktree = ../../../sub\n", Some("../../../sub")),
            ("[core] worktree = \"a # b\" # c\n", Some("a # b")),
            ("[core]\nworktree = a\\\nb\n", Some("ab")),
            ("[core]\nworktree = a\n[core]\nworktree=b\n", Some("b")),
            ("[core]\nworktree = \"open\n", None),
            ("[other]\nworktree = a\n", None),
        ] {
            assert_eq!(value(text.as_bytes(), "core.worktree").as_deref(), expect, "{text:?}");
        }
    }
}
