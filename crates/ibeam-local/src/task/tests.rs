use super::*;

struct Files(&'static [&'static str]);

impl WorkspaceFiles for Files {
    fn files(&self) -> Vec<String> {
        self.0.iter().map(|&file| file.to_owned()).collect()
    }

    fn exists(&self, path: &str) -> bool {
        self.0.contains(&path)
    }
}

/// `expect` is a list of: `create`, `change`, `run`, `run-first`, `summary`, `talk` (not about files).
#[track_caller]
fn check(text: &str, existing: &[&str], missing: &[&str], expect: &str) {
    let files = Files(&["README.md", "a.txt", "notes.txt", "src/main.py", "Makefile", "resume.txt"]);
    let task = Task::parse(text, &files, &[]);
    assert_eq!(
        (&task.existing[..], &task.missing[..]),
        (
            &existing.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..],
            &missing.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..]
        ),
        "{text}"
    );
    let flags = [
        (task.create, "create"),
        (task.change, "change"),
        (task.run_first, "run-first"),
        (task.run, "run"),
        (task.summary, "summary"),
        (!task.about_files, "talk"),
    ];
    let found: Vec<&str> = flags.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
    assert_eq!(found.join(" "), expect, "{text}");
}

#[test]
fn a_summary_into_a_new_file_is_a_creation_in_every_language() {
    for text in [
        "Read README.md and write a summary to summary.txt",
        "Lee README.md y escribe un resumen en summary.txt",
        "Baca README.md dan tulis ringkasan ke summary.txt",
        "README.mdを読んで、要約をsummary.txtに書いてください",
        "Lis README.md et écris un résumé dans summary.txt",
        "Leia README.md e escreva um resumo em summary.txt",
    ] {
        check(text, &["README.md"], &["summary.txt"], "create summary");
    }
}

#[test]
fn an_edit_is_a_change_in_every_language() {
    for text in [
        "Replace foo with bar in a.txt.",
        "Reemplaza foo por bar en a.txt.",
        "Ganti foo dengan bar di a.txt.",
        "a.txtのfooをbarに置き換えてください。",
        "Remplace foo par bar dans a.txt.",
        "Substitua foo por bar em a.txt.",
    ] {
        check(text, &["a.txt"], &[], "change");
    }
}

#[test]
fn a_command_comes_first_in_every_language() {
    for text in [
        "Run src/main.py and tell me what it prints",
        "Ejecuta src/main.py y dime qué imprime",
        "Jalankan src/main.py dan beri tahu keluarannya",
        "src/main.pyを実行して結果を教えてください",
        "Exécute src/main.py et dis-moi ce qu'il affiche",
        "Execute src/main.py e diga o que imprime",
    ] {
        check(text, &["src/main.py"], &[], "run-first run");
    }
}

#[test]
fn moving_a_file_is_a_command_in_every_language() {
    for text in [
        "Rename a.txt to b.txt",
        "Renombra a.txt a b.txt",
        "Pindahkan a.txt ke b.txt",
        "a.txtをb.txtに移動してください",
        "Renomme le fichier a.txt en b.txt",
        "Renomeie o arquivo a.txt para b.txt",
    ] {
        check(text, &["a.txt"], &["b.txt"], "run-first run");
    }
}

#[test]
fn a_question_requests_no_action_in_every_language() {
    for text in [
        "What does README.md say about how to add a user?",
        "¿Qué dice README.md sobre cómo crear usuarios?",
        "Apa isi README.md tentang cara menambah pengguna?",
        "README.mdには何が書いてありますか？",
        "Que dit README.md sur la manière de créer un compte ?",
        "O que README.md diz sobre como criar usuários?",
    ] {
        check(text, &["README.md"], &[], "");
    }
}

#[test]
fn deleting_a_file_is_a_command_and_deleting_a_line_is_a_change() {
    check("Delete the file a.txt", &["a.txt"], &[], "run-first run");
    check("Delete the second line of a.txt", &["a.txt"], &[], "change");
    check("a.txtを削除してください", &["a.txt"], &[], "run-first run");
}

#[test]
fn the_first_verb_decides_the_first_action() {
    check("Write a list of fruits to fruits.txt", &[], &["fruits.txt"], "create run");
    check(
        "Count the lines of a.txt and write the number to n.txt",
        &["a.txt"],
        &["n.txt"],
        "create run-first run",
    );
}

#[test]
fn words_within_names_and_products_are_neither_verbs_nor_files() {
    check("What is in resume.txt?", &["resume.txt"], &[], "");
    check("Explain what Node.js 3.11 at https://example.com/x.html is", &[], &[], "talk");
    check("Hello!", &[], &[], "talk");
    check("Add a target to Makefile", &["Makefile"], &[], "change");
}

#[test]
fn a_bare_name_means_the_only_file_with_it() {
    check("Explain main.py", &["src/main.py"], &[], "");
    check("Create main.py with a greeting", &[], &["main.py"], "create");
}

#[test]
fn an_existing_file_is_a_destination_only_if_words_mark_it() {
    let files = Files(&["README.md", "summary.txt"]);
    let read = |text: &str| Task::parse(text, &files, &[]).destinations;
    assert_eq!(read("Read README.md and write a summary to summary.txt"), ["summary.txt"]);
    assert_eq!(read("README.mdを読んで要約をsummary.txtに書いてください"), ["summary.txt"]);
    assert!(read("Read summary.txt and create a poem").is_empty());
}

#[test]
fn a_question_for_a_number_runs_a_command_in_every_language() {
    for text in [
        "How many lines does a.txt have?",
        "¿Cuántas palabras tiene a.txt?",
        "Berapa baris di a.txt?",
        "a.txtは何行ですか？",
        "Combien de mots y a-t-il dans a.txt ?",
        "Quantas linhas tem a.txt?",
    ] {
        check(text, &["a.txt"], &[], "run-first run");
    }
    check("Which version is in a.txt, and how many people made it?", &["a.txt"], &[], "");
}

#[test]
fn a_file_type_is_not_a_file() {
    check("Write backup.sh that copies all .txt files", &[], &["backup.sh"], "create");
    check("Create a .gitignore", &[], &[".gitignore"], "create");
}
