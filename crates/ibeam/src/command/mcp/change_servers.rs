//! `mcp add` and `mcp remove`: changes the servers in the user's or the project's files.

use std::fs::File;
use std::path::{Path, PathBuf};

use ibeam_config::{NewMcpServer, add_mcp_server, remove_mcp_server};
use ibeam_output::escape_to_one_line;
use ibeam_protocol::Reason;
use ibeam_providers::check_header;

use super::super::print_text;
use crate::app::AppContext;
use crate::cli_error::CliError;
use crate::mcp::{declared_servers, plain_secret};

/// Adds a server to the user's file, or to the project's file.
///
/// # Errors
/// `Usage` for a server that cannot be declared so; the errors of [`add_mcp_server`].
pub(super) fn add(
    app: &AppContext,
    name: &str,
    to_project: bool,
    server: &NewMcpServer,
    stdout: &mut File,
) -> Result<(), CliError> {
    let usage = |detail: String| Reason::Usage { detail };
    if !is_server_name(name) {
        let detail = format!("`{name}` is not a server name; use letters, digits, `-` and `_`");
        return Err(usage(detail).into());
    }
    if to_project && let Some(place) = plain_secret::find(server, &crate::model::all_keys(app)) {
        let detail = format!(
            "{place} seems to be a secret, and everybody who has the project can read its files; write \
             '${{env:NAME}}' instead, and set that variable"
        );
        return Err(usage(detail).into());
    }
    let path = if to_project { &app.dirs.project_config } else { &app.dirs.user_config };
    if to_project {
        check_inside_project(path)?;
    }
    add_mcp_server(path, name, server)?;
    print_text(stdout, &format!("added `{name}` to {}\n", path.display()))
}

/// Removes a server from the user's files, or from the project's files. Files of other programs stay as they are.
///
/// # Errors
/// `Usage` if none of the files declares the server; the errors of [`remove_mcp_server`].
pub(super) fn remove(
    app: &AppContext,
    name: &str,
    from_project: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let files: Vec<PathBuf> = match from_project {
        true => {
            let json = [".ibeam/mcp.json", ".mcp.json"].map(|file| app.workspace.join(file));
            [app.dirs.project_config.clone()].into_iter().chain(json).collect()
        }
        false => vec![app.dirs.user_config.clone(), app.dirs.config_directory().join("mcp.json")],
    };
    let mut text = String::new();
    for path in &files {
        if from_project {
            check_inside_project(path)?;
        }
        if remove_mcp_server(path, name)? {
            let name = escape_to_one_line(name);
            text.push_str(&format!("removed `{name}` from {}\n", path.display()));
        }
    }
    if text.is_empty() {
        return Err(Reason::Usage { detail: not_declared(app, name, from_project)? }.into());
    }
    print_text(stdout, &text)
}

/// Returns the message that none of the chosen files declares the server, and where it is declared.
fn not_declared(app: &AppContext, name: &str, from_project: bool) -> Result<String, Reason> {
    let servers = declared_servers(app)?;
    let owner = if from_project { "no file of the project" } else { "none of your files" };
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        return Ok(format!("{owner} declares the MCP server `{name}`; `ibeam mcp list` lists all servers"));
    };
    let path = server.source.path.display();
    let remedy = match server.source.of_project {
        true if !from_project => "add `--project` to remove it there".to_owned(),
        true | false => format!("edit that file, or disable the server: `ibeam mcp disable {name}`"),
    };
    Ok(format!(
        "{owner} that ibeam changes declares the MCP server `{name}`; it is declared in `{path}`: {remedy}"
    ))
}

/// Refuses a file of the project that is a link: its target could be a file of the user.
fn check_inside_project(path: &Path) -> Result<(), Reason> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link(path) || path.parent().is_some_and(is_link) {
        let detail = format!("`{}` is a symbolic link, which could lead out of the project", path.display());
        return Err(Reason::Usage { detail });
    }
    Ok(())
}

fn is_server_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Returns the server that the arguments of `mcp add` describe. A target that begins with a scheme of HTTP is a URL.
///
/// # Errors
/// `Usage` with the argument that is wrong.
pub(super) fn new_server(
    target: &[String],
    environment: &[String],
    headers: &[String],
) -> Result<NewMcpServer, Reason> {
    let usage = |detail: String| Reason::Usage { detail };
    let pair = |text: &String, separator: char, form: &str| {
        let pair =
            text.split_once(separator).map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // The text is not repeated, because it may be a secret.
        pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| usage(format!("expected `{form}`")))
    };
    let environment =
        environment.iter().map(|text| pair(text, '=', "--env NAME=VALUE")).collect::<Result<Vec<_>, _>>()?;
    let headers = headers
        .iter()
        .map(|text| pair(text, ':', "--header 'NAME: VALUE'"))
        .collect::<Result<Vec<_>, _>>()?;
    for (name, value) in &headers {
        check_header(name, value).map_err(|error| usage(error.to_string()))?;
    }
    let url = target
        .first()
        .filter(|target| ["https://", "http://"].iter().any(|scheme| target.starts_with(scheme)));
    match (url, target) {
        (Some(_), [_, _, ..]) => Err(usage("a URL takes no arguments".to_owned())),
        (Some(_), _) if !environment.is_empty() => {
            Err(usage("`--env` sets variables of a program; a server over HTTP has `--header`".to_owned()))
        }
        (None, _) if !headers.is_empty() => {
            Err(usage("`--header` is for a server over HTTP; a program has `--env`".to_owned()))
        }
        (Some(url), _) => Ok(NewMcpServer { url: Some(url.clone()), headers, ..NewMcpServer::default() }),
        (None, command_line) => {
            Ok(NewMcpServer { command_line: command_line.to_vec(), environment, ..NewMcpServer::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_target_is_a_url_or_a_command_line() {
        let server = new_server(&texts(&["https://a.test/mcp"]), &[], &texts(&["X-Team:  c"])).unwrap();
        assert_eq!(server.url.as_deref(), Some("https://a.test/mcp"));
        assert_eq!(server.headers, [("X-Team".to_owned(), "c".to_owned())]);
        let server = new_server(&texts(&["npx", "-y", "x"]), &texts(&["A=b=c"]), &[]).unwrap();
        assert_eq!(server.command_line, ["npx", "-y", "x"]);
        assert_eq!(server.environment, [("A".to_owned(), "b=c".to_owned())]);
    }

    #[test]
    fn arguments_that_have_no_effect_are_refused() {
        const NONE: &[&str] = &[];
        for (target, environment, headers, message) in [
            (&["https://a.test", "x"][..], NONE, NONE, "a URL takes no arguments"),
            (&["https://a.test"], &["A=b"], &[], "`--env` sets variables of a program"),
            (&["x"], &[], &["A: b"], "`--header` is for a server over HTTP"),
            (&["x"], &["A"], &[], "expected `--env NAME=VALUE`"),
            (&["https://a.test"], &[], &["hush"], "expected `--header 'NAME: VALUE'`"),
            (&["https://a.test"], &[], &["Host: b"], "Host"),
        ] {
            let error = new_server(&texts(target), &texts(environment), &texts(headers)).unwrap_err();
            let Reason::Usage { detail } = error else { panic!("{error:?}") };
            assert!(detail.contains(message), "{detail}");
        }
    }
}
