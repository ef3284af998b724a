//! The names of MCP tools for the model: `mcp_<server>_<tool>`, in characters that every model API accepts.

/// The maximum length of a name, of `[a-zA-Z0-9_-]` (OpenAI's API reference, "function.name").
const MAX_NAME_LENGTH: usize = 64;
/// The length of `_` and eight hexadecimal digits.
const SUFFIX_LENGTH: usize = 9;

/// Returns the name of a tool for the model. If `mcp_<server>_<tool>` has characters that are not allowed, is too long or `is_taken`,
/// the name ends in a fingerprint of server and tool.
pub(crate) fn name_for_model(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = format!("mcp_{server}_{tool}");
    let allowed: String = plain.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if allowed == plain && allowed.len() <= MAX_NAME_LENGTH && !is_taken(&allowed) {
        return allowed;
    }
    let prefix: String = allowed.chars().take(MAX_NAME_LENGTH - SUFFIX_LENGTH).collect();
    format!("{prefix}_{:08x}", fingerprint(server, tool))
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns the FNV-1a hash of both names. The byte between them distinguishes `a` + `bc` from `ab` + `c`.
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
        assert_eq!(name_for_model(server, tool, |name| name == "mcp_taken_tool"), expect);
    }

    #[test]
    fn a_valid_name_is_unchanged() {
        check("github", "create_issue", "mcp_github_create_issue");
        check("my-server", "Search", "mcp_my-server_Search");
    }

    #[test]
    fn an_invalid_or_taken_name_ends_in_a_fingerprint() {
        check("a.b", "c", "mcp_a_b_c_d146a785");
        check("taken", "tool", "mcp_taken_tool_87d7d942");
        let long = name_for_model("s", &"x".repeat(80), |_| false);
        assert_eq!(long.len(), MAX_NAME_LENGTH);
    }

    proptest! {
        #[test]
        fn every_name_is_accepted_by_model_apis(server in ".{0,90}", tool in ".{0,90}", taken: bool) {
            let name = name_for_model(&server, &tool, |_| taken);
            prop_assert!(name.len() <= MAX_NAME_LENGTH && name.chars().all(is_allowed), "{}", name);
        }
    }
}
