use super::*;

fn translated(args: &[&str]) -> Result<TranslatedArgs, ParseExit> {
    let args: Vec<OsString> = args.iter().map(Into::into).collect();
    let read_file = |path: &str| match path {
        "system.txt" => Ok("From a file.".to_owned()),
        "settings.json" => Ok(r#"{"permissions":{"deny":["Read(./.env)"]}}"#.to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    translate(&args, &Env { variable: &|_| None, read_file, is_in_repository: |_| true })
}

/// `expect` contains the arguments after those that every printing run has.
#[track_caller]
fn check(args: &[&str], expect: &[&str]) -> DialectOptions {
    let Ok(TranslatedArgs { args: own_args, options }) = translated(args) else {
        panic!("{args:?} is refused")
    };
    let own: Vec<&str> = own_args.iter().skip(3).map(|arg| arg.to_str().unwrap()).collect();
    assert_eq!(own, expect, "{args:?}");
    // The result is a valid command line of ibeam.
    assert!(crate::cli::parse(&own_args).is_ok(), "{own_args:?}");
    options.unwrap()
}

#[track_caller]
fn refused(args: &[&str], part: &str) {
    match translated(args) {
        Err(ParseExit::Error(error)) => match error.reason() {
            Some(Reason::Usage { detail }) => assert!(detail.as_str().contains(part), "{detail}"),
            _ => panic!("{args:?}: {error:?}"),
        },
        Err(
            ParseExit::Help(detail) | ParseExit::Page(detail) | ParseExit::Incomplete { help: detail, .. },
        ) => panic!("{args:?}: {detail}"),
        Ok(translated) => panic!("{args:?}: {translated:?}"),
    }
}

#[test]
fn the_command_line_of_the_python_sdk_is_translated() {
    let options = check(
        &[
            "--output-format",
            "stream-json",
            "--verbose",
            "--system-prompt",
            "",
            "--allowedTools",
            "Read,Bash(git:*)",
            "--max-turns",
            "3",
            "--model",
            "claude-sonnet-4-5",
            "--permission-mode",
            "acceptEdits",
            "--setting-sources=",
            "--input-format",
            "stream-json",
        ],
        &[
            "--max-turns=3",
            "--approval=strict",
            "--allow=Read(/**)",
            "--allow=Shell(git:*)",
            "--allow=Write(**)",
            "--model=claude-sonnet-4-5",
        ],
    );
    assert_eq!((options.output, options.input), (DialectOutput::Stream, PromptSource::Messages));
    assert_eq!(options.ignored_arguments, ["--setting-sources"]);
}

#[test]
fn modes_never_allow_more_than_documented() {
    check(&["-p", "x"], &["--approval=strict", "--", "x"]);
    check(&["-p", "--permission-mode", "dontAsk", "x"], &["--approval=strict", "--", "x"]);
    check(&["-p", "--permission-mode", "plan", "x"], &["--mode=plan", "--approval=strict", "--", "x"]);
    check(&["-p", "--permission-mode=bypassPermissions", "x"], &["--force", "--", "x"]);
    check(&["-p", "--dangerously-skip-permissions", "x"], &["--force", "--", "x"]);
    check(&["-p", "--permission-mode", "auto", "x"], &["--", "x"]);
    refused(&["-p", "--permission-mode", "sure", "x"], "unknown permission mode `sure`");
}

#[test]
fn deny_rules_are_translated_or_refused() {
    check(
        &["-p", "--disallowedTools", "Bash(rm:*) WebFetch", "--", "x"],
        &["--approval=strict", "--deny=Shell(rm:*)", "--deny=WebFetch(*)", "--without=web_fetch", "--", "x"],
    );
    refused(&["-p", "--disallowedTools", "Bash(a && b)", "--", "x"], "cannot be applied exactly");
    let options =
        check(&["-p", "--allowedTools", "Bash(a && b)", "--", "x"], &["--approval=strict", "--", "x"]);
    assert_eq!(options.ignored_arguments, ["--allowedTools Bash(a && b)"]);
    check(
        &["-p", "--tools", "Read,Bash", "--", "x"],
        &[
            "--approval=strict",
            "--without=delete",
            "--without=edit",
            "--without=glob",
            "--without=grep",
            "--without=ls",
            "--without=update_todos",
            "--without=web_fetch",
            "--without=web_search",
            "--without=write",
            "--",
            "x",
        ],
    );
    check(&["-p", "--tools", "default", "--", "x"], &["--approval=strict", "--", "x"]);
}

#[test]
fn sessions_are_named_continued_and_forked() {
    let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
    let (resume, joined) = (format!("--resume={id}"), format!("--session-id={id}"));
    check(&["-p", "--resume", id, "x"], &[&resume, "--approval=strict", "--", "x"]);
    check(&["-pr", id, "--fork-session", "x"], &[&resume, "--fork", "--approval=strict", "--", "x"]);
    check(&["-c", "-p", "x"], &["--continue", "--approval=strict", "--", "x"]);
    check(&["-p", &joined, "x"], &[&resume, "--approval=strict", "--", "x"]);
    refused(&["-p", "--resume", "--fork-session"], "needs the id");
    refused(&["-p", "--session-id=-1", "x"], "should be a UUID");
    refused(&["-p", "-c", &joined, "x"], "--fork-session");
}

#[test]
fn models_have_short_names() {
    let newest = check(&["-p", "--model", "haiku", "x"], &["--approval=strict", "--model=haiku", "--", "x"]);
    assert_eq!(newest.output, DialectOutput::FinalMessage);
    check(&["-p", "--model", "default", "x"], &["--approval=strict", "--", "x"]);
    check(&["-p", "--model", "opus[1m]", "x"], &["--approval=strict", "--model=opus", "--", "x"]);
}

#[test]
fn settings_keep_allow_and_deny_rules() {
    let given = r#"{"permissions":{"allow":["Bash(ls:*)"],"ask":["Write"],"defaultMode":"acceptEdits","additionalDirectories":["/d"]},"model":"m","env":{"A":"b"}}"#;
    let options = check(
        &["-p", "--settings", given, "x"],
        &[
            "--approval=strict",
            "--allow=Shell(ls:*)",
            "--allow=Write(**)",
            "--allow=Write(/d/**)",
            "--ask=Write(/**)",
            "--model=m",
            "--add-dir=/d",
            "--",
            "x",
        ],
    );
    assert_eq!(options.ignored_arguments, ["--settings env"]);
    check(
        &["-p", "--settings", "settings.json", "x"],
        &["--approval=strict", "--deny=Read(.env)", "--", "x"],
    );
    refused(&["-p", "--settings", r#"{"hooks":{"PreToolUse":[{}]}}"#, "x"], "`hooks`");
    refused(&["-p", "--settings", r#"{"permissions":{"newly":1}}"#, "x"], "permissions.newly");
    refused(&["-p", "--settings", "{]", "x"], "JSON object");
}

#[test]
fn restricting_and_redirecting_settings_are_kept_or_refused() {
    let of = |settings: &'static str| ["-p", "--settings", settings, "x"];
    for first in [
        r#"{"permissions":{"disableBypassPermissionsMode":"disable","defaultMode":"bypassPermissions"}}"#,
        r#"{"permissions":{"defaultMode":"bypassPermissions","disableBypassPermissionsMode":"disable"}}"#,
    ] {
        refused(&of(first), "disableBypassPermissionsMode");
    }
    check(
        &of(r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#),
        &["--approval=strict", "--", "x"],
    );
    check(
        &of(r#"{"sandbox":{"enabled":true,"network":{"allowLocalBinding":true}}}"#),
        &["--sandbox=enabled", "--approval=strict", "--", "x"],
    );
    check(&of(r#"{"sandbox":{"enabled":false}}"#), &["--approval=strict", "--", "x"]);
    refused(&of(r#"{"sandbox":{"filesystem":{"denyRead":["~/x"]}}}"#), "sandbox.filesystem.denyRead");
    refused(&of(r#"{"sandbox":{"network":{"deniedDomains":["a.b"]}}}"#), "sandbox.network.deniedDomains");
    refused(&of(r#"{"disabledMcpjsonServers":["a"]}"#), "`disabledMcpjsonServers`");
    refused(&of(r#"{"env":{"ANTHROPIC_BASE_URL":"http://a"}}"#), "env.ANTHROPIC_BASE_URL");
    refused(&of(r#"{"env":{"https_proxy":"http://a"}}"#), "env.https_proxy");
}

/// `--force` removes `ask` rules, but in Claude Code they take precedence over the bypass.
#[test]
fn calls_that_need_an_approval_are_refused_without_a_person() {
    let given = r#"{"permissions":{"ask":["Bash(git push:*)"],"defaultMode":"bypassPermissions"}}"#;
    check(&["-p", "--settings", given, "x"], &["--force", "--deny=Shell(git:push*)", "--", "x"]);
}

#[test]
fn a_denied_or_asked_tool_without_a_token_is_not_offered() {
    for given in [r#"{"permissions":{"ask":["Grep"]}}"#, r#"{"permissions":{"deny":["Grep(*)"]}}"#] {
        check(&["-p", "--settings", given, "x"], &["--approval=strict", "--without=grep", "--", "x"]);
    }
}

#[test]
fn servers_and_instructions_are_passed_on() {
    let options = check(
        &["-p", "--mcp-config", r#"{"mcpServers":{"a":{"command":"x"}}}"#, "--strict-mcp-config", "x"],
        &[
            "--strict-mcp-config",
            r#"--mcp-config={"mcpServers":{"a":{"command":"x"}}}"#,
            "--approval=strict",
            "--",
            "x",
        ],
    );
    assert!(options.ignored_arguments.is_empty(), "{:?}", options.ignored_arguments);
    check(
        &["-p", "--append-system-prompt", "@ann: be brief.", "--system-prompt-file", "system.txt"],
        &[
            "--append-system-prompt=@@ann: be brief.",
            "--system-prompt=From a file.",
            "--approval=strict",
            "--stdin=read",
        ],
    );
}

#[test]
fn servers_of_the_host_need_messages_on_stdin() {
    let servers = r#"{"mcpServers":{"a":{"command":"x"},"calc":{"type":"sdk","name":"calc"}}}"#;
    let messages = ["--input-format=stream-json", "--output-format=stream-json", "--mcp-config", servers];
    let options =
        check(&messages, &[r#"--mcp-config={"mcpServers":{"a":{"command":"x"}}}"#, "--approval=strict"]);
    assert_eq!(
        (options.claude.host_servers, options.ignored_arguments),
        (vec!["calc".to_owned()], Vec::new())
    );
    refused(&["-p", "--mcp-config", servers, "--", "x"], "the MCP server `calc`");
}

#[test]
fn a_minimal_start_reads_no_files_of_the_project() {
    let expect = ["--without-instructions", "--strict-mcp-config", "--approval=strict", "--", "x"];
    let options = check(&["-p", "--bare", "x"], &expect);
    assert!(options.ignored_arguments.is_empty(), "{:?}", options.ignored_arguments);
}

#[test]
fn a_run_without_persistence_is_ephemeral() {
    let options =
        check(&["-p", "--no-session-persistence", "x"], &["--ephemeral", "--approval=strict", "--", "x"]);
    assert!(options.ignored_arguments.is_empty(), "{:?}", options.ignored_arguments);
}

#[test]
fn a_schema_is_required() {
    let expect = [r#"--json-schema={"type":"object"}"#, "--approval=strict", "--", "x"];
    check(&["-p", "--json-schema", r#"{"type":"object"}"#, "x"], &expect);
    refused(&["-p", "--json-schema", "no", "x"], "should be a JSON object");
    refused(&["-p", "--json-schema", "[]", "x"], "should be a JSON object");
}

#[test]
fn arguments_that_must_not_be_ignored_are_refused() {
    refused(&["mcp", "list"], "`claude mcp` has no counterpart");
    refused(&["-p", "--worktree", "x"], "not supported");
    refused(&["-p", "--agent", "x", "y"], "not supported");
    refused(&["-p", "--some-new-flag", "x"], "there is no `--some-new-flag`");
    refused(&["-p", "--input-format", "stream-json"], "--output-format stream-json");
    refused(&["--input-format=stream-json", "--output-format=stream-json", "--verbose", "x"], "from stdin");
}

#[test]
fn sdks_accept_the_version() {
    let Err(ParseExit::Help(text)) = translated(&["-v"]) else { panic!("no version") };
    assert!(text.starts_with("2.") && text.contains("(Claude Code"), "{text}");
}

#[test]
fn help_lists_the_effect_of_each_flag() {
    for flag in ["--help", "-h"] {
        let Err(ParseExit::Help(text)) = translated(&[flag]) else { panic!("no help") };
        let lines = |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
        assert_eq!([lines("--model"), lines("--fallback-model"), lines("--worktree")], [1, 1, 1], "{text}");
        assert!(
            text.starts_with("Usage: ibeam --dialect claude") && text.ends_with("ibeam help dialects\n"),
            "{text}"
        );
    }
}

#[test]
fn the_reasons_of_refused_flags_are_translated() {
    assert!(crate::dialect::flag_table::untranslated_reasons(FLAGS).is_empty());
}
