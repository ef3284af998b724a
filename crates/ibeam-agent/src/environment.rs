//! Environment variables, and the language that the locale variables select.

use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::Reason;
use ibeam_providers::provider_table::PROVIDERS;

/// The variable with the token that requests to the MCP server must carry.
pub const MCP_TOKEN_VARIABLE: &str = "IBEAM_MCP_TOKEN";

/// Returns the value of an environment variable; `None` if it is unset, blank or not UTF-8.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Checks that the variables that this program reads are UTF-8; other variables may be anything.
///
/// # Errors
/// `NotText` with the name of the variable.
pub fn reject_non_utf8_variables() -> Result<(), Reason> {
    let of_providers =
        PROVIDERS.iter().flat_map(|service| service.key_variables.iter().chain(service.base_url_variables));
    let mut own_variables: Vec<&str> = of_providers.copied().collect();
    own_variables.sort_unstable();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        if (name.starts_with("IBEAM_") || own_variables.binary_search(&name).is_ok())
            && value.to_str().is_none()
        {
            return Err(Reason::NotText { what: format!("${name}") });
        }
    }
    Ok(())
}

/// Returns the catalogue for `--lang`, else for the locale variables; used before the configuration is loaded.
pub fn catalogue(lang: Option<&str>) -> Catalogue {
    let [lc_all, lc_messages, lang_variable] = ["LC_ALL", "LC_MESSAGES", "LANG"].map(variable);
    let locale = lang.and_then(Locale::from_name).unwrap_or_else(|| {
        Locale::from_environment(lc_all.as_deref(), lc_messages.as_deref(), lang_variable.as_deref())
    });
    Catalogue::new(locale)
}
