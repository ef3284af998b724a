//! Commands that act on a service outside this machine, which undo does not take back.

use ibeam_policy::{Access, ApprovalMode, Policy, Verdict};
use ibeam_protocol::PermissionMode;

use super::policy;

/// Returns the policy of a session with a person and a sandbox.
fn attended(allow: &[&str]) -> Policy {
    let mut policy = policy(PermissionMode::Default, allow, &[]);
    policy.sandboxed = true;
    policy.asks_about_publishing = true;
    policy
}

/// Checks whether a person is asked about a command because it publishes.
#[track_caller]
fn check(policy: &Policy, command: &str, is_asked: bool) {
    let verdict = policy.decide(&Access::command(command));
    let by_publishing = matches!(&verdict, Verdict::Ask { rule, .. } if rule == "publishing");
    assert_eq!(by_publishing, is_asked, "{command:?}: {verdict:?}");
    assert!(is_asked || matches!(verdict, Verdict::Allow { .. }), "{command:?}: {verdict:?}");
}

#[test]
fn a_command_that_publishes_is_asked_about_in_the_sandbox_too() {
    let policy = attended(&[]);
    for command in [
        "git push",
        "git push origin main",
        "git push -f",
        "git -C sub push",
        "git -c a.b=c push",
        "git --no-pager push",
        "/usr/bin/git push",
        "env git push",
        "timeout 60 git push",
        "echo main | xargs git push origin",
        "sudo git push",
        "sh -c 'git push'",
        "bash -c \"cd a && git push\"",
        "eval 'git push'",
        "cd a && git push",
        "cd \"$x\" && git push",
        "git commit -m x; git push",
        "(git push)",
        "if true; then git push; fi",
        "git push origin \"$(git branch --show-current)\"",
        "git push origin $b",
        "f() { git push; }; f",
        "find . -name x -exec git push ';'",
        "a=(1); git push",
        "git lfs push origin main",
        "git subtree push --prefix=a b c",
        "git send-email x.patch",
        "gh pr create --fill",
        "gh -R o/r pr merge 5",
        "gh release create v1",
        "gh api -XPOST repos/o/r/issues",
        "gh api repos/o/r/issues --field title=x",
        "glab mr create",
        "jj git push",
        "hg push",
        "svn commit -m x",
        "svn ci",
        "npm publish",
        "npm --workspace a publish",
        "npm publish --access public",
        "pnpm -r publish",
        "yarn npm publish",
        "bun publish",
        "npx lerna publish",
        "cargo publish",
        "cargo +nightly publish --allow-dirty",
        "docker push a/b",
        "docker image push a/b",
        "docker --context x push a/b",
        "docker buildx build --push .",
        "podman push a",
        "twine upload dist/*",
        "python3 -m twine upload dist/x",
        "uv publish",
        "uv run twine upload dist/x",
        "poetry publish",
        "gem push a.gem",
        "mvn clean deploy",
        "./gradlew build publish",
        "kubectl apply -f x.yaml",
        "kubectl -n prod delete pod x",
        "helm upgrade a b",
        "terraform apply",
        "terraform -chdir=x apply -auto-approve",
        "tofu destroy",
        "pulumi up",
        "vercel deploy",
        "wrangler deploy",
        "fly deploy",
        "aws s3 rm s3://a/b",
        "git push -o --dry-run origin main",
        "npm publish --dry-run=false",
        "npm publish --dry-run false",
        "git push --dry-run --no-dry-run",
        "git push --dry-run $x",
    ] {
        check(&policy, command, true);
    }
}

