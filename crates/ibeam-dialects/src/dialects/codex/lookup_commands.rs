//! Converts calls that read, search, list or fetch into shell commands, because Codex has no tools for these purposes.
//!
//! The command is equivalent to the call but did not run. Its output is the data that the tool returned, in the form that
//! the command would print.

use serde_json::Value;

use crate::contract::{self, ContractCall};
use crate::json::{Object, text};

/// Returns the command with the same result; `None` for other tools.
pub(super) fn lookup_command(key: &str, args: &Object) -> Option<String> {
    let args: Vec<String> = match key {
        "readToolCall" => read_command(args),
        "grepToolCall" => grep_command(args),
        "globToolCall" => {
            let pattern = text(args, "globPattern").unwrap_or_default();
            let mut words = ["rg", "--files", "-g", pattern].map(str::to_owned).to_vec();
            words.extend(text(args, "targetDirectory").map(str::to_owned));
            words
        }
        "lsToolCall" => {
            let ignored = args.get("ignore").and_then(Value::as_array).into_iter().flatten();
            let ignored = ignored.filter_map(Value::as_str).map(|glob| format!("--ignore={glob}"));
            let path = text(args, "path").map(str::to_owned);
            std::iter::once("ls".to_owned()).chain(ignored).chain(path).collect()
        }
        "webFetchToolCall" => {
            ["curl", "-sL", text(args, "url").unwrap_or_default()].map(str::to_owned).to_vec()
        }
        _ => return None,
    };
    Some(args.iter().map(|arg| quote_for_shell(arg)).collect::<Vec<_>>().join(" "))
}

/// Returns the output, the exit code and the status of the command.
pub(super) fn lookup_outcome(call: &ContractCall) -> (String, Value, &'static str) {
    match call.arm() {
        None if call.result.is_none() => (String::new(), Value::Null, "in_progress"),
        None => (String::new(), 0.into(), "completed"),
        Some(("success", payload)) => (lookup_output(&call.key, payload), 0.into(), "completed"),
        Some((arm @ "rejected", payload)) => (contract::failure_text(arm, payload), Value::Null, "declined"),
        Some((arm, payload)) => (contract::failure_text(arm, payload), 1.into(), "failed"),
    }
}

fn read_command(args: &Object) -> Vec<String> {
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    let path = text(args, "path").unwrap_or_default().to_owned();
    let first = number("offset").unwrap_or(1).max(1);
    let words = match (number("limit"), first) {
        (Some(lines), _) => {
            let last = first.saturating_add(lines.max(1)).saturating_sub(1);
            vec!["sed".to_owned(), "-n".to_owned(), format!("{first},{last}p")]
        }
        (None, 1) => vec!["cat".to_owned()],
        (None, _) => vec!["tail".to_owned(), "-n".to_owned(), format!("+{first}")],
    };
    words.into_iter().chain([path]).collect()
}

fn grep_command(args: &Object) -> Vec<String> {
    let is_set = |key: &str| args.get(key).and_then(Value::as_bool).unwrap_or_default();
    let mut words = vec!["rg".to_owned()];
    let mut add = |flag: &str, value: Option<&str>| {
        words.push(flag.to_owned());
        words.extend(value.map(str::to_owned));
    };
    match text(args, "outputMode") {
        Some("files_with_matches") => add("-l", None),
        Some("count") => add("-c", None),
        Some(_) | None => add("-n", None),
    }
    if is_set("caseInsensitive") {
        add("-i", None);
    }
    if is_set("multiline") {
        add("-U", None);
    }
    for (key, flag) in [("glob", "-g"), ("type", "-t")] {
        if let Some(value) = text(args, key) {
            add(flag, Some(value));
        }
    }
    add("-e", text(args, "pattern").or(Some("")));
    words.extend(text(args, "path").map(str::to_owned));
    words
}

/// Returns the output of the command for the result of a successful call.
fn lookup_output(key: &str, payload: &Value) -> String {
    let lines = match key {
        "readToolCall" => return text_or_json(payload, "content"),
        "webFetchToolCall" => return text_or_json(payload, "markdown"),
        "grepToolCall" => payload.get("workspaceResults").and_then(Value::as_object).map(|results| {
            let mut lines = Vec::new();
            results.values().for_each(|result| add_match_lines(result, &mut lines));
            lines
        }),
        "globToolCall" => payload.get("files").map(|files| names(Some(files))),
        _ => payload.get("directoryTreeRoot").map(|root| {
            let mut lines = Vec::new();
            add_tree_lines(root, "", &mut lines);
            lines
        }),
    };
    match lines {
        Some(lines) => lines.into_iter().map(|line| line + "\n").collect(),
        None => text_or_json(payload, "message"),
    }
}

