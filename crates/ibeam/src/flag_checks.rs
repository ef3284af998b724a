//! Checks of flags before the command begins, so that a mistyped flag is not hidden by another error.

use ibeam_protocol::{Reason, sentence};

use crate::flags::Flags;
use ibeam_agent::environment::reject_non_utf8_variables;
use ibeam_agent::option_checks::empty_value;

/// Checks the flags that no configuration can make valid. Rejects flags of the Cursor CLI whose feature does not exist here,
/// flags that contradict each other or need another one, and variables that are not UTF-8.
///
/// # Errors
/// `Unsupported`, `Usage`, `NotText`.
pub(crate) fn check(flags: &Flags) -> Result<(), Reason> {
    let unsupported = |what: &str| Err(Reason::Unsupported { what: what.to_owned() });
    reject_non_utf8_variables()?;
    if flags.session.resume.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(empty_value("--resume"));
    }
    if flags.session.from_atif.is_some() && (flags.session.resume.is_some() || flags.session.continue_) {
        let detail = sentence!("`--from-atif` starts a new session; leave `--resume` and `--continue` out");
        return Err(Reason::Usage { detail });
    }
    if flags.session.continue_ && flags.session.resume.is_some() {
        let detail = sentence!("`--continue` resumes the newest session; leave it or `--resume` out");
        return Err(Reason::Usage { detail });
    }
    if flags.output.heartbeat == Some(0) {
        let detail = sentence!("`--heartbeat 0` should be a number of seconds above 0");
        return Err(Reason::Usage { detail });
    }
    if flags.other.insecure {
        return unsupported("--insecure");
    }
    if flags.other.cloud {
        return unsupported("--cloud");
    }
    if flags.traffic.recording_speed.is_some() && flags.traffic.from_recording.is_none() {
        return Err(Reason::Usage { detail: sentence!("`--recording-speed` needs `--from-recording DIR`") });
    }
    for (flag, is_given) in [
        ("--worktree-base", flags.prompt.worktree_base.is_some()),
        ("--skip-worktree-setup", flags.prompt.skip_worktree_setup),
    ] {
        if is_given && flags.prompt.worktree.is_none() {
            return Err(Reason::Usage { detail: sentence!("`{flag}` needs `--worktree`", flag) });
        }
    }
    // `dialect::translate` removes `--dialect` where it is the first argument.
    if let Some(dialect) = &flags.other.dialect {
        return Err(Reason::Usage {
            detail: sentence!("`--dialect {dialect}` must be the first argument", dialect),
        });
    }
    Ok(())
}
