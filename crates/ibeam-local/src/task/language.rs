//! The language of a task, by its commonest words, and how to ask the model to keep to it.
//!
//! Left alone the model answers in English whatever it is asked in.

use super::lexicon::Words;

/// A language of the program.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    English,
    Spanish,
    Indonesian,
    Japanese,
    French,
    Portuguese,
}

const SPANISH: Words = Words(
    "el la los las un una y en de que con por del al es lee escribe crea cambia cuál qué dime archivo línea
    añade ejecuta cuenta renombra borra añada cuántas cuántos qué resumen luego hay",
);
const INDONESIAN: Words = Words(
    "dan di ke dari yang untuk dengan ini itu adalah berapa apa buat baca tulis berkas ubah ganti jalankan hitung
    hapus tambahkan baris isi ringkasan siapa nama beri tahu",
);
const FRENCH: Words = Words(
    "le la les un une et dans de du des que avec par pour est lis écris crée remplace quel quelle fichier ligne
    lignes ajoute exécute compte renomme supprime dis moi résumé au en ce qui",
);
const PORTUGUESE: Words = Words(
    "o a os as um uma e em de que com por do da dos no na é leia escreva crie mude qual quem arquivo linha linhas
    adicione execute conte renomeie apague diga resumo para quantas",
);
const ENGLISH: Words = Words(
    "the a an and in of to with for is what which this that it on from read write create change file line lines
    add run count rename delete tell me how many who does do summary fix",
);

impl Language {
    /// The likeliest language of `text`; English where nothing tells.
    pub(crate) fn of(text: &str) -> Self {
        if super::is_japanese(text) {
            return Self::Japanese;
        }
        let count = |list: &Words| super::words(text).filter(|(_, word)| list.has(word)).count();
        let counts = [
            (count(&ENGLISH), Self::English),
            (count(&SPANISH), Self::Spanish),
            (count(&INDONESIAN), Self::Indonesian),
            (count(&FRENCH), Self::French),
            (count(&PORTUGUESE), Self::Portuguese),
        ];
        counts
            .into_iter()
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map_or(Self::English, |best| best.1)
    }

    /// The order to answer in this language; none is needed for English.
    pub(crate) fn answer_order(self) -> &'static str {
        match self {
            Self::English => "",
            Self::Spanish => "Responde en español.",
            Self::Indonesian => "Jawab dalam bahasa Indonesia.",
            Self::Japanese => "日本語で答えてください。",
            Self::French => "Réponds en français.",
            Self::Portuguese => "Responda em português.",
        }
    }

    /// The order to sum up in one's own words.
    pub(crate) fn summary_order(self) -> &'static str {
        match self {
            Self::English => "Write it in your own words.",
            Self::Spanish => "Escribe el resumen en español, con tus propias palabras.",
            Self::Indonesian => "Tulis ringkasan dalam bahasa Indonesia dengan kata-kata sendiri.",
            Self::Japanese => "要約は日本語で、自分の言葉で書いてください。",
            Self::French => "Écris le résumé en français, avec tes propres mots.",
            Self::Portuguese => "Escreva o resumo em português, com suas próprias palavras.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Language) {
        assert_eq!(Language::of(text), expect, "{text}");
    }

    #[test]
    fn a_task_is_known_by_its_common_words() {
        check("Read README.md and write a summary to summary.txt", Language::English);
        check("Lee README.md y escribe un resumen en summary.txt", Language::Spanish);
        check("Baca README.md dan tulis ringkasan ke summary.txt", Language::Indonesian);
        check("README.mdを読んで、要約をsummary.txtに書いてください", Language::Japanese);
        check("Lis README.md et écris un résumé dans summary.txt", Language::French);
        check("Leia README.md e escreva um resumo em summary.txt", Language::Portuguese);
        check("Crie um arquivo ola.py que imprime Olá", Language::Portuguese);
        check("En tema.ini cambia el color de rojo a verde.", Language::Spanish);
    }

    #[test]
    fn where_nothing_tells_it_is_english() {
        check("", Language::English);
        check("xyz.py", Language::English);
    }
}
