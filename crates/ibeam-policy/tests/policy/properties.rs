//! Properties of verdicts on generated rules and accesses.

use std::path::PathBuf;

use ibeam_policy::{Access, Rule};
use ibeam_protocol::PermissionMode;
use proptest::prelude::*;

use super::{Outcome, outcome_of, policy};

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Shell(ls)",
        "Shell(touch)",
        "Shell(git:push*)",
        "Read(.env*)",
        "Write(src/**)",
        "Read(/etc/**)",
        "Mcp(a:b)",
        "Shell(*)",
    ])
}

/// Text that is often almost a command.
fn command() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "ls",
            "touch",
            "git",
            "push",
            " ",
            " ",
            ";",
            "&&",
            "|",
            "\n",
            "'",
            "\"",
            "\\",
            "$",
            "`",
            "(",
            "<",
            ">",
            ".env",
            "src/a",
            "-c",
            "sh",
            "env",
            "*",
            "~",
            "/",
            "..",
            "timeout 1 ",
            "xargs ",
            "sed ",
            "s/a/b/",
            "="
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![
        command().prop_map(Access::command),
        ".*".prop_map(Access::command),
        command().prop_map(|text| Access::Read(PathBuf::from(format!("/{text}")))),
        ".*".prop_map(|text| Access::Write(PathBuf::from(text))),
    ]
}

proptest! {
    #[test]
    fn a_deny_rule_never_allows_more(access in access(), allow in prop::collection::vec(token(), 0..3), deny in prop::collection::vec(token(), 0..3), more in token(), force in any::<bool>()) {
        let mode = if force { PermissionMode::Force } else { PermissionMode::Default };
        let before = policy(mode, &allow, &deny);
        let narrower = policy(mode, &allow, &[deny.as_slice(), &[more]].concat());
        if outcome_of(&narrower.decide(&access)) == Outcome::Allow {
            prop_assert_eq!(outcome_of(&before.decide(&access)), Outcome::Allow);
        }
    }

    #[test]
    fn a_rule_parses_or_gives_a_reason(token in ".*", inner in "\\PC*") {
        let _ = token.parse::<Rule>();
        for kind in ["Shell", "Read", "Write", "WebFetch", "Mcp"] {
            if let Ok(rule) = format!("{kind}({inner})").parse::<Rule>() {
                let printed = rule.to_string();
                prop_assert_eq!(printed.parse::<Rule>().map(|again| again.to_string()), Ok(printed.clone()));
            }
        }
    }

    #[test]
    fn quotes_around_a_word_do_not_change_the_verdict(words in prop::collection::vec("[a-z]{1,3}|-[a-z]|\\.env|src/a|[|]|;", 1..6), which in 0usize..6, quote in 0usize..3) {
        let text = words.join(" ");
        let mut quoted = words.clone();
        let which = which % quoted.len();
        if !matches!(quoted[which].as_str(), "|" | ";" | "if" | "do" | "fi" | "in") {
            quoted[which] = match quote {
                0 => format!("'{}'", quoted[which]),
                1 => format!("\"{}\"", quoted[which]),
                _ => format!("{}''", quoted[which]),
            };
        }
        let policy = policy(PermissionMode::Default, &["Shell(ls)", "Shell(a)", "Shell(b:*)"], &["Shell(c)", "Read(.env*)"]);
        let decide = |text: &str| outcome_of(&policy.decide(&Access::command(text)));
        prop_assert_eq!(decide(&text), decide(&quoted.join(" ")));
    }

    #[test]
    fn text_around_an_uncovered_command_does_not_cover_it(before in command(), after in command()) {
        let policy = policy(PermissionMode::Default, &["Shell(ls)", "Shell(git)", "Shell(xargs)", "Shell(sed)"], &[]);
        for text in [format!("{before}\ntouch p\n{after}"), format!("ls {before}; touch p; {after}"), format!("ls $(touch p) {after}")] {
            let verdict = policy.decide(&Access::command(text.clone()));
            // Inside quotes it is data, and no program has that name.
            let explained = policy.explain(&Access::command(text.clone()));
            let runs = explained.parts.iter().any(|part| part.programs.iter().any(|name| name == "touch"));
            prop_assert!(outcome_of(&verdict) != Outcome::Allow || !runs, "{text:?}: {verdict:?}");
            let plain = |text: &str| !text.contains(['\'', '"', '\\', '<', '#', '$', '`', '(']);
            if plain(&before) && plain(&after) {
                prop_assert_ne!(outcome_of(&verdict), Outcome::Allow, "{:?}", text);
            }
        }
    }

    #[test]
    fn without_rules_no_command_runs(text in command()) {
        let verdict = policy(PermissionMode::Default, &[], &[]).decide(&Access::command(text));
        prop_assert_ne!(outcome_of(&verdict), Outcome::Allow);
    }
}
