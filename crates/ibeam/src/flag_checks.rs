//! Checks of flags before the command begins, so that a mistyped flag is not hidden by another error.
//!
//! Refuses flags whose value is empty, malformed or the name of nothing: ignoring such a flag would change the effect of the
//! command without a message.

use std::path::PathBuf;

use ibeam_protocol::{Reason, sentence};
use ibeam_providers::check_header;

use crate::cli::Flags;
use crate::environment::reject_non_utf8_variables;
use crate::similar_names::closest;

/// The tools that a run may have. Those of MCP servers are not among them; their names begin with [`MCP_PREFIX`].
const TOOLS: [&str; 13] = [
    "delete",
    "edit",
    "glob",
    "grep",
    "ls",
    "read",
    "shell",
    "skill",
    "task",
    "update_todos",
    "web_fetch",
    "web_search",
    "write",
];
const MCP_PREFIX: &str = "mcp_";

/// Checks the values of flags that no configuration can make valid. Rejects flags of the Cursor CLI whose feature does not exist here, empty values of flags, and variables that are not
/// UTF-8. Ignoring such a flag would change the effect of the command without a message.
///
/// # Errors
/// `Unsupported`, `Usage`, `NotText`.
pub(crate) fn check(flags: &Flags) -> Result<(), Reason> {
    let unsupported = |what: &str| Err(Reason::Unsupported { what: what.to_owned() });
    reject_non_utf8_variables()?;
    reject_empty_values(flags)?;
    if flags.insecure {
        return unsupported("--insecure");
    }
    if flags.cloud {
        return unsupported("--cloud");
    }
    if flags.recording_speed.is_some() && flags.from_recording.is_none() {
        return Err(Reason::Usage { detail: sentence!("`--recording-speed` needs `--from-recording DIR`") });
    }
    for (flag, is_given) in [
        ("--worktree-base", flags.worktree_base.is_some()),
        ("--skip-worktree-setup", flags.skip_worktree_setup),
    ] {
        if is_given && flags.worktree.is_none() {
            return Err(Reason::Usage { detail: sentence!("`{flag}` needs `--worktree`", flag) });
        }
    }
    // `dialect::translate` removes `--dialect` where it is the first argument.
    if let Some(dialect) = &flags.dialect {
        return Err(Reason::Usage {
            detail: sentence!("`--dialect {dialect}` must be the first argument", dialect),
        });
    }
    Ok(())
}

/// Returns the failure of a flag whose value is empty.
pub(crate) fn empty_value(flag: &str) -> Reason {
    Reason::Usage { detail: sentence!("`{flag}` is empty; give it a value or leave it out", flag) }
}

