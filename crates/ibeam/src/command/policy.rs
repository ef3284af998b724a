//! `policy test`: whether an access would be allowed, rule by rule. `policy list`: the rules in force.
//!
//! Uses the policy of a run and accesses nothing. The exit code of `policy test` states the decision.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::AppContext;
use ibeam_agent::reports::rule_list::{list_name, rule_list};
use ibeam_agent::run::permission_mode;
use ibeam_agent::run::policy_rules::{ActiveRule, build_policy, rules};
use ibeam_agent::run::sandbox::is_sandbox_enabled;
use ibeam_output::{PolicyLine, escape_to_one_line};
use ibeam_policy::{Access, AccessPart, Policy, Rule, RuleFinding, Verdict, VerdictExplanation};
use ibeam_protocol::{Reason, Sentence, sentence};
use ibeam_tools::{PathError, Workspace};
use serde_json::{Value, json};

use super::facts::CommandFacts;
use super::printing::{print_report, report};
use super::sub_command::{Call, SubCommand};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Show the rules in force and what they decide about a command or file
#[derive(Args, Clone, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    what: PolicyCommand,
}

/// The commands of `policy`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum PolicyCommand {
    /// Show whether a command would be allowed, and which rules apply; runs nothing
    #[command(after_help = "Exit codes: 0 allowed, 3 denied, 4 a person is asked (refused when printing)")]
    Test {
        #[command(flatten)]
        access: TestedAccess,
        /// The directory in which the command starts, instead of the workspace
        #[arg(long, value_name = "DIR", requires = "command")]
        cwd: Option<String>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the rules in force, and what set each
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// The access that `policy test` checks: exactly one of these.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TestedAccess {
    /// The command, as the model would write it
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Test reading this file or directory
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Option<String>,
    /// Test writing this file
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Option<String>,
    /// Test fetching this page
    #[arg(long, value_name = "URL")]
    pub(crate) fetch: Option<String>,
    /// Test a call of this MCP tool
    #[arg(long, value_name = "SERVER:TOOL")]
    pub(crate) mcp: Option<String>,
}

impl SubCommand for PolicyArgs {
    const FACTS: CommandFacts = CommandFacts::new("policy")
        .uses(&["AccessFlags", "RuleFlags", "McpFlags", "mode", "plan", "print", "workspace"])
        .above(&[
            CommandFacts::new("list").with_examples(&["ibeam policy list"]),
            CommandFacts::new("test")
                .with_examples(&["ibeam policy test 'git push'", "ibeam policy test --write .env"]),
        ]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        policy(app, &self.what, call.stdout)
    }
}

/// The exit codes of `policy test` (docs/configuration.md). A failure has other codes.
const EXIT_DENIED: u8 = 3;
const EXIT_ASK: u8 = 4;

fn policy(app: &AppContext, what: &PolicyCommand, stdout: &mut File) -> Result<ExitCode, CliError> {
    match what {
        PolicyCommand::Test { access, cwd, format } => {
            test(app, access, cwd.as_deref(), format.unwrap_or_default(), stdout)
        }
        PolicyCommand::List { format } => {
            print_report(stdout, format.unwrap_or_default(), &rule_list(app)?).map(|()| ExitCode::SUCCESS)
        }
    }
}

fn test(
    app: &AppContext,
    tested: &TestedAccess,
    cwd: Option<&str>,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let mut policy = build_policy(app, permission_mode(app))?;
    policy.sandboxed = is_sandbox_enabled(app);
    let access = access(&policy, tested, cwd)?;
    let is_command = matches!(access, Access::Command { .. });
    let explained = policy.explain(&access);
    let rules = rules(app)?;
    let shows_path_rule_limits =
        is_command && policy.deny.iter().any(|rule| matches!(rule, Rule::Read(_) | Rule::Write(_)));
    report(
        stdout,
        format,
        &as_text(app, &explained, &rules, shows_path_rule_limits),
        &as_json(&explained, &rules),
    )?;
    Ok(match explained.verdict {
        Verdict::Allow { .. } => ExitCode::SUCCESS,
        Verdict::Deny { .. } => ExitCode::from(EXIT_DENIED),
        Verdict::Ask { .. } => ExitCode::from(EXIT_ASK),
    })
}

