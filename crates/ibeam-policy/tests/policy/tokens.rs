//! The syntax of permission tokens and the limits of their patterns.

use ibeam_policy::Rule;

#[test]
fn a_token_prints_as_it_is_written() {
    for token in [
        "Shell(ls)",
        "Shell(git:status*)",
        "Read(~/x/**)",
        "Write(src/)",
        "WebFetch(*.a.test)",
        "WebFetch(a.test:8080)",
        "Mcp(db:read*)",
    ] {
        assert_eq!(token.parse::<Rule>().unwrap().to_string(), token);
    }
    assert_eq!(" Shell( touch ) ".parse::<Rule>().unwrap().to_string(), "Shell(touch)");
}

#[test]
fn an_invalid_token_is_reported_with_the_valid_forms() {
    for token in [
        "Shel(touch)",
        "Shell(touch",
        "Shell()",
        "ls",
        "Shell(rm -rf)",
        "Read([)",
        "Mcp(db)",
        "WebFetch(http://a)",
        "WebFetch(a:0)",
        "WebFetch(a:65536)",
        "WebFetch(a:+80)",
        "WebFetch(a:)",
        "WebFetch(:80)",
        "Read(../x)",
    ] {
        let message = token.parse::<Rule>().unwrap_err().to_string();
        assert!(message.contains(&format!("`{token}`")) && message.contains("`Shell(program)`"), "{message}");
    }
}

#[test]
fn patterns_have_a_maximum_size_and_depth() {
    let nested = |count: usize| format!("{}a{}", "{".repeat(count), "}".repeat(count));
    for kind in ["Read", "Write", "Shell"] {
        for (pattern, expect) in [
            (nested(5), true),
            (nested(300), false),
            (nested(100_000), false),
            ("{a,b}".repeat(1_000), false),
            ("*".repeat(5_000), false),
            ("a".repeat(100_000), false),
            ("[".repeat(1_000), false),
        ] {
            let inner = if kind == "Shell" { format!("x:{pattern}") } else { pattern };
            let token = format!("{kind}({inner})");
            let parsed = token.parse::<Rule>();
            assert_eq!(parsed.is_ok(), expect, "{kind} {}", inner.len());
        }
    }
    assert!("Mcp({{{{{{{{{{{a}}}}}}}}}}}:b)".parse::<Rule>().is_err());
}

#[test]
fn a_program_with_arguments_is_corrected_to_a_rule_that_covers_them() {
    for (token, corrected) in [
        ("Shell(git push)", "Shell(git:push*)"),
        ("Shell(git push:*)", "Shell(git:push*)"),
        ("Shell(npm run build *)", "Shell(npm:run build*)"),
        ("Shell(rm -rf)", "Shell(rm:-rf*)"),
    ] {
        let error = token.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(&format!("write `{corrected}`;")), "{error}");
        assert!(corrected.parse::<Rule>().is_ok(), "{corrected}");
    }
}