/// Rejects flags with an empty value or a period of 0. An empty environment variable counts as not set, but an empty
/// flag is most likely a mistake: a script used a variable that was not set.
///
/// # Errors
/// `Usage` with the flag.
fn reject_empty_values(flags: &Flags) -> Result<(), Reason> {
    let texts = [
        ("--model", &flags.model),
        ("--effort", &flags.effort),
        ("--system-prompt", &flags.system_prompt),
        ("--api-key", &flags.api_key),
        ("--endpoint", &flags.endpoint),
        ("--ca-file", &flags.ca_file),
        ("--client-cert", &flags.client_cert),
        ("--client-key", &flags.client_key),
        ("--approval", &flags.approval),
        ("--from-plan", &flags.from_plan),
        ("--resume", &flags.resume),
        ("--timeout", &flags.timeout),
        ("--max-cost", &flags.max_cost),
        ("--lang", &flags.lang),
        ("--contract", &flags.contract),
        ("--worktree-base", &flags.worktree_base),
    ];
    let lists = [
        ("--allow", &flags.allow),
        ("--ask", &flags.ask),
        ("--deny", &flags.deny),
        ("--allow-net", &flags.allow_net),
        ("--allow-socket", &flags.allow_socket),
        ("--without", &flags.without),
        ("--fallback-model", &flags.fallback_model),
        ("--header", &flags.header),
        ("--mcp-config", &flags.mcp_config),
    ];
    let path = |flag, path: &'_ PathBuf| (flag, path.to_string_lossy().into_owned());
    let given = texts
        .into_iter()
        .filter_map(|(flag, text)| Some((flag, text.clone()?)))
        .chain(lists.into_iter().flat_map(|(flag, texts)| texts.iter().map(move |text| (flag, text.clone()))))
        .chain(flags.workspace.iter().map(|found| path("--workspace", found)))
        .chain(flags.json_schema.iter().map(|found| path("--json-schema", found)))
        .chain(flags.file.iter().map(|found| path("--file", found)))
        .chain(flags.image.iter().map(|found| path("--image", found)))
        .chain(flags.add_dir.iter().map(|found| path("--add-dir", found)))
        .chain(flags.debug.iter().map(|found| path("--debug", found)))
        .chain(flags.trace_file.iter().map(|found| path("--trace-file", found)))
        .chain(flags.from_atif.iter().map(|found| path("--from-atif", found)))
        .chain(flags.record.iter().map(|found| path("--record", found)))
        .chain(flags.from_recording.iter().map(|found| path("--from-recording", found)));
    for (flag, text) in given {
        if text.trim().is_empty() {
            return Err(empty_value(flag));
        }
    }
    if flags.from_atif.is_some() && (flags.resume.is_some() || flags.continue_) {
        let detail = sentence!("`--from-atif` starts a new session; leave `--resume` and `--continue` out");
        return Err(Reason::Usage { detail });
    }
    if flags.continue_ && flags.resume.is_some() {
        let detail = sentence!("`--continue` resumes the newest session; leave it or `--resume` out");
        return Err(Reason::Usage { detail });
    }
    if flags.heartbeat == Some(0) {
        let detail = sentence!("`--heartbeat 0` should be a number of seconds above 0");
        return Err(Reason::Usage { detail });
    }
    Ok(())
}

/// Checks the form of the headers of `--header`, and the names of `--without`. Their errors are in the language of the
/// configuration, so the caller reads that first.
pub(crate) fn check_names(flags: &Flags) -> Result<(), Reason> {
    flags.header.iter().try_for_each(|header| split_header(header).map(|_| ()))?;
    check_tool_names(flags)
}

/// Returns the name and the value of a header of `--header`.
///
/// # Errors
/// `Usage` for a text that is not a header.
pub(crate) fn split_header(header: &str) -> Result<(&str, &str), Reason> {
    let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
        let detail = sentence!("`--header` should be `Name: value`, such as `--header 'X-Team: search'`");
        return Err(Reason::Usage { detail });
    };
    let (name, value) = (name.trim(), value.trim());
    check_header(name, value)
        .map_err(|error| Reason::Usage { detail: sentence!("`--header`: {error}", error) })?;
    Ok((name, value))
}

/// Checks the names of `--without`: a mistyped name would leave the tool to the model.
///
/// # Errors
/// `Usage` with the nearest name, or with all names.
fn check_tool_names(flags: &Flags) -> Result<(), Reason> {
    let is_unknown = |name: &&String| !TOOLS.contains(&name.as_str()) && !name.starts_with(MCP_PREFIX);
    let Some(name) = flags.without.iter().find(is_unknown) else { return Ok(()) };
    let detail = match closest(name, TOOLS) {
        Some(near) => {
            sentence!("`--without {name}`: no tool has this name; did you mean `{near}`?", name, near)
        }
        None => {
            let tools = TOOLS.join("`, `");
            sentence!(
                "`--without {name}`: no tool has this name; use one of: `{tools}`, or a tool of an MCP server, \
                 `mcp_SERVER_TOOL`",
                name,
                tools,
            )
        }
    };
    Err(Reason::Usage { detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the documentation has the same tools.
    #[test]
    fn every_tool_is_in_the_documentation() {
        let page = include_str!("../../../docs/tools.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let mut names: Vec<&str> = rows.map(|(name, _)| name).take(TOOLS.len()).collect();
        names.sort_unstable();
        assert_eq!(names, TOOLS);
    }
}