/// Returns the tested access in the form in which a tool declares its accesses.
fn access(policy: &Policy, tested: &TestedAccess, cwd: Option<&str>) -> Result<Access, Reason> {
    let TestedAccess { command, read, write, fetch, mcp } = tested;
    for (what, text) in [("COMMAND", command), ("--fetch", fetch), ("--cwd", &cwd.map(str::to_owned))] {
        if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Reason::Usage { detail: sentence!("`{what}` of `policy test` is empty", what) });
        }
    }
    if let Some(path) = read {
        return resolve(policy, path).map(Access::Read);
    }
    if let Some(path) = write {
        return resolve(policy, path).map(Access::Write);
    }
    if let Some(url) = fetch {
        return Ok(Access::Fetch { url: url.clone() });
    }
    if let Some(name) = mcp {
        let usage = || Reason::Usage { detail: sentence!("`--mcp {name}` should be `SERVER:TOOL`", name) };
        let named = name.split_once(':').filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
        let (server, tool) = named.ok_or_else(usage)?;
        return Ok(Access::Mcp { server: server.to_owned(), tool: tool.to_owned(), read_only: false });
    }
    let directory = cwd.map(|cwd| resolve(policy, cwd)).transpose()?;
    let directory = directory.filter(|directory| *directory != policy.workspace);
    Ok(Access::Command { text: command.clone().unwrap_or_default(), directory })
}

/// Returns the real path of a path in the workspace.
fn resolve(policy: &Policy, path: &str) -> Result<PathBuf, Reason> {
    let no_input = |path: String, detail: String| Reason::NoInput { path, detail };
    let workspace = Workspace::new(&policy.workspace, &policy.extra_dirs)
        .map_err(|error| no_input(policy.workspace.display().to_string(), error.to_string()))?;
    let resolved = workspace.resolve(path).map_err(|error| match error {
        PathError::Empty | PathError::Nul => Reason::Usage { detail: error.to_string().into() },
        PathError::Unreachable(errno) => no_input(path.to_owned(), errno.to_string()),
    });
    resolved.map(|resolved| resolved.real)
}

fn as_text(
    app: &AppContext,
    explained: &VerdictExplanation,
    rules: &[ActiveRule],
    shows_path_rule_limits: bool,
) -> String {
    let message = |line: PolicyLine<'_>| app.base.catalogue.line(&line);
    let translated = |reason: &Sentence| app.base.catalogue.sentence(reason);
    let mut text = String::new();
    let mut line = |indent: &str, line: &str| text.push_str(&format!("{indent}{line}\n"));
    if let Some(what) = explained.unanalyzable {
        line("", &message(PolicyLine::Unanalyzable { what: &translated(&what.into()) }));
    }
    for part in &explained.parts {
        line("", &escape_to_one_line(&part.subject));
        if let Some((program, wrappers @ [_, ..])) = part.programs.split_last() {
            line("  ", &message(PolicyLine::RunsProgram { program, wrappers: &wrappers.join(" ") }));
        }
        for redirection in &part.redirections {
            let path = redirection.target.as_str();
            let writes = redirection.writes;
            line(
                "  ",
                &message(if writes {
                    PolicyLine::WritesFile { path }
                } else {
                    PolicyLine::ReadsFile { path }
                }),
            );
        }
        for (finding, origin) in with_origins(part, rules) {
            let RuleFinding { list, rule, applies, reason } = finding;
            let why = &translated(reason);
            let result = message(match applies {
                true => PolicyLine::RuleApplies { rule, why },
                false => PolicyLine::RuleDoesNotApply { rule, why },
            });
            let origin =
                origin.map(|origin| format!("  # {}", escape_to_one_line(origin))).unwrap_or_default();
            line("  ", &format!("{:8}  {result}{origin}", list_name(*list)));
        }
    }
    let verdict = match &explained.verdict {
        Verdict::Allow { rule } => message(PolicyLine::Allowed { rule }),
        Verdict::Deny { rule, reason } => message(PolicyLine::Denied { rule, reason: &translated(reason) }),
        Verdict::Ask { rule, reason } => {
            message(PolicyLine::NeedsApproval { rule, reason: &translated(reason) })
        }
    };
    line("", &verdict);
    if shows_path_rule_limits {
        text.push_str(&format!("{}\n", message(PolicyLine::PathRuleLimits)));
    }
    text
}

