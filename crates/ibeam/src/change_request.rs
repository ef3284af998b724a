//! Detects whether a prompt asks for changes to files. The result is a guess: it only decides about a warning on
//! stderr, never about permissions.
//!
//! A verb of change counts at the position of the verb of a request: first in the prompt or in a clause, or after a
//! word such as "please". "fix the test" and "read it, then write a summary" ask for a change; "explain this change"
//! does not.

/// Verbs of change in all languages of the program that put spaces between words.
const VERBS: &[&str] = &[
    // English
    "add",
    "append",
    "apply",
    "change",
    "convert",
    "correct",
    "create",
    "delete",
    "edit",
    "fix",
    "format",
    "generate",
    "implement",
    "insert",
    "make",
    "migrate",
    "modify",
    "move",
    "port",
    "refactor",
    "remove",
    "rename",
    "repair",
    "replace",
    "rewrite",
    "save",
    "translate",
    "update",
    "upgrade",
    "write",
    // Spanish and Portuguese
    "actualiza",
    "actualizar",
    "agrega",
    "agregar",
    "añade",
    "añadir",
    "arregla",
    "arreglar",
    "borra",
    "borrar",
    "cambia",
    "cambiar",
    "corrige",
    "corregir",
    "crea",
    "crear",
    "elimina",
    "eliminar",
    "escribe",
    "escribir",
    "implementa",
    "implementar",
    "modifica",
    "modificar",
    "reemplaza",
    "reemplazar",
    "renombra",
    "renombrar",
    "acrescenta",
    "adiciona",
    "adicionar",
    "adicione",
    "altera",
    "alterar",
    "altere",
    "apaga",
    "apague",
    "atualiza",
    "atualizar",
    "atualize",
    "conserta",
    "conserte",
    "corrigir",
    "corrija",
    "cria",
    "criar",
    "crie",
    "escreva",
    "escreve",
    "escrever",
    "implemente",
    "modifique",
    "mude",
    "remova",
    "remove",
    "remover",
    "renomeia",
    "substitua",
    // French
    "ajoute",
    "ajouter",
    "ajoutez",
    "change",
    "changer",
    "changez",
    "corriger",
    "corrigez",
    "crée",
    "créer",
    "créez",
    "écris",
    "écrire",
    "écrivez",
    "implémente",
    "implémenter",
    "modifie",
    "modifier",
    "modifiez",
    "réécris",
    "remplace",
    "remplacer",
    "remplacez",
    "renomme",
    "renommer",
    "répare",
    "supprime",
    "supprimer",
    "supprimez",
    // Indonesian
    "buat",
    "buatkan",
    "ganti",
    "hapus",
    "perbaiki",
    "perbarui",
    "tambah",
    "tambahkan",
    "tulis",
    "tuliskan",
    "ubah",
];
/// Words that may precede the verb of a request.
const WORDS_BEFORE_VERB: &[&str] = &[
    "and", "can", "could", "please", "should", "then", "to", "you", "por", "favor", "puedes", "y", "luego",
    "e", "depois", "pode", "et", "puis", "plaît", "plait", "peux", "pouvez", "tu", "vous", "dan", "lalu",
    "tolong", "kemudian", "just",
];
/// Words that make the rest of a clause a question.
const QUESTION_WORDS: &[&str] = &[
    "what",
    "why",
    "how",
    "which",
    "where",
    "when",
    "who",
    "whether",
    "cómo",
    "qué",
    "cuál",
    "dónde",
    "quién",
    "como",
    "qual",
    "onde",
    "quem",
    "comment",
    "pourquoi",
    "quel",
    "quelle",
    "où",
    "qui",
    "bagaimana",
    "apa",
    "mengapa",
    "kenapa",
    "siapa",
    "apakah",
];
/// Words that make a prompt in Japanese a question.
const JAPANESE_QUESTION_WORDS: &[&str] = &["どう", "なぜ", "何を", "方法"];
/// Verbs that make a sentence a question if it starts with them.
const QUESTION_VERBS: &[&str] =
    &["is", "are", "was", "were", "do", "does", "did", "should", "would", "has", "have"];
/// Stems of verbs of change in Japanese, which puts no spaces between words and ends a request with its verb.
const JAPANESE_STEMS: &[&str] = &[
    "修正し",
    "直し",
    "追加し",
    "変更し",
    "作成し",
    "作っ",
    "書い",
    "書き換え",
    "書き直",
    "削除し",
    "実装し",
    "更新し",
    "置き換え",
    "置換し",
    "改名し",
];

/// The number of characters that are examined: a request comes before the text that it is about.
const MAX_CHARS: usize = 4000;

/// Whether `prompt` asks for changes to files.
pub(crate) fn asks_for_change(prompt: &str) -> bool {
    let prompt: String = prompt.chars().take(MAX_CHARS).collect();
    let contains_any = |words: &[&str]| words.iter().any(|word| prompt.contains(word));
    if contains_any(JAPANESE_STEMS) && !contains_any(JAPANESE_QUESTION_WORDS) {
        return true;
    }
    prompt.lines().any(has_request)
}

/// Whether a line has a verb of change at the position of the verb of a request.
fn has_request(line: &str) -> bool {
    let (mut starts_sentence, mut starts_clause, mut is_question) = (true, true, false);
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        // "what's", "where's"
        let stem = bare.split(['\'', '’']).next().unwrap_or_default();
        is_question |= QUESTION_WORDS.contains(&stem) || starts_sentence && QUESTION_VERBS.contains(&stem);
        if starts_clause && !is_question && VERBS.contains(&bare.as_str()) {
            return true;
        }
        starts_sentence = bare.is_empty() || word.ends_with(['.', '!', '?', ':']);
        let ends_clause = starts_sentence || word.ends_with([',', ';', ')']);
        is_question &= !ends_clause;
        starts_clause = ends_clause || WORDS_BEFORE_VERB.contains(&bare.as_str());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_change_is_recognized_in_every_language() {
        for prompt in [
            "Fix the failing test",
            "Read README.md and write a summary to summary.txt",
            "The build is broken. Please repair it.",
            "Look at a.rs, then rename `x`",
            "Find out how to reproduce it, then fix it",
            "Why does it fail? Fix it.",
            "Can you fix the test?",
            "Here is what I want:\nadd a test",
            "- [ ] update the docs",
            "Arregla la prueba",
            "Lee el archivo y escribe un resumen",
            "Corrija o teste, por favor",
            "Lis le fichier puis ajoute un test",
            "Tolong perbaiki tes yang gagal",
            "失敗しているテストを修正してください",
        ] {
            assert!(asks_for_change(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_question_is_not_a_request_for_a_change() {
        for prompt in [
            "",
            "What does this change do",
            "Explain the fix in 3fa2",
            "How do I add a test?",
            "What's the best way to add a test",
            "Explain how to write a parser",
            "Should I rename x and remove y?",
            "Comment ajouter un test ?",
            "Bagaimana cara menambah tes dan ubah nama",
            "Why did the last update break it?",
            "Review this",
            "¿Qué hace este cambio?",
            "Que fait ce changement ?",
            "Apa isi berkas ini",
            "この関数を説明してください",
            "どうすればこれを修正して動かせますか",
        ] {
            assert!(!asks_for_change(prompt), "{prompt}");
        }
    }
}
