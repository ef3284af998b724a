//! Permission rules of Claude Code as tokens of ours.
//!
//! A token never covers more than its rule where it allows, nor less where it forbids. A rule for which there is no
//! such token is `Unclear`: whoever asked knows which way is safe.

/// What a rule is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// To allow: at most as much.
    Allow,
    /// To forbid, or to put to a person what is allowed otherwise: at least as much.
    Forbid,
}

/// A rule in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The same in tokens.
    Tokens(Vec<String>),
    /// It is about a tool that there is not, or that needs no leave.
    Nothing,
    /// No token says that.
    Unclear,
}

/// Tools of Claude Code, with those of ours that do the same.
const TOOLS: &[(&str, &[&str])] = &[
    ("Bash", &["shell"]),
    ("Read", &["read"]),
    ("Edit", &["edit", "delete"]),
    ("MultiEdit", &["edit", "delete"]),
    ("Write", &["write", "delete"]),
    ("Grep", &["grep"]),
    ("Glob", &["glob", "ls"]),
    ("LS", &["ls"]),
    ("TodoWrite", &["update_todos"]),
    ("WebFetch", &["web_fetch"]),
];

/// Tools that Claude Code has and we have not.
const THEIRS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillShell",
    "ListMcpResourcesTool",
    "NotebookEdit",
    "NotebookRead",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "WebSearch",
];

/// Tools of ours that do what one of theirs does, `Name` or `Name(*)`; none for a rule about a part of a tool.
pub(super) fn tools(rule: &str) -> &'static [&'static str] {
    let name = rule.strip_suffix("(*)").or_else(|| rule.strip_suffix("()")).unwrap_or(rule);
    TOOLS.iter().find(|(theirs, _)| *theirs == name).map_or(&[], |(_, ours)| ours)
}

/// Returns the names of their tools that do what `tool` of ours does.
pub(in crate::dialect) fn names_of(tool: &str) -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter(move |(_, ours)| ours.contains(&tool)).map(|(theirs, _)| *theirs)
}

/// Every tool of ours that one of theirs stands for.
pub(super) fn all_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().flat_map(|(_, ours)| ours.iter().copied())
}

