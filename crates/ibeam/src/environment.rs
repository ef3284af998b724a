//! The environment: variables that are set to text, and the language that the locale variables ask for.

use ibeam_output::{Catalogue, Locale};

/// A variable of the environment that is set to text.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The catalogue before the configuration is known: from `--lang`, else the locale variables.
pub(crate) fn catalogue(lang: Option<&str>) -> Catalogue {
    let [lc_all, lc_messages, lang_variable] = ["LC_ALL", "LC_MESSAGES", "LANG"].map(variable);
    let locale = lang.and_then(Locale::from_name).unwrap_or_else(|| {
        Locale::from_environment(lc_all.as_deref(), lc_messages.as_deref(), lang_variable.as_deref())
    });
    Catalogue::new(locale)
}
