//! Permission rules of Claude Code as permission tokens.
//!
//! A token that allows never covers more than its rule, and a token that forbids never covers less. A rule without such
//! a token is `Unclear`, and the caller decides what is safe.

use ibeam_agent::claude_tools::TOOLS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleEffect {
    /// Allows: the tokens cover at most as much.
    Allow,
    /// Forbids or asks: the tokens cover at least as much.
    Forbid,
}

/// The tokens for a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// The tokens for the rule.
    Tokens(Vec<String>),
    /// The rule is about a tool that ibeam does not have, or that needs no permission.
    NotNeeded,
    /// No token matches the rule.
    Unclear,
}

/// Tools that only Claude Code has.
const OTHER_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillBash",
    "KillShell",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "PushNotification",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ScheduleWakeup",
    "SendMessage",
    "SendUserFile",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "ToolSearch",
    "Workflow",
];

/// Returns the tools of ibeam for a rule `Name` or `Name(*)`; none for a rule about a part of a tool.
pub(super) fn ibeam_tools_for(rule: &str) -> &'static [&'static str] {
    let name = rule.strip_suffix("(*)").or_else(|| rule.strip_suffix("()")).unwrap_or(rule);
    TOOLS.iter().find(|(claude, _)| *claude == name).map_or(&[], |(_, own)| own)
}

/// Returns all tools of ibeam that correspond to some tool of Claude Code.
pub(super) fn all_ibeam_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().flat_map(|(_, own)| own.iter().copied())
}

/// Splits a list of rules at commas and spaces outside of parentheses.
pub(super) fn split_rules(list: &str) -> Vec<String> {
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

/// Returns the tokens for `rule`: `Tool`, `Tool(what)`, `mcp__server` or `mcp__server__tool`.
pub(super) fn tokens_for(rule: &str, to: RuleEffect) -> Translation {
    if let Some(name) = rule.strip_prefix("mcp__") {
        return mcp_token(name);
    }
    let (tool, what) = match rule.split_once('(') {
        None => (rule, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(what) => (tool, Some(what.trim())),
            None => return Translation::Unclear,
        },
    };
    let what = what.filter(|what| !what.is_empty() && *what != "*");
    match (tool, what) {
        ("Bash", None) => single_token("Shell(*:*)"),
        ("Bash", Some(what)) => command_tokens(what, to),
        ("Read", None) => single_token("Read(/**)"),
        ("Read", Some(what)) => path_tokens("Read", what, to),
        ("Edit" | "MultiEdit" | "Write", None) => single_token(match to {
            // Other directories need `--add-dir` in any case.
            RuleEffect::Allow => "Write(**)",
            RuleEffect::Forbid => "Write(/**)",
        }),
        ("Edit" | "MultiEdit" | "Write", Some(what)) => path_tokens("Write", what, to),
        ("WebFetch", None) => single_token("WebFetch(*)"),
        ("WebFetch", Some(what)) => match what.strip_prefix("domain:") {
            Some(domain) => single_token(&format!("WebFetch({})", domain.trim())),
            None => Translation::Unclear,
        },
        (tool, None) if OTHER_TOOLS.contains(&tool) || !ibeam_tools_for(tool).is_empty() => {
            Translation::NotNeeded
        }
        (tool, Some(_)) if OTHER_TOOLS.contains(&tool) => Translation::NotNeeded,
        _ => Translation::Unclear,
    }
}

fn single_token(token: &str) -> Translation {
    Translation::Tokens(vec![token.to_owned()])
}

/// Translates the name of an MCP rule without its prefix: `server` or `server__tool`.
fn mcp_token(name: &str) -> Translation {
    let (server, tool) = name.split_once("__").unwrap_or((name, "*"));
    let plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
    if plain(server) && (tool == "*" || plain(tool)) {
        return single_token(&format!("Mcp({server}:{tool})"));
    }
    Translation::Unclear
}

/// Translates rules such as `git status`, `git log *`, `npm run test:*`.
fn command_tokens(what: &str, to: RuleEffect) -> Translation {
    // Rules of Claude Code match the text of a command, but tokens match its arguments.
    if what.contains(|c: char| c.is_control() || "&|;<>$`\"'\\(){}[]?".contains(c)) {
        return Translation::Unclear;
    }
    let (text, open) = match what.strip_suffix(":*").or_else(|| what.strip_suffix(" *")) {
        Some(text) => (text.trim_end(), true),
        None => (what, false),
    };
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let arguments = words.collect::<Vec<_>>().join(" ");
    if program.is_empty() || program.contains(['*', ':']) {
        return Translation::Unclear;
    }
    let tokens: &[String] = match (arguments.is_empty(), open, to) {
        (true, true, _) => &[format!("Shell({program}:*)")],
        (_, false, _) => &[format!("Shell({program}:{arguments})")],
        (false, true, RuleEffect::Allow) => {
            &[format!("Shell({program}:{arguments})"), format!("Shell({program}:{arguments} *)")]
        }
        (false, true, RuleEffect::Forbid) => &[format!("Shell({program}:{arguments}*)")],
    };
    Translation::Tokens(tokens.to_vec())
}

/// Translates a pattern for paths in the syntax of `.gitignore`: `//absolute`, `~/in/home`, `/in/project`,
/// `relative/path` or `name`.
fn path_tokens(kind: &str, what: &str, to: RuleEffect) -> Translation {
    if what.starts_with('!') || what.contains(['{', '}', '\\']) || what.split('/').any(|name| name == "..") {
        return Translation::Unclear;
    }
    let token = |pattern: &str| format!("{kind}({pattern})");
    if what.starts_with("//") {
        return single_token(&token(what.get(1..).unwrap_or_default()));
    }
    if what.starts_with("~/") {
        return single_token(&token(what));
    }
    let anchored = what.strip_prefix("./").or_else(|| what.strip_prefix('/'));
    let here = anchored.unwrap_or(what);
    if here.is_empty() {
        return Translation::Unclear;
    }
    let anywhere = anchored.is_none() && !here.trim_end_matches('/').contains('/');
    match (anywhere, to) {
        // A deny token without a slash matches a name in every directory.
        (true, RuleEffect::Forbid) | (false, _) => single_token(&token(here)),
        (true, RuleEffect::Allow) => Translation::Tokens(vec![token(&format!("**/{here}"))]),
    }
}

#[cfg(test)]
mod tests {
    use ibeam_policy::Rule;

    use super::*;

    /// `expect` holds tokens separated by ` & `, `-` for not needed, `?` for unclear; to allow and to forbid.
    #[track_caller]
    fn check(rule: &str, allow: &str, forbid: &str) {
        for (to, expect) in [(RuleEffect::Allow, allow), (RuleEffect::Forbid, forbid)] {
            let expect = match expect {
                "-" => Translation::NotNeeded,
                "?" => Translation::Unclear,
                tokens => Translation::Tokens(tokens.split(" & ").map(str::to_owned).collect()),
            };
            let translation = tokens_for(rule, to);
            assert_eq!(translation, expect, "{rule} {to:?}");
            if let Translation::Tokens(tokens) = translation {
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
        for tool in ["Agent", "Task", "TeamCreate", "SendMessage", "Skill"] {
            check(tool, "-", "-");
        }
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
    fn a_list_is_split_outside_of_parentheses() {
        assert_eq!(
            split_rules("Bash(git log:*), Read Edit,,mcp__a__b "),
            ["Bash(git log:*)", "Read", "Edit", "mcp__a__b"]
        );
    }
}
