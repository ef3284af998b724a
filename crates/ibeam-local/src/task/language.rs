//! The language of a task, by its most common words, and the instructions to answer in it.
//!
//! Without an instruction the model answers every prompt in English.

use super::lexicon::WordList;

/// A supported language.
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

const SPANISH: WordList = WordList(
    "el la los las un una y en de que con por del al es lee escribe crea cambia cuál qué dime archivo línea
    añade ejecuta cuenta renombra borra añada cuántas cuántos qué resumen luego hay",
);
const INDONESIAN: WordList = WordList(
    "dan di ke dari yang untuk dengan ini itu adalah berapa apa buat baca tulis berkas ubah ganti jalankan hitung
    hapus tambahkan baris isi ringkasan siapa nama beri tahu",
);
const FRENCH: WordList = WordList(
    "le la les un une et dans de du des que avec par pour est lis écris crée remplace quel quelle fichier ligne
    lignes ajoute exécute compte renomme supprime dis moi résumé au en ce qui",
);
const PORTUGUESE: WordList = WordList(
    "o a os as um uma e em de que com por do da dos no na é leia escreva crie mude qual quem arquivo linha linhas
    adicione execute conte renomeie apague diga resumo para quantas",
);
const ENGLISH: WordList = WordList(
    "the a an and in of to with for is what which this that it on from read write create change file line lines
    add run count rename delete tell me how many who does do summary fix",
);

impl Language {
    /// Returns the most likely language of `text`; English if no word indicates one.
    pub(crate) fn detect(text: &str) -> Self {
        if super::is_japanese(text) {
            return Self::Japanese;
        }
        let count = |list: &WordList| super::words(text).filter(|(_, word)| list.contains(word)).count();
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

    /// Returns the instruction to answer in this language; empty for English.
    pub(crate) fn answer_instruction(self) -> &'static str {
        match self {
            Self::English => "",
            Self::Spanish => "Responde en español.",
            Self::Indonesian => "Jawab dalam bahasa Indonesia.",
            Self::Japanese => "日本語で答えてください。",
            Self::French => "Réponds en français.",
            Self::Portuguese => "Responda em português.",
        }
    }

    /// Returns the instruction to summarise in own words.
    pub(crate) fn summary_instruction(self) -> &'static str {
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
        assert_eq!(Language::detect(text), expect, "{text}");
    }

    #[test]
    fn the_language_is_detected_by_common_words() {
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
    fn the_default_language_is_english() {
        check("", Language::English);
        check("xyz.py", Language::English);
    }
}
