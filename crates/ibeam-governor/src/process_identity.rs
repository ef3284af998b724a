//! The identity of a process: its number and the time at which it started, so that a newer process with the same number is
//! another one.

use std::fs;
use std::process;

/// Returns the identity of this process.
pub fn own_identity() -> String {
    let pid = process::id();
    format!("{pid}.{}", start_time(pid).unwrap_or_default())
}

/// Whether the process with an identity runs. What follows the identity after another dot does not count.
pub fn is_alive(identity: &str) -> bool {
    let mut parts = identity.split('.');
    let (Some(pid), Some(start)) = (parts.next(), parts.next()) else { return false };
    let started = pid.parse().ok().and_then(start_time);
    started.is_some_and(|started| start.parse() == Ok(started))
}

/// Returns the time at which a process started, in clock ticks since the start of the machine; `None` if it has ended.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes before, in parentheses, and may have any characters.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // Nobody may wait for a process whose parent was killed.
    let has_ended = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| !has_ended)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_has_ended_and_another_one_with_its_number_is_not_it() {
        let own = own_identity();
        assert!(is_alive(&own) && is_alive(&format!("{own}.7")), "{own}");
        assert!(!is_alive(&format!("{own}1")) && !is_alive("1") && !is_alive(""));
        let mut child = process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = format!("{}.{}", child.id(), start_time(child.id()).unwrap());
        assert!(is_alive(&identity));
        child.kill().unwrap();
        while is_alive(&identity) {}
        child.wait().unwrap();
        assert!(!is_alive(&identity));
    }
}
