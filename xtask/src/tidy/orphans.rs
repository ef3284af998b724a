//! Files that no module declares: the compiler never sees them, so nothing holds them true.

use std::path::Path;

use super::{Untidy, tracked};

pub(super) fn check(root: &Path) -> Result<Vec<String>, Untidy> {
    let files = tracked(root)?;
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    Ok(files.iter().filter_map(|path| finding(path, &read)).collect())
}

/// `read` gives the text of a file, where there is one.
fn finding(path: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (source, inner) = path.split_once("/src/")?;
    let (directory, name) = inner.rsplit_once('/').unwrap_or(("", inner));
    let name = name.strip_suffix(".rs")?;
    if directory.is_empty() && (name == "lib" || name == "main") || directory == "bin" {
        return None;
    }
    // `a/b.rs` is declared in `a.rs`, `b.rs` in the crate's root; a test beside `b.rs` by `#[path]` in `b.rs`.
    let parents = match directory {
        "" => vec!["lib.rs".to_owned(), "main.rs".to_owned()],
        directory => vec![format!("{directory}.rs")],
    };
    let tested = name.strip_suffix("_test").map(|tested| format!("{directory}/{tested}.rs"));
    let declared = parents.iter().chain(&tested).any(|parent| {
        let parent = format!("{source}/src/{}", parent.trim_start_matches('/'));
        read(&parent).is_some_and(|text| {
            text.contains(&format!("mod {name};")) || text.contains(&format!("\"{name}.rs\""))
        })
    });
    (!declared).then(|| format!("{path}: no module declares it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, declared: bool) {
        let read = |path: &str| match path {
            "crates/x/src/lib.rs" => Some("mod a;\npub mod c;\n".to_owned()),
            "crates/x/src/a.rs" => Some("mod b;\n#[path = \"a_test.rs\"]\nmod tests;\n".to_owned()),
            _ => None,
        };
        assert_eq!(finding(path, &read).is_none(), declared, "{path}");
    }

    #[test]
    fn a_file_without_a_declaration_is_found() {
        check("crates/x/src/lib.rs", true);
        check("crates/x/src/a.rs", true);
        check("crates/x/src/a/b.rs", true);
        check("crates/x/src/a_test.rs", true);
        check("crates/x/src/c.rs", true);
        check("crates/x/src/d.rs", false);
        check("crates/x/src/a/d.rs", false);
        check("crates/x/tests/d.rs", true);
    }
}
