//! The names under which tools are offered: `mcp_<server>_<tool>`, in letters that every model service takes.

/// Services take at most so many characters of `[a-zA-Z0-9_-]` (OpenAI's API reference, "function.name").
const LONGEST: usize = 64;
/// `_` and eight hexadecimal digits.
const MARK: usize = 9;

/// The name of a tool; where it had to be changed, or `is_taken` says that another tool has it, it ends in a
/// fingerprint of server and tool.
pub(crate) fn safe_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let whole = format!("mcp_{server}_{tool}");
    let safe: String = whole.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    if safe == whole && safe.len() <= LONGEST && !is_taken(&safe) {
        return safe;
    }
    let begin: String = safe.chars().take(LONGEST - MARK).collect();
    format!("{begin}_{:08x}", fingerprint(server, tool))
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// FNV-1a; the byte between them keeps `a` + `bc` and `ab` + `c` apart.
fn fingerprint(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(server: &str, tool: &str, expect: &str) {
        assert_eq!(safe_name(server, tool, |name| name == "mcp_taken_tool"), expect);
    }

    #[test]
    fn a_safe_name_is_as_people_wrote_it() {
        check("github", "create_issue", "mcp_github_create_issue");
        check("my-server", "Search", "mcp_my-server_Search");
    }

    #[test]
    fn what_had_to_change_or_is_taken_ends_in_a_fingerprint() {
        check("a.b", "c", "mcp_a_b_c_d146a785");
        check("taken", "tool", "mcp_taken_tool_87d7d942");
        let long = safe_name("s", &"x".repeat(80), |_| false);
        assert_eq!(long.len(), LONGEST);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_services_take(server in ".{0,90}", tool in ".{0,90}", taken: bool) {
            let name = safe_name(&server, &tool, |_| taken);
            prop_assert!(name.len() <= LONGEST && name.chars().all(is_safe), "{}", name);
        }
    }
}
