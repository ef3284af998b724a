//! Whether a case can be played here at all.

use std::ffi::OsString;

use crate::case::Case;
use crate::effect::Effect;
use crate::fixture::Fixture;
use crate::setup::toolchain;
use crate::user::{SYSTEM_PATH, User, find};

/// The words before the program's own, or why the case is not played.
pub(crate) fn launcher(case: &Case, fixture: &Fixture, own_machine: bool) -> Result<Vec<OsString>, String> {
    let user = fixture.user;
    if let Some(why) = case.requires.as_deref().and_then(|requires| user.refusal_reason(requires)) {
        return Err(why);
    }
    for need in case.needs() {
        let toolchain = toolchain().filter(|_| need == "cargo" && user == User::Root);
        if find(need, SYSTEM_PATH).or_else(|| find(need, &toolchain?)).is_none() {
            return Err(format!("needs {need}"));
        }
    }
    if !own_machine && case.policy.rebinds() {
        return Err("needs a network of its own for a name whose address changes".to_owned());
    }
    if !own_machine && case.names_effect(&Effect::JournalLost) {
        return Err("needs a disk of its own to fill".to_owned());
    }
    if !own_machine && case.names_effect(&Effect::CronChanged) {
        return Err("needs mounts of its own over the tables of cron".to_owned());
    }
    match case.env_fault.as_deref().map(str::to_lowercase) {
        None => Ok(user.launcher()),
        Some(fault) if fault.contains("clone_newuser") || fault.contains("user namespace") => user
            .launcher_without_user_namespaces()
            .ok_or_else(|| format!("the fault cannot be brought about: {fault}")),
        Some(fault) => Err(format!("the runner cannot bring about the fault `{fault}`")),
    }
}
