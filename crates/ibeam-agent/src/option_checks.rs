//! Checks of options before the run begins, so that a mistyped one is not hidden by another error.
//!
//! Refuses options whose value is empty, malformed or the name of nothing: ignoring such an option would change the effect of
//! the run without a message.

use std::path::PathBuf;

use ibeam_protocol::{Reason, sentence};
use ibeam_providers::check_header;
use ibeam_wire::tool::TOOLS;

use crate::run_options::RunOptions;
use crate::similar_names::closest;

const MCP_PREFIX: &str = "mcp_";

/// Returns the names of the tools that a run may have, sorted. Those of MCP servers are not among them; their names begin with
/// [`MCP_PREFIX`].
fn tool_names() -> Vec<&'static str> {
    // `skill` has no key of its own in the contract.
    let mut names: Vec<&str> = TOOLS.iter().filter_map(|tool| tool.name).chain(["skill"]).collect();
    names.sort_unstable();
    names
}

/// Returns the failure of a flag whose value is empty.
pub fn empty_value(flag: &str) -> Reason {
    Reason::Usage { detail: sentence!("`{flag}` is empty; give it a value or leave it out", flag) }
}

/// Rejects options with an empty value. An empty environment variable counts as not set, but an empty
/// flag is most likely a mistake: a script used a variable that was not set.
///
/// # Errors
/// `Usage` with the flag.
pub(crate) fn reject_empty_values(options: &RunOptions) -> Result<(), Reason> {
    let texts = [
        ("--model", &options.model),
        ("--effort", &options.effort),
        ("--system-prompt", &options.system_prompt),
        ("--api-key", &options.api_key),
        ("--endpoint", &options.endpoint),
        ("--ca-file", &options.ca_file),
        ("--client-cert", &options.client_cert),
        ("--client-key", &options.client_key),
        ("--approval", &options.approval),
        ("--from-plan", &options.from_plan),
        ("--timeout", &options.timeout),
        ("--max-cost", &options.max_cost),
        ("--lang", &options.lang),
        ("--contract", &options.contract),
        ("--worktree-base", &options.worktree_base),
    ];
    let lists = [
        ("--allow", &options.allow),
        ("--ask", &options.ask),
        ("--deny", &options.deny),
        ("--allow-net", &options.allow_net),
        ("--allow-socket", &options.allow_socket),
        ("--without", &options.without),
        ("--fallback-model", &options.fallback_model),
        ("--header", &options.header),
        ("--mcp-config", &options.mcp_config),
    ];
    let path = |flag, path: &'_ PathBuf| (flag, path.to_string_lossy().into_owned());
    let given = texts
        .into_iter()
        .filter_map(|(flag, text)| Some((flag, text.clone()?)))
        .chain(lists.into_iter().flat_map(|(flag, texts)| texts.iter().map(move |text| (flag, text.clone()))))
        .chain(options.workspace.iter().map(|found| path("--workspace", found)))
        .chain(options.json_schema.iter().map(|found| path("--json-schema", found)))
        .chain(options.file.iter().map(|found| path("--file", found)))
        .chain(options.image.iter().map(|found| path("--image", found)))
        .chain(options.add_dir.iter().map(|found| path("--add-dir", found)))
        .chain(options.debug.iter().map(|found| path("--debug", found)))
        .chain(options.trace_file.iter().map(|found| path("--trace-file", found)))
        .chain(options.from_atif.iter().map(|found| path("--from-atif", found)))
        .chain(options.record.iter().map(|found| path("--record", found)))
        .chain(options.from_recording.iter().map(|found| path("--from-recording", found)));
    for (flag, text) in given {
        if text.trim().is_empty() {
            return Err(empty_value(flag));
        }
    }
    Ok(())
}

/// Checks the form of the headers of `--header`, and the names of `--without`. Their errors are in the language of the
/// configuration, so the caller reads that first.
pub fn check_names(options: &RunOptions) -> Result<(), Reason> {
    options.header.iter().try_for_each(|header| split_header(header).map(|_| ()))?;
    check_tool_names(options)
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
fn check_tool_names(options: &RunOptions) -> Result<(), Reason> {
    let tools = tool_names();
    let is_unknown = |name: &&String| !tools.contains(&name.as_str()) && !name.starts_with(MCP_PREFIX);
    let Some(name) = options.without.iter().find(is_unknown) else { return Ok(()) };
    let detail = match closest(name, tools.iter().copied()) {
        Some(near) => {
            sentence!("`--without {name}`: no tool has this name; did you mean `{near}`?", name, near)
        }
        None => {
            let tools = tools.join("`, `");
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
        let mut names: Vec<&str> = rows.map(|(name, _)| name).take(tool_names().len()).collect();
        names.sort_unstable();
        assert_eq!(names, tool_names());
    }
}
