//! Secrets on our own command line, taken out of what every user of the machine may read there.
//!
//! Only what was shown until then cannot be taken back: a variable or a file is the better place for a key.

use memchr::memmem;

use crate::memory::Begin;
use crate::raw;

/// Overwrites each of `secrets` in the command line of this process, as /proc and `ps` show it.
///
/// To be called before there are threads, and after the arguments were read: they are not what they were. Where the
/// system does not tell where they lie, nothing is changed.
pub fn redact_arguments<'a>(secrets: impl IntoIterator<Item = &'a str>) {
    let mut secrets = secrets.into_iter().filter(|secret| !secret.is_empty()).peekable();
    if secrets.peek().is_none() {
        return;
    }
    let Some(arguments) = Begin::of_this_process().arguments() else { return };
    let Ok(shown) = std::fs::read("/proc/self/cmdline") else { return };
    for secret in secrets {
        for place in memmem::find_iter(&shown, secret) {
            let start = arguments.start + place;
            if start + secret.len() <= arguments.end {
                raw::wipe(start..start + secret.len());
            }
        }
    }
}
