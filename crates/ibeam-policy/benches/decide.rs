//! The cost of a decision: about a command (parser, walk and rules) and about a path.
//!
//! Rows named `by_…` are for comparison: starting the smallest command, and a `stat` of the file.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::path::PathBuf;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use ibeam_policy::{Access, Policy};
use ibeam_protocol::PermissionMode;

fn main() {
    divan::main();
}

fn policy() -> Policy {
    let mut policy = Policy::new(PermissionMode::Default, PathBuf::from("/w"), PathBuf::from("/h"));
    let rules = |tokens: &[&str]| tokens.iter().filter_map(|token| token.parse().ok()).collect();
    policy.allow =
        rules(&["Shell(ls)", "Shell(git)", "Shell(grep)", "Shell(cat)", "Shell(echo)", "Shell(cargo)"]);
    policy.deny = rules(&["Shell(rm)", "Shell(git:push*)", "Read(.env*)", "Write(**/*.key)"]);
    policy
}

mod command {
    use super::*;

    fn decide(bencher: Bencher<'_, '_>, text: &str) {
        let (policy, access) = (policy(), Access::command(text));
        bencher.counter(BytesCount::of_str(text)).bench_local(|| policy.decide(black_box(&access)));
    }

    #[divan::bench]
    fn one_command(bencher: Bencher<'_, '_>) {
        decide(bencher, "cargo test -p ibeam-policy");
    }

    #[divan::bench]
    fn a_commit_with_a_here_document(bencher: Bencher<'_, '_>) {
        decide(
            bencher,
            "git add -A && git commit -q -m \"$(cat <<'EOF'\nRead commands with a grammar\n\nIt reads them as bash does.\nEOF\n)\"",
        );
    }

    #[divan::bench]
    fn a_loop_with_a_pipeline(bencher: Bencher<'_, '_>) {
        decide(
            bencher,
            "for f in $(git ls-files '*.md'); do if grep -q TODO \"$f\"; then cat \"$f\" | grep -n x; fi; done",
        );
    }

    #[divan::bench]
    fn seventy_kilobytes_of_words(bencher: Bencher<'_, '_>) {
        decide(bencher, &format!("echo {}; ls", "word ".repeat(14_000)));
    }

    #[divan::bench]
    fn seventy_kilobytes_of_brackets(bencher: Bencher<'_, '_>) {
        decide(bencher, &"(".repeat(70_000));
    }

    #[divan::bench]
    #[allow(
        clippy::disallowed_types,
        reason = "policy starts nothing; this is what a decision is compared with"
    )]
    fn by_fork_and_exec(bencher: Bencher<'_, '_>) {
        bencher.bench_local(|| assert!(std::process::Command::new("/bin/true").status().unwrap().success()));
    }
}

mod path {
    use super::*;

    fn decide(bencher: Bencher<'_, '_>, access: Access) {
        let policy = policy();
        bencher.bench_local(|| policy.decide(black_box(&access)));
    }

    #[divan::bench]
    fn read(bencher: Bencher<'_, '_>) {
        decide(bencher, Access::Read("/w/crates/policy/src/policy.rs".into()));
    }

    #[divan::bench]
    fn write(bencher: Bencher<'_, '_>) {
        decide(bencher, Access::Write("/w/crates/policy/src/policy.rs".into()));
    }

    #[divan::bench]
    fn by_stat(bencher: Bencher<'_, '_>) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/policy.rs");
        bencher.bench_local(|| black_box(std::fs::symlink_metadata(black_box(path)).unwrap()));
    }
}
