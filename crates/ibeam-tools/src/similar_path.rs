//! Finds the files that a path of a call may mean which does not exist: models write URLs, quotes, line numbers and paths
//! from another directory.
//!
//! Only names files that the policy lets the model read.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::blocking::EndFlag;
use crate::file_error::FileError;
use crate::files::Files;
use crate::tree_search::{WalkStep, walk_files};

const MAX_NAMED: usize = 3;
const MAX_COMPARED: usize = 50_000;
/// The time limit of the search.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the error with files that may be meant, if it is about a file that does not exist.
pub(crate) fn explain(files: &Files, error: FileError) -> FileError {
    match error {
        FileError::NotFound { path, similar } if similar.is_empty() => {
            let similar = find(files, &path);
            FileError::NotFound { path, similar }
        }
        error => error,
    }
}

/// Returns existing files: the one that the path means in another form, else those of the same name.
fn find(files: &Files, requested: &str) -> Vec<String> {
    let forms = other_forms(requested);
    if let Some(form) = forms.iter().find(|form| *form != requested && exists(files, form)) {
        return vec![display(files, form)];
    }
    let Some(name) = forms.last().and_then(|form| Path::new(form).file_name()) else { return Vec::new() };
    files_named(files, name)
}

/// Returns the path in ever simpler forms.
fn other_forms(requested: &str) -> Vec<String> {
    let mut forms = vec![requested.to_owned()];
    let mut add = |simplify: &dyn Fn(&str) -> Option<String>| {
        if let Some(form) = forms.last().and_then(|form| simplify(form)) {
            forms.push(form);
        }
    };
    add(&|path| Some(path.trim().to_owned()));
    add(&|path| Some(path.trim_matches(['"', '\'', '`', '<', '>']).to_owned()));
    add(&|path| path.strip_prefix("file://").map(str::to_owned));
    add(&|path| path.strip_prefix('@').map(str::to_owned));
    add(&without_line_number);
    add(&without_line_number);
    add(&|path| path.contains('\\').then(|| path.replace('\\', "/")));
    add(&|path| path.starts_with('/').then(|| path.trim_start_matches('/').to_owned()));
    forms
}

/// Returns `path` of `path:12`.
fn without_line_number(path: &str) -> Option<String> {
    let (path, number) = path.rsplit_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number.is_empty() || number.split('-').all(is_number)).then(|| path.to_owned())
}

fn exists(files: &Files, path: &str) -> bool {
    files.resolve(path).is_ok_and(|resolved| {
        files.read_policy().allows_read(&resolved.real) && files.workspace().stat(&resolved.real).is_ok()
    })
}

fn display(files: &Files, path: &str) -> String {
    files.workspace().display(Path::new(path)).to_string()
}

/// Returns the first files of the workspace with this name.
fn files_named(files: &Files, name: &OsStr) -> Vec<String> {
    let mut found = Vec::new();
    let mut compared = 0;
    let workspace = files.workspace();
    walk_files(workspace.root(), files.read_policy(), &EndFlag::after(TIMEOUT), |path| {
        compared += 1;
        if path.file_name() == Some(name) {
            found.push(workspace.display(path).to_string());
        }
        if found.len() == MAX_NAMED || compared == MAX_COMPARED { WalkStep::Stop } else { WalkStep::Continue }
    });
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::Fixture;

    #[test]
    fn a_path_in_another_form_and_a_name_elsewhere_are_named() {
        let fixture = Fixture::with("src/a.txt", "x");
        fixture.put("secret/b.txt", "x");
        let root = fixture.root().display().to_string();
        for requested in [
            &format!("file://{root}/src/a.txt"),
            "src/a.txt\n",
            " src/a.txt",
            "\"src/a.txt\"",
            "`src/a.txt`",
            "@src/a.txt",
            "src/a.txt:1",
            "src/a.txt:1:20",
            "src/a.txt:3-9",
            "src\\a.txt",
            "/src/a.txt",
            "a.txt",
            "lib/a.txt",
        ] {
            for tool in ["read", "delete", "ls"] {
                let outcome = fixture.call(tool, json!({ "path": requested }));
                let message = outcome.for_model();
                assert!(
                    message.contains("src/a.txt`") && message.contains("there is"),
                    "{tool} {requested}: {message}"
                );
            }
        }
        let message = fixture.call("read", json!({ "path": "none.txt" })).for_model();
        assert!(message.ends_with("`ls` or `glob` shows what does"), "{message}");
    }

    #[test]
    fn a_file_that_may_not_be_read_is_not_named() {
        let fixture = Fixture::guarded(&[], &["Read(secret/**)"]);
        fixture.put("secret/b.txt", "x");
        for requested in ["b.txt", "/secret/b.txt", "`secret/b.txt`"] {
            let message = fixture.call("read", json!({ "path": requested })).for_model();
            assert!(!message.contains("there is"), "{requested}: {message}");
        }
    }
}
