//! Finds secrets in a server that is about to be added to a file of a project.

use ibeam_config::NewMcpServer;
use ibeam_providers::is_secret_header;

/// Returns the place of a value that is likely a secret, as the subject of a sentence. `keys` are the keys of models.
///
/// A value with a placeholder `${…}` is none.
pub fn find(server: &NewMcpServer, keys: &[String]) -> Option<String> {
    let is_plain = |value: &str| !value.trim().is_empty() && !value.contains("${");
    let has_key = |value: &str| keys.iter().any(|key| !key.is_empty() && value.contains(key.as_str()));
    let find_in_pairs = |kind: &str, pairs: &[(String, String)]| {
        let is_secret =
            |(name, value): &&(String, String)| (is_secret_header(name) && is_plain(value)) || has_key(value);
        pairs.iter().find(is_secret).map(|(name, _)| format!("the value of the {kind} `{name}`"))
    };
    find_in_pairs("variable", &server.environment)
        .or_else(|| find_in_pairs("header", &server.headers))
        .or_else(|| in_arguments(&server.command_line, &is_plain, &has_key))
        .or_else(|| in_url(server.url.as_deref()?, &is_plain, &has_key))
}

/// Finds `--token=VALUE`, `--token VALUE` and the key of a model.
fn in_arguments(
    arguments: &[String],
    is_plain: &dyn Fn(&str) -> bool,
    has_key: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let option = |argument: &str| {
        let name = argument.split('=').next().unwrap_or_default();
        (name.starts_with('-') && is_secret_header(name)).then(|| name.to_owned())
    };
    let mut name_before = None;
    for argument in arguments {
        if has_key(argument) {
            return Some("an argument".to_owned());
        }
        let name = option(argument);
        let value = match (&name, argument.split_once('=')) {
            (Some(name), Some((_, value))) => Some((name.clone(), value)),
            (None, _) if !argument.starts_with('-') => {
                name_before.take().map(|name| (name, argument.as_str()))
            }
            (Some(_), None) | (None, _) => None,
        };
        if let Some((name, value)) = value
            && is_plain(value)
        {
            return Some(format!("the value of `{name}`"));
        }
        name_before = name.filter(|_| !argument.contains('='));
    }
    None
}

/// Finds a user or a password, a parameter with the name of a secret, and the key of a model.
fn in_url(url: &str, is_plain: &dyn Fn(&str) -> bool, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@')
        && is_plain(user)
    {
        return Some("the user or the password in the URL".to_owned());
    }
    if has_key(url) {
        return Some("a part of the URL".to_owned());
    }
    let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    let mut secrets = parameters.filter(|(name, value)| is_secret_header(name) && is_plain(value));
    secrets.next().map(|(name, _)| format!("the parameter `{name}` of the URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[track_caller]
    fn check(server: &NewMcpServer, expect: Option<&str>) {
        let keys = ["sk-fake-1".to_owned()];
        assert_eq!(find(server, &keys).as_deref(), expect, "{server:?}");
    }

    #[test]
    fn secrets_in_variables_and_headers_are_found() {
        let environment =
            |of: &[(&str, &str)]| NewMcpServer { environment: pairs(of), ..NewMcpServer::default() };
        check(&environment(&[("LOG", "x"), ("API_TOKEN", "${env:API_TOKEN}"), ("KEY", "")]), None);
        check(&environment(&[("API_TOKEN", "hush")]), Some("the value of the variable `API_TOKEN`"));
        check(&environment(&[("LOG", "a sk-fake-1")]), Some("the value of the variable `LOG`"));
        let headers = |of: &[(&str, &str)]| NewMcpServer { headers: pairs(of), ..NewMcpServer::default() };
        check(&headers(&[("X-Team", "a"), ("Authorization", "Bearer ${env:T}")]), None);
        check(&headers(&[("Authorization", "Bearer x")]), Some("the value of the header `Authorization`"));
    }

    #[test]
    fn secrets_in_arguments_and_urls_are_found() {
        let command = |line: &[&str]| NewMcpServer {
            command_line: line.iter().map(|word| (*word).to_owned()).collect(),
            ..NewMcpServer::default()
        };
        check(&command(&["x", "--stdio", "--token", "${TOKEN}", "--api-key=${KEY}", "tokens"]), None);
        check(&command(&["x", "--token", "hush"]), Some("the value of `--token`"));
        check(&command(&["x", "--api-key=hush"]), Some("the value of `--api-key`"));
        check(&command(&["x", "--use-token", "--stdio", "file"]), None);
        check(&command(&["x", "sk-fake-1"]), Some("an argument"));
        let url = |url: &str| NewMcpServer { url: Some(url.to_owned()), ..NewMcpServer::default() };
        check(&url("https://a.test/mcp?team=b&token=${env:T}"), None);
        check(&url("https://me:hush@a.test/mcp"), Some("the user or the password in the URL"));
        check(&url("https://a.test/mcp?x=1&token=hush"), Some("the parameter `token` of the URL"));
        check(&url("https://a.test/@scope/mcp"), None);
    }
}