/// The rules of a list: parted by commas and spaces outside of brackets.
pub(super) fn split(list: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_u32;
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match rules.last_mut() {
            Some(rule) if depth > 0 || !(letter == ',' || letter.is_whitespace()) => rule.push(letter),
            Some(_) | None => rules.push(String::new()),
        }
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

/// The tokens for `rule`: `Tool`, `Tool(what)`, `mcp__server` or `mcp__server__tool`.
pub(super) fn tokens(rule: &str, to: Use) -> Said {
    if let Some(name) = rule.strip_prefix("mcp__") {
        return mcp(name);
    }
    let (tool, what) = match rule.split_once('(') {
        None => (rule, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(what) => (tool, Some(what.trim())),
            None => return Said::Unclear,
        },
    };
    let what = what.filter(|what| !what.is_empty() && *what != "*");
    match (tool, what) {
        ("Bash", None) => one("Shell(*:*)"),
        ("Bash", Some(what)) => command(what, to),
        ("Read", None) => one("Read(/**)"),
        ("Read", Some(what)) => path("Read", what, to),
        ("Edit" | "MultiEdit" | "Write", None) => one(match to {
            // Elsewhere needs `--add-dir` in any case.
            Use::Allow => "Write(**)",
            Use::Forbid => "Write(/**)",
        }),
        ("Edit" | "MultiEdit" | "Write", Some(what)) => path("Write", what, to),
        ("WebFetch", None) => one("WebFetch(*)"),
        ("WebFetch", Some(what)) => match what.strip_prefix("domain:") {
            Some(domain) => one(&format!("WebFetch({})", domain.trim())),
            None => Said::Unclear,
        },
        (tool, None) if THEIRS.contains(&tool) || !tools(tool).is_empty() => Said::Nothing,
        (tool, Some(_)) if THEIRS.contains(&tool) => Said::Nothing,
        _ => Said::Unclear,
    }
}

fn one(token: &str) -> Said {
    Said::Tokens(vec![token.to_owned()])
}

fn mcp(name: &str) -> Said {
    let (server, tool) = name.split_once("__").unwrap_or((name, "*"));
    let plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
    if plain(server) && (tool == "*" || plain(tool)) {
        return one(&format!("Mcp({server}:{tool})"));
    }
    Said::Unclear
}

/// `git status`, `git log *`, `npm run test:*`.
fn command(what: &str, to: Use) -> Said {
    // Their rules match the text of a command, ours the words that it becomes.
    if what.contains(|c: char| c.is_control() || "&|;<>$`\"'\\(){}[]?".contains(c)) {
        return Said::Unclear;
    }
    let (text, open) = match what.strip_suffix(":*").or_else(|| what.strip_suffix(" *")) {
        Some(text) => (text.trim_end(), true),
        None => (what, false),
    };
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let arguments = words.collect::<Vec<_>>().join(" ");
    if program.is_empty() || program.contains(['*', ':']) {
        return Said::Unclear;
    }
    let tokens: &[String] = match (arguments.is_empty(), open, to) {
        (true, true, _) => &[format!("Shell({program}:*)")],
        (_, false, _) => &[format!("Shell({program}:{arguments})")],
        (false, true, Use::Allow) => {
            &[format!("Shell({program}:{arguments})"), format!("Shell({program}:{arguments} *)")]
        }
        (false, true, Use::Forbid) => &[format!("Shell({program}:{arguments}*)")],
    };
    Said::Tokens(tokens.to_vec())
}

/// `//abs`, `~/home`, `/of/the/project`, `below/here`, `name`: patterns as `.gitignore` has them.
fn path(kind: &str, what: &str, to: Use) -> Said {
    if what.starts_with('!') || what.contains(['{', '}', '\\']) || what.split('/').any(|name| name == "..") {
        return Said::Unclear;
    }
    let token = |pattern: &str| format!("{kind}({pattern})");
    if what.starts_with("//") {
        return one(&token(what.get(1..).unwrap_or_default()));
    }
    if what.starts_with("~/") {
        return one(&token(what));
    }
    let anchored = what.strip_prefix("./").or_else(|| what.strip_prefix('/'));
    let here = anchored.unwrap_or(what);
    if here.is_empty() {
        return Said::Unclear;
    }
    let anywhere = anchored.is_none() && !here.trim_end_matches('/').contains('/');
    match (anywhere, to) {
        // A deny token without a slash matches a name wherever it stands.
        (true, Use::Forbid) | (false, _) => one(&token(here)),
        (true, Use::Allow) => Said::Tokens(vec![token(&format!("**/{here}"))]),
    }
}

#[cfg(test)]
mod tests {
    use ibeam_policy::Rule;

    use super::*;

    /// `expect` holds tokens parted by spaces, `-` for nothing, `?` for unclear; for allowing and for forbidding.
    #[track_caller]
    fn check(rule: &str, allow: &str, forbid: &str) {
        for (to, expect) in [(Use::Allow, allow), (Use::Forbid, forbid)] {
            let expect = match expect {
                "-" => Said::Nothing,
                "?" => Said::Unclear,
                tokens => Said::Tokens(tokens.split(" & ").map(str::to_owned).collect()),
            };
            let said = tokens(rule, to);
            assert_eq!(said, expect, "{rule} {to:?}");
            if let Said::Tokens(tokens) = said {
                for token in tokens {
                    assert!(token.parse::<Rule>().is_ok(), "{token}");
                }
            }
        }
    }

    #[test]
    fn commands_keep_their_bounds() {
        check("Bash", "Shell(*:*)", "Shell(*:*)");
        check("Bash(*)", "Shell(*:*)", "Shell(*:*)");
        check("Bash(git:*)", "Shell(git:*)", "Shell(git:*)");
        check("Bash(git *)", "Shell(git:*)", "Shell(git:*)");
        check("Bash(ls)", "Shell(ls:)", "Shell(ls:)");
        check("Bash(npm run build)", "Shell(npm:run build)", "Shell(npm:run build)");
        check("Bash(npm run test:*)", "Shell(npm:run test) & Shell(npm:run test *)", "Shell(npm:run test*)");
        check("Bash(git * main)", "Shell(git:* main)", "Shell(git:* main)");
        for unclear in ["Bash(* install)", "Bash(a && b)", "Bash(echo \"x\")", "Bash(ls", "Bash(a:b c)"] {
            check(unclear, "?", "?");
        }
    }

    #[test]
    fn paths_keep_their_anchors() {
        check("Read", "Read(/**)", "Read(/**)");
        check("Read(//etc/hosts)", "Read(/etc/hosts)", "Read(/etc/hosts)");
        check("Read(~/notes/**)", "Read(~/notes/**)", "Read(~/notes/**)");
        check("Edit(/src/**)", "Write(src/**)", "Write(src/**)");
        check("Edit(src/**)", "Write(src/**)", "Write(src/**)");
        check("Write", "Write(**)", "Write(/**)");
        check("Read(./.env)", "Read(.env)", "Read(.env)");
        check("Read(*.env)", "Read(**/*.env)", "Read(*.env)");
        for unclear in ["Read(../x)", "Read(!x)", "Edit(a{b,c})", "Read(./)"] {
            check(unclear, "?", "?");
        }
    }

    #[test]
    fn other_tools_are_known_or_unclear() {
        check("WebFetch(domain:example.org)", "WebFetch(example.org)", "WebFetch(example.org)");
        check("WebFetch", "WebFetch(*)", "WebFetch(*)");
        check("mcp__git", "Mcp(git:*)", "Mcp(git:*)");
        check("mcp__git__*", "Mcp(git:*)", "Mcp(git:*)");
        check("mcp__git__log_all", "Mcp(git:log_all)", "Mcp(git:log_all)");
        check("Grep", "-", "-");
        check("Task(Explore)", "-", "-");
        check("Sing", "?", "?");
        check("mcp__a*__b", "?", "?");
    }

    #[test]
    fn a_list_is_parted_outside_of_brackets() {
        assert_eq!(
            split("Bash(git log:*), Read Edit,,mcp__a__b "),
            ["Bash(git log:*)", "Read", "Edit", "mcp__a__b"]
        );
    }
}
