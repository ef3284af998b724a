//! The environment: variables that are set to text, and the language that the locale variables ask for.

use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::Reason;
use ibeam_providers::provider_table::PROVIDERS;

/// A variable of the environment that is set to text; one that is empty or blank is as good as none.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Holds that what we read from the environment is text; others' variables may be what they like.
///
/// # Errors
/// `NotText` with the name of the variable.
pub(crate) fn reject_non_utf8_variables() -> Result<(), Reason> {
    let of_services =
        PROVIDERS.iter().flat_map(|service| service.key_variables.iter().chain(service.base_url_variables));
    let mut ours: Vec<&str> = of_services.copied().collect();
    ours.sort_unstable();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        if (name.starts_with("IBEAM_") || ours.binary_search(&name).is_ok()) && value.to_str().is_none() {
            return Err(Reason::NotText { what: format!("${name}") });
        }
    }
    Ok(())
}

/// The catalogue before the configuration is known: from `--lang`, else the locale variables.
pub(crate) fn catalogue(lang: Option<&str>) -> Catalogue {
    let [lc_all, lc_messages, lang_variable] = ["LC_ALL", "LC_MESSAGES", "LANG"].map(variable);
    let locale = lang.and_then(Locale::from_name).unwrap_or_else(|| {
        Locale::from_environment(lc_all.as_deref(), lc_messages.as_deref(), lang_variable.as_deref())
    });
    Catalogue::new(locale)
}