#[test]
fn a_command_that_stays_on_this_machine_is_not_asked_about() {
    let policy = attended(&[]);
    for command in [
        "cargo test",
        "git commit -m 'then git push'",
        "git commit -m 'a; git push'",
        "git log --grep push",
        "git stash push",
        "git -C push status",
        "git fetch",
        "git pull",
        "echo git push",
        "echo 'git push' > notes.txt",
        "grep -rn 'npm publish' .",
        "git config push.default simple",
        "git push --dry-run",
        "git push origin main --dry-run",
        "git push --help",
        "cargo publish --dry-run",
        "npm publish --access public --dry-run",
        "kubectl create deployment x --image=y --dry-run=client -o yaml",
        "npm run publish",
        "npm install",
        "npm test",
        "cargo run -- publish",
        "cargo build --features publish",
        "docker build .",
        "docker pull a/b",
        "gh pr list",
        "gh pr view 5",
        "gh pr checkout 5",
        "gh api repos/o/r/issues",
        "gh release download v1",
        "kubectl get pods",
        "kubectl apply --dry-run=client -f x.yaml",
        "terraform plan",
        "helm template a",
        "mvn package",
        "./gradlew publishToMavenLocal",
        "python3 -m pytest push",
        "uv run pytest",
        "svn status",
        "hg commit -m x",
        "pushd a",
        "a=(1); echo \"$a\"",
        "cat <<EOF > README\ngit push\nEOF",
    ] {
        check(&policy, command, false);
    }
}

#[test]
fn rules_modes_and_runs_without_a_person_decide_as_before() {
    check(&attended(&["Shell(git:push*)"]), "git push origin main", false);
    check(&attended(&["Shell(git:*)"]), "git push && git push -f", false);
    check(&attended(&["Shell(git:push*)"]), "cargo test && git push origin main", false);
    check(&attended(&["Shell(git:push origin*)"]), "git push other main", true);
    check(&attended(&["Shell(git)"]), "git push", true);
    check(&attended(&["Shell(sh:*)"]), "sh -c 'git push'", false);
    check(&attended(&["Shell(git:push*)"]), "git push && cargo publish", true);

    let mut forced = attended(&[]);
    forced.mode = PermissionMode::Force;
    check(&forced, "git push", false);

    let mut printing = attended(&[]);
    printing.asks_about_publishing = false;
    for command in ["git push", "cd \"$x\" && git push", "npm publish"] {
        check(&printing, command, false);
    }

    let verdict = |change: fn(&mut Policy)| {
        let mut policy = attended(&[]);
        change(&mut policy);
        match policy.decide(&Access::command("git push")) {
            Verdict::Allow { rule } | Verdict::Deny { rule, .. } | Verdict::Ask { rule, .. } => rule,
        }
    };
    assert_eq!(verdict(|policy| policy.deny.push("Shell(git)".parse().unwrap())), "Shell(git)");
    assert_eq!(verdict(|policy| policy.ask.push("Shell(git)".parse().unwrap())), "Shell(git)");
    assert_eq!(verdict(|policy| policy.mode = PermissionMode::Plan), "--mode plan");
    assert_eq!(verdict(|policy| policy.sandboxed = false), "default");
    assert_eq!(verdict(|policy| policy.approval = ApprovalMode::Allowlist), "default");
}

#[test]
fn the_reason_names_what_undo_cannot_take_back_and_the_rule_that_allows_it() {
    for (command, expect) in [
        (
            "git -C a push origin main",
            "the command `git -C a push origin main` is not covered by an allow rule: it publishes or changes something \
             on a service, which `ibeam undo` does not take back; a person may allow it with `--allow 'Shell(git:push*)'` or `--force`",
        ),
        (
            "gh pr create --fill",
            "the command `gh pr create --fill` is not covered by an allow rule: it publishes or changes something on \
             a service, which `ibeam undo` does not take back; a person may allow it with `--allow 'Shell(gh:pr create*)'` or `--force`",
        ),
        (
            "kubectl -n a apply -f b",
            "the command `kubectl -n a apply -f b` is not covered by an allow rule: it publishes or changes something on a \
             service, which `ibeam undo` does not take back; a person may allow it with `--allow 'Shell(kubectl:*)'` or `--force`",
        ),
    ] {
        for sandboxed in [true, false] {
            let mut policy = attended(&[]);
            policy.sandboxed = sandboxed;
            match policy.decide(&Access::command(command)) {
                Verdict::Ask { reason, .. } => assert_eq!(reason, expect),
                verdict => panic!("{command}: {verdict:?}"),
            }
        }
    }
}
