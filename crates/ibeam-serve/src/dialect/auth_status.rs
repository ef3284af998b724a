//! `claude auth status`: whether a run would find a key, in the form that clients of Claude Code read.

use std::ffi::OsString;

use ibeam_protocol::{Reason, sentence};
use serde_json::json;

use super::{ClaudeOptions, usage_error};

/// The form of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFormat {
    Json,
    Text,
}

/// Returns the form that `auth status` with its flags asks for; `None` for any other command line.
///
/// # Errors
/// `Usage` for a flag that the command does not have.
pub fn requested_format(args: &[OsString]) -> Option<Result<StatusFormat, Reason>> {
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let ["auth", "status", flags @ ..] = words.as_slice() else { return None };
    let form = flags.iter().try_fold(StatusFormat::Json, |_, flag| match *flag {
        "--json" => Ok(StatusFormat::Json),
        "--text" => Ok(StatusFormat::Text),
        other => Err(usage_error(sentence!(
            "`auth status` has no `{other}`; there are `--json` and `--text`",
            other
        ))),
    });
    Some(form)
}

impl ClaudeOptions {
    /// Returns the login status and its exit code; `None` where it is not asked for.
    ///
    /// `keys` names the providers that have a key and where it comes from, a variable as `$NAME`; `is_usable` is
    /// whether a run would find a model.
    pub fn auth_status(&self, keys: &[(String, String)], is_usable: bool) -> Option<(String, u8)> {
        let form = self.auth_status?;
        let is_logged_in = !keys.is_empty() || is_usable;
        let code = if is_logged_in { 0 } else { 1 };
        let key = keys.iter().find(|(provider, _)| provider == "anthropic").or(keys.first());
        let source = key.map(|(_, source)| source.strip_prefix('$').unwrap_or("/login managed key"));
        let text = match (form, source) {
            (StatusFormat::Text, Some(source)) => format!("API key: {source}\n"),
            (StatusFormat::Text, None) if is_logged_in => "No API key is needed\n".to_owned(),
            (StatusFormat::Text, None) => "Not logged in. Run `ibeam login` to store a key.\n".to_owned(),
            (StatusFormat::Json, source) => {
                let provider = key.map_or("anthropic", |(provider, _)| provider.as_str());
                let mut status = json!({
                    "loggedIn": is_logged_in,
                    "authMethod": if key.is_some() { "api_key" } else { "none" },
                    "apiProvider": if provider == "anthropic" { "firstParty" } else { provider },
                });
                if let (Some(status), Some(source)) = (status.as_object_mut(), source) {
                    status.insert("apiKeySource".to_owned(), source.into());
                }
                format!("{status:#}\n")
            }
        };
        Some((text, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], keys: &[(&str, &str)], is_usable: bool, parts: &[&str], expect: u8) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let form = requested_format(&args).unwrap().unwrap_or_else(|reason| panic!("{reason:?}"));
        let request = ClaudeOptions { auth_status: Some(form), ..ClaudeOptions::default() };
        let keys: Vec<_> =
            keys.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect();
        let (text, code) = request.auth_status(&keys, is_usable).unwrap();
        assert!(code == expect && parts.iter().all(|part| text.contains(part)), "{code} {text}");
    }

    #[test]
    fn the_status_names_the_key_or_its_absence() {
        let both = [("openai", "$OPENAI_API_KEY"), ("anthropic", "$ANTHROPIC_API_KEY")];
        let json = ["\"loggedIn\": true", "\"firstParty\"", "\"apiKeySource\": \"ANTHROPIC_API_KEY\""];
        check(&["auth", "status"], &both, true, &json, 0);
        check(&["auth", "status", "--json"], &[], false, &["\"loggedIn\": false", "\"none\""], 1);
        check(&["auth", "status", "--json"], &[], true, &["\"loggedIn\": true", "\"none\""], 0);
        check(&["auth", "status", "--text"], &both, true, &["API key: ANTHROPIC_API_KEY"], 0);
        check(&["auth", "status", "--text"], &[("openai", "/home/me/keys")], true, &["managed key"], 0);
        check(&["auth", "status", "--text"], &[], false, &["Not logged in"], 1);
    }

    #[test]
    fn other_command_lines_are_not_the_status() {
        for other in [&["auth"][..], &["auth", "login"], &["status"], &["-p", "auth", "status"]] {
            assert!(
                requested_format(&other.iter().map(Into::into).collect::<Vec<_>>()).is_none(),
                "{other:?}"
            );
        }
        let odd: Vec<OsString> = ["auth", "status", "--yaml"].iter().map(Into::into).collect();
        assert!(requested_format(&odd).unwrap().is_err());
        assert!(ClaudeOptions::default().auth_status(&[], true).is_none());
    }
}