fn as_json(explained: &VerdictExplanation, rules: &[ActiveRule]) -> Value {
    let (verdict, rule, reason) = match &explained.verdict {
        Verdict::Allow { rule } => ("allow", rule, None),
        Verdict::Deny { rule, reason } => ("deny", rule, Some(reason)),
        Verdict::Ask { rule, reason } => ("ask", rule, Some(reason)),
    };
    let parts = explained.parts.iter().map(|part| {
        let redirections = part
            .redirections
            .iter()
            .map(|redirection| json!({ "writes": redirection.writes, "target": redirection.target }));
        let findings = with_origins(part, rules).into_iter().map(|(finding, origin)| {
            let RuleFinding { list, rule, applies, reason: why } = finding;
            json!({
                "list": list_name(*list),
                "rule": rule,
                "origin": origin,
                "applies": applies,
                "why": why,
            })
        });
        json!({
            "subject": part.subject,
            "programs": part.programs,
            "arguments": part.arguments,
            "redirections": redirections.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
        })
    });
    json!({
        "verdict": verdict,
        "rule": rule,
        "reason": reason,
        "opaque": explained.unanalyzable,
        "parts": parts.collect::<Vec<_>>(),
    })
}

/// Returns the findings with the origin of each rule. A rule that two sources set has two origins, in the order of the
/// sources.
fn with_origins<'a>(
    part: &'a AccessPart,
    rules: &'a [ActiveRule],
) -> Vec<(&'a RuleFinding, Option<&'a str>)> {
    let mut left: HashMap<(&str, String), VecDeque<&str>> = HashMap::new();
    for set in rules {
        left.entry((list_name(set.list), set.rule.to_string())).or_default().push_back(set.origin.as_str());
    }
    let mut origin_of =
        |finding: &RuleFinding| left.get_mut(&(list_name(finding.list), finding.rule.clone()))?.pop_front();
    part.findings.iter().map(|finding| (finding, origin_of(finding))).collect()
}

#[cfg(test)]
mod tests {
    use ibeam_output::{Catalogue, Locale};
    use ibeam_policy::LinkReader;
    use ibeam_protocol::PermissionMode;

    use super::*;

    /// Returns a policy with these deny, ask and allow rules.
    fn policy(mode: PermissionMode, rules: [&[&str]; 3]) -> Policy {
        let mut policy = Policy::new(mode, "/w".into(), "/home/me".into());
        let [deny, ask, allow] =
            rules.map(|tokens| tokens.iter().map(|token| token.parse().unwrap()).collect::<Vec<Rule>>());
        (policy.deny, policy.ask, policy.allow) = (deny, ask, allow);
        policy
    }

    /// Returns the commands of the corpus of attacks, which contain nearly everything that a rule may refuse.
    fn corpus_commands() -> impl Iterator<Item = String> {
        let attacks = [
            include_str!("../../../../corpus/attacks.jsonl"),
            include_str!("../../../../corpus/attacks-2.jsonl"),
            include_str!("../../../../corpus/attacks-3.jsonl"),
        ];
        attacks.into_iter().flat_map(str::lines).filter_map(|line| {
            let attack: Value = serde_json::from_str(line).unwrap();
            attack["args"]["command"].as_str().map(str::to_owned)
        })
    }

