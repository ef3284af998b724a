//! The settings of connections to a declared server over HTTP: its headers, the proxy, the certificates.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ibeam_core::Redactor;
use ibeam_mcp::{HeaderReader, HttpConfig, UserAgent};
use ibeam_providers::{Secret, check_header, is_secret_header};

use super::Filler;
use super::declaration::HttpDeclaration;
use super::login::oauth_config;
use crate::app::AppContext;
use crate::model::{KeyCommandRunner, ServiceConnection, proxy_selector, tls_settings};

/// Returns the settings, with all placeholders filled. The values of secret headers are redacted from all output.
///
/// # Errors
/// The message why the server cannot be reached.
pub(super) fn config(
    app: &AppContext,
    name: &str,
    declaration: &HttpDeclaration,
    filler: &Filler<'_>,
    user: Option<Arc<dyn UserAgent>>,
) -> Result<HttpConfig, String> {
    let url = filler.fill(&declaration.url)?;
    let mut headers = Vec::new();
    for (header, value) in &declaration.headers {
        let value = filler.fill(value)?;
        check_header(header, &value).map_err(|error| error.to_string())?;
        redact(app.redactor(), header, &value);
        headers.push((header.clone(), Secret::new(&value)));
    }
    let connection =
        ServiceConnection::for_url(app, &url).map_err(|reason| app.base.catalogue.reason(&reason).message)?;
    let has_authorization = !declaration.headers_command.is_empty()
        || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let authorization = match has_authorization {
        true => None,
        false => oauth_config(app, name, &url, &declaration.auth, filler, user)?,
    };
    // A server on this machine may have an authorization server elsewhere.
    let tls = match authorization {
        Some(_) => tls_settings(app).map_err(|reason| app.base.catalogue.reason(&reason).message)?,
        None => connection.tls,
    };
    Ok(HttpConfig {
        authorization,
        url,
        headers,
        header_reader: header_reader(app, declaration, filler)?,
        tls,
        proxies: proxy_selector(),
    })
}

/// Redacts the value of a header from all output, if it is likely a secret. In `Bearer TOKEN` only the last word is
/// secret.
fn redact(redactor: &Redactor, name: &str, value: &str) {
    if is_secret_header(name)
        && let Some(secret) = value.split_whitespace().last()
    {
        redactor.add(secret);
    }
}

/// Returns the reader of the headers that a command prints, one `NAME: VALUE` a line; `None` without a command.
fn header_reader(
    app: &AppContext,
    declaration: &HttpDeclaration,
    filler: &Filler<'_>,
) -> Result<Option<HeaderReader>, String> {
    if declaration.headers_command.is_empty() {
        return Ok(None);
    }
    let words = filler.fill_all(&declaration.headers_command)?;
    let (start, redactor) = (KeyCommandRunner::new(app), app.redactor().clone());
    Ok(Some(HeaderReader::new(move || {
        let (words, start, redactor) = (words.clone(), start.clone(), redactor.clone());
        async move {
            let output = start.run(&words, &redactor).await?;
            let headers = parse_headers(&output)?;
            for (_, value) in &headers {
                redactor.add(value.split_whitespace().last().unwrap_or_default());
            }
            Ok(headers.into_iter().map(|(name, value)| (name, Secret::new(&value))).collect())
        }
        .boxed()
    })))
}

fn parse_headers(output: &str) -> Result<Vec<(String, String)>, String> {
    let lines = output.lines().filter(|line| !line.trim().is_empty());
    let headers: Result<Vec<_>, String> = lines
        .map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| "`headers_command` printed a line that is not `NAME: VALUE`".to_owned())?;
            let (name, value) = (name.trim(), value.trim());
            check_header(name, value).map_err(|error| format!("`headers_command`: {error}"))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect();
    match headers? {
        headers if headers.is_empty() => Err("`headers_command` printed no header".to_owned()),
        headers => Ok(headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_with_a_name_and_a_value() {
        let found = parse_headers("Authorization: Bearer a:b\n\nX-Team:  c \n").unwrap();
        let expect = [("Authorization", "Bearer a:b"), ("X-Team", "c")];
        assert_eq!(found, expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for wrong in ["", "token", "X Y: z", "Host: a"] {
            assert!(parse_headers(wrong).is_err(), "{wrong}");
        }
    }
}
