//! The language of texts for people. Machine formats never depend on it.

/// A language of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locale {
    /// English
    #[default]
    En,
    /// Spanish
    Es,
    /// Indonesian
    Id,
    /// Japanese
    Ja,
    /// French
    Fr,
    /// Portuguese
    Pt,
}

impl Locale {
    /// Every locale.
    pub const ALL: [Self; 6] = [Self::En, Self::Es, Self::Id, Self::Ja, Self::Fr, Self::Pt];

    /// Returns the language code, as in `--lang`.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
            Self::Id => "id",
            Self::Ja => "ja",
            Self::Fr => "fr",
            Self::Pt => "pt",
        }
    }

    /// Returns the locale for a name such as `pt`, `pt-BR` or `pt_BR.UTF-8`, or `None` for another language.
    pub fn from_name(name: &str) -> Option<Self> {
        let language = name.split(['_', '-', '.', '@']).next().unwrap_or_default();
        match language.to_ascii_lowercase().as_str() {
            "en" | "c" | "posix" => Some(Self::En),
            "es" => Some(Self::Es),
            // `in` was the code of Indonesian until 1989; old Java and Android systems still use that code.
            "id" | "in" => Some(Self::Id),
            "ja" => Some(Self::Ja),
            "fr" => Some(Self::Fr),
            "pt" => Some(Self::Pt),
            _ => None,
        }
    }

    /// Returns the locale that the environment selects.
    ///
    /// The first variable that is set and not empty decides, as in POSIX. Another language falls back to English.
    pub fn from_environment(lc_all: Option<&str>, lc_messages: Option<&str>, lang: Option<&str>) -> Self {
        [lc_all, lc_messages, lang]
            .into_iter()
            .flatten()
            .find(|value| !value.is_empty())
            .and_then(Self::from_name)
            .unwrap_or_default()
    }
}
