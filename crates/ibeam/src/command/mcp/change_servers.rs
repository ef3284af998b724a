//! `mcp add` and `mcp remove`: changes the servers in the user's or the project's files.

use std::fs::File;
use std::path::{Path, PathBuf};

use ibeam_config::{NewMcpServer, add_mcp_server, remove_mcp_server};
use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Reason, Sentence, sentence};
use ibeam_providers::check_header;

use super::super::printing::print_text;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::mcp::{declared_servers, plain_secret};

/// Adds a server to the user's file, or to the project's file.
///
/// # Errors
/// `Usage` for a server that cannot be declared so, and for one that the file declares already; the errors of
/// [`add_mcp_server`].
pub(super) fn add(
    app: &AppContext,
    name: &str,
    to_project: bool,
    server: &NewMcpServer,
    stdout: &mut File,
) -> Result<(), CliError> {
    let usage = |detail: Sentence| Reason::Usage { detail };
    if !is_server_name(name) {
        let detail = sentence!("`{name}` is not a server name; use letters, digits, `-` and `_`", name);
        return Err(usage(detail).into());
    }
    if to_project && let Some(place) = plain_secret::find(server, &ibeam_agent::model::all_keys(app)) {
        let detail = sentence!(
            "{place} seems to be a secret, and everybody who has the project can read its files; write \
             {reference} instead, and set that variable",
            place,
            reference = "'${env:NAME}'",
        );
        return Err(usage(detail).into());
    }
    let path = if to_project { &app.dirs.project_config } else { &app.dirs.user_config };
    if to_project {
        check_inside_project(path)?;
    }
    if !add_mcp_server(path, name, server)? {
        let project = if to_project { "--project " } else { "" };
        let detail = sentence!(
            "`{path}` already declares the MCP server `{name}`; `{command}` removes it",
            path = path.display(),
            name,
            command = format!("ibeam mcp remove {project}{name}"),
        );
        return Err(usage(detail).into());
    }
    let done = sentence!("added `{name}` to {path}", name, path = path.display());
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&done)))
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
            let done = sentence!("removed `{name}` from {path}", name, path = path.display());
            text.push_str(&format!("{}\n", app.base.catalogue.sentence(&done)));
        }
    }
    if text.is_empty() {
        return Err(Reason::Usage { detail: not_declared(app, name, from_project)? }.into());
    }
    print_text(stdout, &text)
}

/// Returns the message that none of the chosen files declares the server, and where it is declared.
fn not_declared(app: &AppContext, name: &str, from_project: bool) -> Result<Sentence, Reason> {
    let servers = declared_servers(app)?.servers;
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        return Ok(match from_project {
            true => sentence!(
                "no file of the project declares the MCP server `{name}`; `ibeam mcp list` lists all servers",
                name
            ),
            false => sentence!(
                "none of your files declares the MCP server `{name}`; `ibeam mcp list` lists all servers",
                name
            ),
        });
    };
    let path = server.source.path.display();
    Ok(match (server.source.is_of_project, from_project) {
        (true, false) => sentence!(
            "none of your files that ibeam changes declares the MCP server `{name}`; it is declared in `{path}`: add \
             `--project` to remove it there",
            name,
            path,
        ),
        (_, false) => sentence!(
            "none of your files that ibeam changes declares the MCP server `{name}`; it is declared in `{path}`: edit \
             that file, or disable the server: `ibeam mcp disable {name}`",
            name,
            path,
        ),
        (_, true) => sentence!(
            "no file of the project that ibeam changes declares the MCP server `{name}`; it is declared in `{path}`: \
             edit that file, or disable the server: `ibeam mcp disable {name}`",
            name,
            path,
        ),
    })
}

/// Refuses a file of the project that is a link: its target could be a file of the user.
fn check_inside_project(path: &Path) -> Result<(), Reason> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link(path) || path.parent().is_some_and(is_link) {
        let detail = sentence!(
            "`{path}` is a symbolic link, which could lead out of the project",
            path = path.display()
        );
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
    let usage = |detail: Sentence| Reason::Usage { detail };
    let pair = |text: &String, separator: char, form: &str| {
        let pair =
            text.split_once(separator).map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // The text is not repeated, because it may be a secret.
        pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| usage(sentence!("expected `{form}`", form)))
    };
    let environment =
        environment.iter().map(|text| pair(text, '=', "--env NAME=VALUE")).collect::<Result<Vec<_>, _>>()?;
    let headers = headers
        .iter()
        .map(|text| pair(text, ':', "--header 'NAME: VALUE'"))
        .collect::<Result<Vec<_>, _>>()?;
    for (name, value) in &headers {
        check_header(name, value).map_err(|error| usage(error.to_string().into()))?;
    }
    let url = target
        .first()
        .filter(|target| ["https://", "http://"].iter().any(|scheme| target.starts_with(scheme)));
    match (url, target) {
        (Some(_), [_, _, ..]) => {
            Err(usage(sentence!("a URL takes no arguments; options are given before it")))
        }
        (Some(_), _) if !environment.is_empty() => {
            Err(usage(sentence!("`--env` sets variables of a program; a server over HTTP has `--header`")))
        }
        (None, _) if !headers.is_empty() => {
            Err(usage(sentence!("`--header` is for a server over HTTP; a program has `--env`")))
        }
        (None, [program, ..]) if program.starts_with('-') => {
            Err(usage(sentence!("`{program}` is not a program; options are given before the name", program)))
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
            (&["--required", "x"], &[], &[], "`--required` is not a program"),
            (&["x"], &[], &["A: b"], "`--header` is for a server over HTTP"),
            (&["x"], &["A"], &[], "expected `--env NAME=VALUE`"),
            (&["https://a.test"], &[], &["hush"], "expected `--header 'NAME: VALUE'`"),
            (&["https://a.test"], &[], &["Host: b"], "Host"),
        ] {
            let error = new_server(&texts(target), &texts(environment), &texts(headers)).unwrap_err();
            let Reason::Usage { detail } = error else { panic!("{error:?}") };
            assert!(detail.as_str().contains(message), "{detail}");
        }
    }
}
