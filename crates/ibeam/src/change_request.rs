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
    if JAPANESE_STEMS.iter().any(|verb| prompt.contains(verb)) {
        return true;
    }
    let mut starts_clause = true;
    for word in prompt.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if starts_clause && VERBS.contains(&bare.as_str()) {
            return true;
        }
        starts_clause = bare.is_empty()
            || word.ends_with([',', '.', ';', ':', '!', ')'])
            || WORDS_BEFORE_VERB.contains(&bare.as_str());
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
            "Why did the last update break it?",
            "Review this",
            "¿Qué hace este cambio?",
            "Que fait ce changement ?",
            "Apa isi berkas ini",
            "この関数を説明してください",
        ] {
            assert!(!asks_for_change(prompt), "{prompt}");
        }
    }
}
