//! Any command: the analysis neither crashes nor lets a deny rule allow more.
#![no_main]

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::PermissionMode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|command: &str| {
    let open = Policy {
        mode: PermissionMode::Default,
        workspace: "/w".into(),
        extra_dirs: Vec::new(),
        home: "/h".into(),
        private: Vec::new(),
        allow: vec!["Shell(ls)".parse().expect("a token"), "Shell(git:*)".parse().expect("a token")],
        deny: Vec::new(),
    };
    let narrow = Policy { deny: vec!["Shell(rm)".parse().expect("a token")], ..open.clone() };
    let access = Access::Command(command.to_owned());
    let allows = |policy: &Policy| matches!(policy.decide(&access), Verdict::Allow { .. });
    assert!(!allows(&narrow) || allows(&open));
});
