use ibeam_output::{Catalogue, Locale};

use ibeam_providers::default_models::default_model;

use super::*;
use ibeam_serve::dialect::PromptSource;

fn translated(args: &[&str], key: Option<&str>) -> Result<TranslatedArgs, ParseExit> {
    translated_where(args, key, |_| true)
}

fn translated_where(
    args: &[&str],
    key: Option<&str>,
    is_in_repository: fn(Option<&str>) -> bool,
) -> Result<TranslatedArgs, ParseExit> {
    let args: Vec<OsString> = args.iter().map(Into::into).collect();
    let key = key.map(str::to_owned);
    let variable = |name: &str| key.clone().filter(|_| name == "CODEX_API_KEY");
    let read_file = |path: &str| match path {
        "schema.json" => Ok("{}".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    translate(&args, &Env { variable: &variable, read_file, is_in_repository })
}

/// `expect` contains the arguments after those that every printing run has.
#[track_caller]
fn check_with(args: &[&str], key: Option<&str>, expect: &[&str]) -> DialectOptions {
    let Ok(TranslatedArgs { args: own_args, options }) = translated(args, key) else {
        panic!("{args:?} is refused")
    };
    assert!(crate::cli::parse(&own_args).is_ok(), "{own_args:?}");
    let own: Vec<&str> = own_args.iter().skip(3).map(|arg| arg.to_str().unwrap()).collect();
    assert_eq!(own, expect, "{args:?}");
    options.unwrap()
}

#[track_caller]
fn check(args: &[&str], expect: &[&str]) -> DialectOptions {
    check_with(args, None, expect)
}

#[track_caller]
fn refused(args: &[&str], part: &str) {
    match translated(args, None) {
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
fn the_command_line_of_the_sdk_is_translated() {
    let options = check_with(
        &[
            "exec",
            "--experimental-json",
            "--config",
            "openai_base_url=\"http://127.0.0.1:1/v1\"",
            "--model",
            "gpt-5",
            "--sandbox",
            "workspace-write",
            "--cd",
            "/w",
            "--add-dir",
            "/d",
            "--skip-git-repo-check",
            "--config",
            "model_reasoning_effort=\"high\"",
            "--config",
            "approval_policy=\"never\"",
            "resume",
            "an-id",
        ],
        Some("k"),
        &[
            "--workspace=/w",
            "--add-dir=/d",
            "--effort=high",
            "--resume=an-id",
            "--sandbox=enabled",
            "--model=openai/gpt-5",
            "--api-key=k",
            "--endpoint=http://127.0.0.1:1/v1",
            "--stdin=read",
        ],
    );
    assert_eq!((options.output, options.input), (DialectOutput::Stream, PromptSource::Prompt));
    assert!(options.ignored_arguments.is_empty(), "{:?}", options.ignored_arguments);
}

#[test]
fn sandbox_modes_never_allow_more_than_documented() {
    let strict = ["--approval=strict", "--sandbox=enabled", "--", "x"];
    check(&["exec", "x"], &strict);
    check(&["exec", "-s", "read-only", "x"], &strict);
    check(&["exec", "-c", "sandbox_mode=\"read-only\"", "-c", "approval_policy=untrusted", "x"], &strict);
    check(&["exec", "--full-auto", "x"], &["--sandbox=enabled", "--", "x"]);
    check(&["exec", "-sworkspace-write", "-c", "approval_policy=\"untrusted\"", "x"], &strict);
    check(&["exec", "--yolo", "x"], &["--force", "--sandbox=disabled", "--", "x"]);
    check(&["exec", "-s", "danger-full-access", "x"], &["--force", "--sandbox=disabled", "--", "x"]);
    // Flags take precedence over `-c`, in any order.
    check(&["exec", "-s", "read-only", "-c", "sandbox_mode=\"danger-full-access\"", "x"], &strict);
    check(&["exec", "-a", "untrusted", "-s", "workspace-write", "-c", "approval_policy=never", "x"], &strict);
    refused(&["exec", "-s", "airtight", "x"], "unknown sandbox `airtight`");
    refused(&["exec", "-a", "maybe", "x"], "unknown approval policy `maybe`");
}

#[test]
fn an_ephemeral_run_keeps_no_session() {
    let options = check(
        &["exec", "--ephemeral", "x"],
        &["--ephemeral", "--approval=strict", "--sandbox=enabled", "--", "x"],
    );
    assert!(options.ignored_arguments.is_empty(), "{:?}", options.ignored_arguments);
}

#[test]
fn threads_are_resumed() {
    let common = ["--approval=strict", "--sandbox=enabled"];
    check(&["exec", "resume", "--last", "go on"], &["--continue", common[0], common[1], "--", "go on"]);
    check(&["exec", "resume", "an-id", "go on"], &["--resume=an-id", common[0], common[1], "--", "go on"]);
    check(&["exec", "resume", "an-id", "-"], &["--resume=an-id", common[0], common[1], "--stdin=read"]);
    refused(&["exec", "resume"], "needs the id");
}

#[test]
fn a_model_without_a_provider_belongs_to_openai() {
    let common = ["--approval=strict", "--sandbox=enabled"];
    let of = |given: &str, expect: &str| {
        let model = format!("--model={expect}");
        check(&["exec", "-m", given, "x"], &[common[0], common[1], &model, "--", "x"]);
    };
    of("gpt-5-codex", "openai/gpt-5-codex");
    of("claude-sonnet-4-5", "claude-sonnet-4-5");
    of("groq/llama", "groq/llama");
    let usual =
        format!("--model=openai/{}", default_model("openai", &ibeam_agent::clock::utc_date()).unwrap());
    check_with(&["exec", "x"], Some("k"), &[common[0], common[1], &usual, "--api-key=k", "--", "x"]);
}

#[test]
fn settings_are_applied_ignored_with_a_notice_or_refused() {
    let common = ["--approval=strict", "--sandbox=enabled"];
    let idle = ["web_search=\"disabled\"", "sandbox_workspace_write.network_access=false"];
    for setting in idle {
        assert!(
            check(&["exec", "-c", setting, "x"], &[common[0], common[1], "--", "x"])
                .ignored_arguments
                .is_empty()
        );
    }
    let ignored = [
        "web_search=\"options\"",
        "sandbox_workspace_write.network_access=true",
        "features.web=true",
        "tui.a=1",
        "something_new=1",
        "totally.unknown.key=3",
        "experimental_compact_prompt_file=\"x\"",
        "projects./w.trust_level=\"trusted\"",
        "approvals_reviewer=\"user\"",
        "model_provider=\"openai\"",
        "apps._default.destructive_enabled=false",
        "apps._default.default_tools_approval_mode=\"prompt\"",
        "disable_paste_burst=false",
        "allow_something=true",
        "hooks={}",
    ];
    for setting in ignored {
        let options = check(&["exec", "-c", setting, "x"], &[common[0], common[1], "--", "x"]);
        assert_eq!(options.ignored_arguments, [format!("--config {}", setting.split('=').next().unwrap())]);
    }
    check(
        &["exec", "-c", "sandbox_workspace_write.writable_roots=[\"/a\", \"/b\"]", "x"],
        &["--add-dir=/a", "--add-dir=/b", common[0], common[1], "--", "x"],
    );
    check(
        &["exec", "-c", "developer_instructions=\"Be \\\"brief\\\"\"", "x"],
        &["--append-system-prompt=Be \"brief\"", common[0], common[1], "--", "x"],
    );
    check(
        &["exec", "-c", "experimental_instructions=\"Be brief\"", "x"],
        &["--append-system-prompt=Be brief", common[0], common[1], "--", "x"],
    );
    for key in ["experimental_instructions_file", "model_instructions_file"] {
        let setting = format!("{key}=\"schema.json\"");
        let expect = [common[0], common[1], "--append-system-prompt={}", "--", "x"];
        check(&["exec", "-c", &setting, "x"], &expect);
    }
    assert!(matches!(
        translated(&["exec", "-c", "model_instructions_file=nowhere", "x"], None),
        Err(ParseExit::Error(error)) if matches!(error.reason(), Some(Reason::NoInput { .. }))
    ));
    for setting in [
        "model_provider=\"elsewhere\"",
        "model_providers.elsewhere.base_url=\"http://127.0.0.1\"",
        "chatgpt_base_url=\"http://127.0.0.1\"",
        "permissions.network=1",
        "default_permissions=\"tight\"",
        "sandbox_permissions=[]",
        "sandbox_workspace_write.new=true",
        "profile=\"tight\"",
        "hooks.a=1",
        "projects./w.trust_level=\"untrusted\"",
        "new.allowed_domains=[]",
        "allow_something=false",
        "disable_something=true",
        "approvals_reviewer=\"guardian_subagent\"",
        "new.exclude=[\"a\"]",
        "shell_environment_policy.inherit=\"none\"",
        "shell_environment_policy.exclude=[\"A*\"]",
    ] {
        refused(&["exec", "-c", setting, "x"], "not known here");
    }
    // A value that widens has the effect of its flag.
    check(
        &["exec", "-c", "sandbox_mode=\"danger-full-access\"", "-c", "approval_policy=\"never\"", "x"],
        &["--force", "--sandbox=disabled", "--", "x"],
    );
    check(
        &["exec", "-c", "shell_environment_policy.inherit=\"all\"", "x"],
        &[common[0], common[1], "--", "x"],
    );
    refused(&["exec", "-c", "sandbox_workspace_write.writable_roots=\"/a\"", "x"], "list of directories");
    refused(&["exec", "-c", "features={shell_tool=false}", "x"], "features.NAME");
    refused(&["exec", "-c", "no-setting", "x"], "KEY=VALUE");
}

#[test]
fn a_disabled_tool_is_not_offered() {
    let expect = ["--without=shell", "--approval=strict", "--sandbox=enabled", "--", "x"];
    check(&["exec", "--disable", "shell_tool", "x"], &expect);
    check(&["exec", "-c", "features.shell_tool=false", "x"], &expect);
    let options = check(&["exec", "--disable", "apps", "--enable", "shell_tool", "x"], &expect[1..]);
    assert_eq!(options.ignored_arguments, ["--disable apps", "--enable"]);
}

#[test]
fn a_schema_is_required() {
    let expect = ["--json-schema=schema.json", "--approval=strict", "--sandbox=enabled", "--", "x"];
    check(&["exec", "--output-schema", "schema.json", "x"], &expect);
}

#[test]
fn images_are_attached() {
    let expect = [
        "--image=a.png",
        "--image=b.png",
        "--image=c.png",
        "--approval=strict",
        "--sandbox=enabled",
        "--",
        "x",
    ];
    check(&["exec", "-i", "a.png,b.png", "c.png", "--", "x"], &expect);
}

#[test]
fn arguments_that_must_not_be_ignored_are_refused() {
    refused(&["review"], "`codex review` has no counterpart");
    refused(&["exec", "review"], "`codex exec review` has no counterpart");
    refused(&["exec", "help"], "`codex exec help` has no counterpart");
    refused(&[], "no interactive mode");
    refused(&["exec", "-p", "safe", "x"], "no profiles");
    refused(&["exec", "resume", "--last", "--all", "x"], "other directories");
    refused(&["exec", "--new-flag", "x"], "there is no `--new-flag`");
}

#[test]
fn the_version_has_the_form_of_codex() {
    let Err(ParseExit::Help(text)) = translated(&["--version"], None) else { panic!("no version") };
    assert!(text.starts_with("codex-cli "), "{text}");
}

#[test]
fn help_lists_the_effect_of_each_flag() {
    for flag in ["--help", "-h"] {
        let Err(ParseExit::Help(text)) = translated(&["exec", flag], None) else { panic!("no help") };
        let lines = |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
        assert_eq!([lines("--model"), lines("--ephemeral"), lines("--profile")], [1, 1, 1], "{text}");
        assert!(
            text.starts_with("Usage: ibeam --dialect codex") && text.ends_with("ibeam help dialects\n"),
            "{text}"
        );
    }
}

#[test]
fn outside_of_a_git_repository_a_run_needs_a_flag() {
    let only_w: fn(Option<&str>) -> bool = |directory| directory == Some("/w");
    for (args, expect) in [
        (&["exec", "x"][..], false),
        (&["exec", "--json", "resume", "an-id"], false),
        (&["exec", "--cd", "/other", "x"], false),
        (&["exec", "--cd", "/w", "x"], true),
        (&["exec", "--skip-git-repo-check", "x"], true),
        (&["exec", "--dangerously-bypass-approvals-and-sandbox", "x"], true),
        (&["exec", "--full-auto", "x"], false),
    ] {
        match translated_where(args, None, only_w) {
            Ok(_) => assert!(expect, "{args:?} is taken"),
            Err(ParseExit::Error(error)) => {
                let message = error.explain(&Catalogue::new(Locale::En)).message;
                assert!(
                    !expect && message.contains("--skip-git-repo-check was not specified"),
                    "{args:?}: {message}"
                );
            }
            Err(_) => panic!("{args:?} fails otherwise"),
        }
    }
}

#[test]
fn the_reasons_of_refused_flags_are_translated() {
    assert!(crate::dialect::flag_table::untranslated_reasons(FLAGS).is_empty());
}