    #[test]
    fn the_reasons_of_policy_are_translated() {
        let default = policy(PermissionMode::Default, [&[], &[], &[]]);
        let denying = policy(
            PermissionMode::Default,
            [
                &["Shell(rm)", "Read(secret/**)", "Write(out/**)", "WebFetch(evil.example)", "Mcp(a:b)"],
                &[],
                &[],
            ],
        );
        let asking = policy(
            PermissionMode::Default,
            [
                &[],
                &["Shell(git:*)", "Read(draft/**)", "WebFetch(docs.example)", "Mcp(a:c)"],
                &["Shell(ls:-a)"],
            ],
        );
        let plan = policy(PermissionMode::Plan, [&[], &[], &[]]);
        let attended = Policy { sandboxed: true, asks_about_publishing: true, ..default.clone() };
        let links = LinkReader { list: |_| vec!["a".into(); 200_000], ..LinkReader::NONE };
        let crowded = Policy { links, ..policy(PermissionMode::Default, [&[], &[], &[]]) };
        let mcp = |tool: &str| Access::Mcp { server: "a".into(), tool: tool.into(), read_only: false };
        let fetch = |host: &str| Access::Fetch { url: format!("https://{host}/") };
        let command = |text: &str| Access::Command { text: text.into(), directory: None };
        let below = Access::Command { text: "make".into(), directory: Some("/w/below".into()) };
        let cases: Vec<(&Policy, Access)> = vec![
            (&default, command("make")),
            (&default, command("git push")),
            (&attended, command("git push")),
            (&attended, command("a=(1); git push")),
            (&default, below),
            (&default, command("ls > file")),
            (&default, command("echo $(date")),
            (&default, command("A=b")),
            (&default, command("LD_PRELOAD=x ls")),
            (&default, command("find . -exec rm {} +")),
            (&default, command("cat /home/me/.ssh/id_rsa")),
            (&default, command("cat /home/me/.ssh/*")),
            (&crowded, command("cat *")),
            (&default, command("grep -r x /home/me/.ssh")),
            (&default, command("git -C /elsewhere status")),
            (&default, command("echo x > $FILE")),
            (&default, Access::Read("/home/me/.ssh/id_rsa".into())),
            (&default, Access::Write("/w/.git/config".into())),
            (&default, Access::Write("/etc/hosts".into())),
            (&default, Access::Write("/w/file".into())),
            (&default, fetch("example.com")),
            (&default, mcp("x")),
            (&denying, command("rm x")),
            (&denying, command("A=b x")),
            (&denying, command("sh -c \"$X\"")),
            (&denying, command("cat secret/x")),
            (&denying, command("cat < secret/x")),
            (&denying, command("grep -r x .")),
            (&denying, command("echo \"")),
            (&denying, Access::Read("/w/secret/x".into())),
            (&denying, Access::Write("/w/secret/x".into())),
            (&denying, Access::Write("/w/out/x".into())),
            (&denying, fetch("evil.example")),
            (&denying, mcp("b")),
            (&asking, command("git status")),
            (&asking, command("ls -l")),
            (&asking, command("cat draft/x")),
            (&asking, Access::Read("/w/draft/x".into())),
            (&asking, fetch("docs.example")),
            (&asking, mcp("c")),
            (&plan, command("make")),
            (&plan, Access::Write("/w/file".into())),
        ];
        let cases = cases.into_iter().chain(corpus_commands().map(|text| (&default, command(&text))));
        let locales = Locale::ALL.into_iter().filter(|locale| *locale != Locale::En);
        let catalogues: Vec<Catalogue> = locales.map(Catalogue::new).collect();
        let mut english = Vec::new();
        for (policy, access) in cases {
            let explained = policy.explain(&access);
            let verdict = match explained.verdict {
                Verdict::Allow { .. } => None,
                Verdict::Deny { reason, .. } | Verdict::Ask { reason, .. } => Some(reason),
            };
            let findings = explained.parts.into_iter().flat_map(|part| part.findings);
            let findings = findings.map(|finding| finding.reason);
            let unanalyzable = explained.unanalyzable.map(Sentence::from);
            for reason in verdict.into_iter().chain(findings).chain(unanalyzable) {
                let translations = catalogues.iter().map(|catalogue| catalogue.sentence(&reason));
                let has_english = |text: &String| reason == **text || text.contains("a person may allow it");
                english.extend(translations.filter(has_english));
            }
        }
        assert!(english.is_empty(), "{english:#?}");
    }
}
