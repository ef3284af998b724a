//! The examples of `--help`.

/// The examples of a command, by its path without the program; that of a prompt is empty.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "ibeam \"Explain this project\"",
            "ibeam -p --output-format text \"Fix the failing test\"",
            "ibeam -p --continue --output-format json \"Now the docs\"",
        ],
    ),
    ("about", &["ibeam about", "ibeam about --format json"]),
    ("acp", &["ibeam acp --model openai/gpt-5"]),
    ("batch", &["ibeam batch parked --wait"]),
    ("check", &["ibeam check run.ndjson"]),
    ("completions", &["ibeam completions bash"]),
    ("config explain", &["ibeam config explain --format json"]),
    ("config path", &["ibeam config path"]),
    ("context", &["ibeam context --full", "ibeam context --start-servers \"Fix the failing test\""]),
    ("convert", &["ibeam convert --from claude --to cursor run.ndjson --losses lost.json"]),
    ("create-chat", &["ibeam create-chat"]),
    ("diff", &["ibeam diff", "ibeam diff -2 --stat"]),
    ("doctor", &["ibeam doctor", "ibeam doctor --sandbox"]),
    ("errors", &["ibeam errors --format json"]),
    (
        "fleet apply",
        &["ibeam fleet apply tasks.fleet", "ibeam fleet apply tasks.fleet --patch --only fix-typo"],
    ),
    ("fleet cancel", &["ibeam fleet cancel --queue tls://nats.example.com/evals"]),
    (
        "fleet delete",
        &["ibeam fleet delete tasks.fleet", "ibeam fleet delete --queue tls://nats.example.com/evals"],
    ),
    (
        "fleet doctor",
        &["ibeam fleet doctor --queue tls://nats.example.com/evals --allow-workspaces . --allow-checks"],
    ),
    ("fleet events", &["ibeam fleet events --queue tls://nats.example.com/evals --follow"]),
    ("fleet export", &["ibeam fleet export tasks.fleet --atif"]),
    ("fleet logs", &["ibeam fleet logs fix-typo --follow"]),
    ("fleet poll", &["ibeam fleet poll tasks.fleet --wait"]),
    (
        "fleet report",
        &["ibeam fleet report tasks.fleet", "ibeam fleet report old.fleet new.fleet --format html"],
    ),
    (
        "fleet run",
        &[
            "ibeam fleet run tasks.jsonl --jobs 8 --force",
            "ibeam fleet run matrix.json --matrix",
            "ibeam fleet run - --dir results --budget-usd 20",
            "ibeam fleet run tasks.jsonl --batch --batch-deadline 12h",
            "ibeam fleet run tasks.jsonl --limit 3 --dry-run",
        ],
    ),
    (
        "fleet show",
        &["ibeam fleet show fix-typo", "ibeam fleet show fix-typo --dir tasks.fleet --format json"],
    ),
    ("fleet status", &["ibeam fleet status tasks.fleet", "ibeam fleet status tasks.fleet --watch"]),
    ("fleet sync", &["ibeam fleet sync tasks.fleet --queue tls://nats.example.com/evals"]),
    (
        "fleet worker",
        &["ibeam fleet worker --queue tls://nats.example.com/evals --slots 4 --dir /var/lib/ibeam/worker"],
    ),
    ("fleet workers", &["ibeam fleet workers --queue tls://nats.example.com/evals"]),
    ("hooks list", &["ibeam hooks list"]),
    ("hooks test", &["ibeam hooks test preToolUse --input call.json"]),
    ("login", &["ibeam login anthropic", "ibeam login openrouter --no-check"]),
    ("logout", &["ibeam logout anthropic"]),
    (
        "mcp add",
        &[
            "ibeam mcp add github --env 'GITHUB_TOKEN=${env:GITHUB_TOKEN}' github-mcp-server stdio",
            "ibeam mcp add --project docs --header 'X-Team: a' https://mcp.example.com/mcp",
        ],
    ),
    ("mcp disable", &["ibeam mcp disable github"]),
    ("mcp enable", &["ibeam mcp enable github"]),
    ("mcp list", &["ibeam mcp list"]),
    ("mcp list-tools", &["ibeam mcp list-tools github"]),
    ("mcp login", &["ibeam mcp login docs"]),
    ("mcp logout", &["ibeam mcp logout docs"]),
    ("mcp remove", &["ibeam mcp remove github"]),
    ("mcp serve", &["ibeam mcp serve", "ibeam mcp serve --http 0 --root src"]),
    (
        "models",
        &[
            "ibeam models --details",
            "ibeam models --providers",
            "ibeam models --endpoint http://127.0.0.1:8080/v1",
        ],
    ),
    ("policy list", &["ibeam policy list"]),
    ("policy test", &["ibeam policy test 'git push'", "ibeam policy test --write .env"]),
    ("quarantine list", &["ibeam quarantine list", "ibeam quarantine list --format json"]),
    ("quarantine restore", &["ibeam quarantine restore 1795930000000-a1b2/.idea"]),
    (
        "replay",
        &["ibeam replay -1 --output-format text --verbose", "ibeam replay run.ndjson --output-format html"],
    ),
    ("report", &["ibeam report", "ibeam report bug.txt --no-session"]),
    ("resume", &["ibeam resume", "ibeam resume -2 \"Go on with the tests\""]),
    ("schema", &["ibeam schema --format error"]),
    ("sessions check", &["ibeam sessions check -1", "ibeam sessions check -1 --repair"]),
    ("sessions export", &["ibeam sessions export -1 session.export"]),
    ("sessions import", &["ibeam sessions import session.export"]),
    ("sessions list", &["ibeam sessions list", "ibeam sessions list --all --json"]),
    ("sessions prune", &["ibeam sessions prune --older-than 90 --dry-run"]),
    ("sessions rename", &["ibeam sessions rename -1 Parser rewrite"]),
    ("sessions rm", &["ibeam sessions rm 0f0e0d0c"]),
    ("sessions search", &["ibeam sessions search parser --all"]),
    ("sessions show", &["ibeam sessions show -1"]),
    ("setup", &["ibeam setup", "ibeam setup --from model.gguf"]),
    ("shim", &["ibeam shim bin --dialect claude,codex"]),
    ("status", &["ibeam status", "ibeam status --format json"]),
    ("trust forget", &["ibeam trust forget"]),
    ("trust list", &["ibeam trust list"]),
    ("trust show", &["ibeam trust show"]),
    ("undo", &["ibeam undo --dry-run", "ibeam undo --redo"]),
];

