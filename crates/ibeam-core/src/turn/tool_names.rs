//! Finds the tool that a model means by a name that no tool has.
//!
//! Models write the names of tools of other programs, add a namespace, or leave tokens of their chat format in the name.
//! The call is not executed: its arguments are those of another tool too.

/// Names of tools here, each with names of tools of other programs for the same purpose, without case, `_` and `-`.
const OTHER_NAMES: [(&str, &[&str]); 9] = [
    ("read", &["readfile", "view", "viewfile", "cat", "openfile", "readmanyfiles", "fileread"]),
    ("write", &["writefile", "createfile", "filewrite", "savefile", "writetofile"]),
    (
        "edit",
        &[
            "editfile",
            "strreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "applypatch",
            "searchreplace",
            "multiedit",
            "replace",
            "replaceinfile",
            "patch",
            "applydiff",
        ],
    ),
    (
        "shell",
        &[
            "bash",
            "execute",
            "exec",
            "execcommand",
            "executecommand",
            "terminal",
            "runterminalcmd",
            "runcommand",
            "runshellcommand",
            "localshell",
            "containerexec",
            "runinterminal",
            "sh",
        ],
    ),
    (
        "grep",
        &["grepsearch", "ripgrep", "rg", "search", "searchfiles", "searchfilecontent", "codebasesearch"],
    ),
    ("glob", &["globfilesearch", "filesearch", "find", "findfiles", "listfiles", "findbyname"]),
    ("ls", &["listdir", "listdirectory", "list", "dir"]),
    ("delete", &["deletefile", "remove", "removefile", "rm"]),
    ("update_todos", &["todowrite", "updateplan", "writetodos", "managetodolist", "todo", "todos"]),
];

/// Returns the offered tool that `name` probably means.
pub(super) fn near_tool_name<'a>(name: &str, offered: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Tokens of the chat format follow the name, a namespace comes before it.
    let name = name.split("<|").next().unwrap_or_default().trim();
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or_default();
    let (whole, last) = (folded(name), folded(last));
    let means = |tool: &str| {
        let own = folded(tool);
        let other = OTHER_NAMES.iter().find(|(here, _)| *here == tool).map(|(_, names)| *names);
        let is_other = |name: &str| other.unwrap_or_default().contains(&name);
        own == whole || own == last || is_other(&whole) || is_other(&last) || is_typing_error(&own, &last)
    };
    let mut near: Vec<&str> = offered.filter(|tool| means(tool)).collect();
    // The shortest is the closest: `read` before `mcp_x_read`.
    near.sort_by_key(|tool| (folded(tool) != whole, tool.len()));
    near.first().copied()
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether one character is missing, added or replaced, in names of at least five characters.
fn is_typing_error(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().min(other.len()) < 4 || one.len().max(other.len()) < 5 {
        return false;
    }
    let head = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = |text: &[char]| text.len() - head;
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = tail.min(rest(&one)).min(rest(&other));
    rest(&one).max(rest(&other)) - tail <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: [&str; 7] =
        ["edit", "grep", "mcp_db_query_rows", "read", "shell", "update_todos", "web_fetch"];

    #[test]
    fn names_of_other_programs_and_of_chat_formats_have_a_near_tool() {
        for (name, expect) in [
            ("functions.read", Some("read")),
            ("default_api.read", Some("read")),
            ("Read", Some("read")),
            ("read_file", Some("read")),
            (" read", Some("read")),
            ("read<|channel|>commentary", Some("read")),
            ("Bash", Some("shell")),
            ("run_terminal_cmd", Some("shell")),
            ("functions.apply_patch", Some("edit")),
            ("TodoWrite", Some("update_todos")),
            ("WebFetch", Some("web_fetch")),
            ("mcp__db__query_rows", Some("mcp_db_query_rows")),
            ("shel", Some("shell")),
            ("update_todo", Some("update_todos")),
            ("teleport", None),
            ("red", None),
            ("", None),
            ("write_file", None),
        ] {
            assert_eq!(near_tool_name(name, OFFERED.into_iter()), expect, "{name}");
        }
    }
}
