//! The language of the words people read. Machine formats never depend on it.

/// A language that every word of the catalogue exists in.
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
    /// All of them.
    pub const ALL: [Self; 6] = [Self::En, Self::Es, Self::Id, Self::Ja, Self::Fr, Self::Pt];

    /// The language code, as `--lang` takes it.
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

    /// The locale of a name such as `pt`, `pt-BR` or `pt_BR.UTF-8`; `None` where it is not one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        let language = name.split(['_', '-', '.', '@']).next().unwrap_or_default();
        match language.to_ascii_lowercase().as_str() {
            "en" | "c" | "posix" => Some(Self::En),
            "es" => Some(Self::Es),
            // The code of Indonesian until 1989; old Java and Android systems still give it.
            "id" | "in" => Some(Self::Id),
            "ja" => Some(Self::Ja),
            "fr" => Some(Self::Fr),
            "pt" => Some(Self::Pt),
            _ => None,
        }
    }

    /// The locale that the environment asks for.
    ///
    /// The first of the three that is set and not empty decides, as in POSIX; a language we do not have is
    /// English.
    pub fn from_environment(lc_all: Option<&str>, lc_messages: Option<&str>, lang: Option<&str>) -> Self {
        [lc_all, lc_messages, lang]
            .into_iter()
            .flatten()
            .find(|value| !value.is_empty())
            .and_then(Self::from_name)
            .unwrap_or_default()
    }
}