/// The number of examples of a command that groups others.
const MAX_GROUP_EXAMPLES: usize = 4;

/// Returns the examples of a command; for a command that groups others, an example of each of the first ones.
pub(super) fn of_command(path: &str) -> Vec<&'static str> {
    if let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == path) {
        return examples.to_vec();
    }
    let is_below = |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.starts_with(' '));
    let below = EXAMPLES.iter().filter(|(name, _)| is_below(name));
    below.filter_map(|(_, examples)| examples.first().copied()).take(MAX_GROUP_EXAMPLES).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::{Cli, parse};

    /// Splits a line as a shell does, without escapes and expansion.
    fn split(line: &str) -> Vec<OsString> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for character in line.chars() {
            match (quote, character) {
                (None, '"' | '\'') => quote = Some(character),
                (Some(open), _) if open == character => quote = None,
                (None, ' ') => words.push(String::new()),
                (None | Some(_), _) => words.last_mut().unwrap().push(character),
            }
        }
        words.into_iter().skip(1).map(Into::into).collect()
    }

    /// Adds the paths of all visible commands that group no others.
    fn add_paths(command: &Command, path: &str, paths: &mut Vec<String>) {
        let visible: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
        if visible.is_empty() || path.is_empty() {
            paths.push(path.to_owned());
        }
        for sub in visible {
            add_paths(sub, format!("{path} {}", sub.get_name()).trim(), paths);
        }
    }

    #[test]
    fn a_command_that_groups_others_has_examples_of_these() {
        let examples = of_command("policy");
        assert_eq!(examples, ["ibeam policy list", "ibeam policy test 'git push'"]);
        assert_eq!(of_command("sessions").len(), MAX_GROUP_EXAMPLES);
        assert_eq!(of_command("nothing"), [""; 0]);
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let mut paths = Vec::new();
        add_paths(&Cli::command(), "", &mut paths);
        paths.sort_unstable();
        assert_eq!(EXAMPLES.iter().map(|(path, _)| *path).collect::<Vec<_>>(), paths);
        for (path, examples) in EXAMPLES {
            assert!(!examples.is_empty(), "{path}");
            for example in *examples {
                let Ok(cli) = parse(&split(example)) else { panic!("{example}") };
                let expected = format!("ibeam {path}");
                assert_eq!(cli.command_path.as_deref().unwrap_or("ibeam "), expected, "{example}");
            }
        }
    }
}
