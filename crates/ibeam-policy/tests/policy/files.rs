//! Verdicts on reading and writing files.

use ibeam_policy::Access;
use ibeam_protocol::PermissionMode;

use super::{Outcome, check, check_read, check_write, outcome_of, policy};

#[test]
fn the_workspace_and_extra_directories_may_be_read_and_written() {
    for path in [
        "/home/ann/work/README.md",
        "/home/ann/work/.env",
        "/srv/extra/deep/er.txt",
        "/home/ann/work/gitconfig.md",
    ] {
        check_read(path, Outcome::Allow);
        check_write(path, Outcome::Allow);
    }
}

#[test]
fn nothing_outside_is_writable_even_with_force() {
    for path in [
        "/home/ann/other.txt",
        "/home/ann/work-evil/x",
        "/etc/hosts",
        "/home/ann/.bashrc",
        "relative",
        "/home/ann/work/../x",
        "/a\0b",
    ] {
        check_write(path, Outcome::Deny);
    }
}

#[test]
fn a_person_decides_about_files_outside_only_where_one_is_asked() {
    let outcome = |access: &Access, mode, deny: &[&str]| {
        let mut policy = policy(mode, &[], deny);
        policy.asks_about_outside = true;
        outcome_of(&policy.decide(access))
    };
    let write = |path: &str| Access::Write(path.into());
    for mode in [PermissionMode::Default, PermissionMode::Force] {
        assert_eq!(outcome(&write("/home/ann/other.txt"), mode, &[]), Outcome::Ask);
        // What is protected stays so, and commands are confined as without a person.
        assert_eq!(outcome(&write("/home/ann/.bashrc"), mode, &[]), Outcome::Deny);
        assert_eq!(outcome(&write("relative"), mode, &[]), Outcome::Deny);
        assert_eq!(outcome(&write("/srv/a"), mode, &["Write(/srv/**)"]), Outcome::Deny);
        assert_eq!(outcome(&Access::command("echo a > /home/ann/other.txt"), mode, &[]), Outcome::Deny);
    }
    assert_eq!(outcome(&write("/home/ann/other.txt"), PermissionMode::Plan, &[]), Outcome::Deny);
}

#[test]
fn files_outside_are_readable_except_credentials_and_process_state() {
    check_read("/usr/include/stdio.h", Outcome::Allow);
    check_read("/proc/cpuinfo", Outcome::Allow);
    for path in [
        "/home/ann/.ssh/id_rsa",
        "/home/ann/.AWS/credentials",
        "/home/ann/.config/ibeam/auth.json",
        "/proc/self/environ",
        "/proc/7/environ",
        "/dev/stdin",
        "/var/state/auth.json",
    ] {
        check_read(path, Outcome::Deny);
    }
}

#[test]
fn plan_and_ask_modes_change_nothing() {
    for mode in [PermissionMode::Plan, PermissionMode::Ask] {
        let policy = policy(mode, &["Shell(ls)", "Write(**)"], &[]);
        check(&policy, Access::Read("/home/ann/work/a".into()), Outcome::Allow);
        check(&policy, Access::Write("/home/ann/work/a".into()), Outcome::Deny);
        check(&policy, Access::command("ls"), Outcome::Deny);
    }
}

#[test]
fn a_deny_rule_wins_over_all_others() {
    let policy = policy(
        PermissionMode::Force,
        &["Read(.env)", "Write(**)"],
        &["Read(.env*)", "Write(**/*.key)", "Read(secrets/)"],
    );
    for (access, expect) in [
        (Access::Read("/home/ann/work/.env".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/sub/.env.local".into()), Outcome::Deny),
        (Access::Write("/home/ann/work/.env".into()), Outcome::Deny),
        (Access::Write("/home/ann/work/a.KEY".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/secrets".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/secrets/a/b".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/a.key".into()), Outcome::Allow),
    ] {
        check(&policy, access, expect);
    }
}