/// Returns the text under a key, or the payload as JSON if the key has no text.
fn text_or_json(payload: &Value, key: &str) -> String {
    payload.get(key).and_then(Value::as_str).map_or_else(|| payload.to_string(), str::to_owned)
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Adds `file:line:text`, `file` or `file:count` of each finding.
fn add_match_lines(result: &Value, lines: &mut Vec<String>) {
    let list = |value: &'_ Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    for file in list(result, "/content/matches") {
        for line in list(&file, "/matches") {
            let number = line.get("lineNumber").and_then(Value::as_u64).unwrap_or_default();
            lines.push(format!("{}:{number}:{}", text(&file, "file"), text(&line, "content")));
        }
    }
    lines.extend(names(result.pointer("/files/files")));
    for file in list(result, "/count/counts") {
        let count = file.get("count").and_then(Value::as_u64).unwrap_or_default();
        lines.push(format!("{}:{count}", text(&file, "file")));
    }
}

/// Adds the names of all files and directories below a directory. Names of directories end with a slash.
fn add_tree_lines(directory: &Value, prefix: &str, lines: &mut Vec<String>) {
    let children = |key: &str| directory.get(key).and_then(Value::as_array).into_iter().flatten();
    let name =
        |child: &Value, key: &str| child.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    for child in children("childrenDirs") {
        let path = name(child, "absPath");
        let below = format!("{prefix}{}/", path.rsplit('/').next().unwrap_or_default());
        lines.push(below.clone());
        add_tree_lines(child, &below, lines);
    }
    lines.extend(children("childrenFiles").map(|file| format!("{prefix}{}", name(file, "name"))));
}

/// Quotes an argument for a shell.
fn quote_for_shell(arg: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:=,".contains(c);
    match !arg.is_empty() && arg.chars().all(is_plain) {
        true => arg.to_owned(),
        false => format!("'{}'", arg.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::into_object;

    #[track_caller]
    fn check(key: &str, args: Value, command: &str, success: Value, output: &str) {
        let call = ContractCall {
            key: key.to_owned(),
            args: into_object(args),
            result: Some(json!({ "success": success })),
        };
        assert_eq!(super::lookup_command(key, &call.args).as_deref(), Some(command));
        assert_eq!(lookup_outcome(&call), (output.to_owned(), 0.into(), "completed"));
    }

    #[test]
    fn a_lookup_is_the_command_with_the_same_result() {
        let read = "readToolCall";
        check(read, json!({ "path": "a b" }), "cat 'a b'", json!({ "content": "x\n" }), "x\n");
        check(read, json!({ "path": "a", "offset": 3 }), "tail -n +3 a", json!({ "content": "" }), "");
        let part = json!({ "path": "a", "offset": 3, "limit": 2 });
        check(read, part, "sed -n 3,4p a", json!({ "content": "y" }), "y");
        let matches = json!([{ "file": "a", "matches": [{ "lineNumber": 2, "content": "it's" }] }]);
        check(
            "grepToolCall",
            json!({ "pattern": "it's", "path": "src", "glob": "*.rs", "caseInsensitive": true }),
            r"rg -n -i -g '*.rs' -e 'it'\''s' src",
            json!({ "workspaceResults": { "/w": { "content": { "matches": matches, "totalLines": 1 } } } }),
            "a:2:it's\n",
        );
        check(
            "grepToolCall",
            json!({ "pattern": "-x", "outputMode": "count" }),
            "rg -c -e -x",
            json!({ "workspaceResults": { "/w": { "count": { "counts": [{ "file": "a", "count": 2 }] } } } }),
            "a:2\n",
        );
        check(
            "globToolCall",
            json!({ "globPattern": "**/*.rs" }),
            "rg --files -g '**/*.rs'",
            json!({ "files": ["a.rs", "b/c.rs"] }),
            "a.rs\nb/c.rs\n",
        );
        let below = json!({ "absPath": "/w/b", "childrenFiles": [{ "name": "c" }], "childrenDirs": [] });
        check(
            "lsToolCall",
            json!({ "path": ".", "ignore": ["*.o"] }),
            "ls '--ignore=*.o' .",
            json!({ "directoryTreeRoot": { "childrenFiles": [{ "name": "a" }], "childrenDirs": [below] } }),
            "b/\nb/c\na\n",
        );
        check(
            "webFetchToolCall",
            json!({ "url": "https://example.com/?a=b" }),
            "curl -sL 'https://example.com/?a=b'",
            json!({ "url": "u", "markdown": "# M" }),
            "# M",
        );
    }

    #[test]
    fn a_failed_refused_or_open_lookup_has_its_status() {
        for (result, expect) in [
            (None, ("", Value::Null, "in_progress")),
            (Some(json!({ "fileNotFound": { "path": "a" } })), ("no such file: a", 1.into(), "failed")),
            (Some(json!({ "rejected": { "reason": "no" } })), ("no", Value::Null, "declined")),
        ] {
            let call = ContractCall { key: "readToolCall".to_owned(), args: Object::new(), result };
            let (output, code, status) = lookup_outcome(&call);
            assert_eq!((output.as_str(), code, status), expect);
        }
    }
}
