//! Word lists for the analysis of tasks, in the six supported languages.
//!
//! Each list has one or more lines per language, in the order en, es, id, ja, fr, pt. Words are in lower case and match complete
//! words. Japanese words match anywhere, because Japanese does not separate words. If a word is
//! missing, the model decides with fewer restrictions and hints; no wrong call results.

/// A list of words, separated by white space.
pub(super) struct WordList(pub(super) &'static str);

impl WordList {
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.split_whitespace()
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }
}

/// Words for creating a file.
pub(super) const CREATE: WordList = WordList(
    "
    create write make save generate put store produce draft
    crea crear cree escribe escribir escriba guarda guardar guarde genera generar genere haz redacta pon
    buat buatlah buatkan tulis tulislah tuliskan simpan simpanlah hasilkan bikin
    作成 作って 作り 書いて 書き込 書き出 書け 保存 生成
    crée créer créez écris écrire écrivez ecris enregistre enregistrer enregistrez génère générer
    générez sauvegarde sauvegarder rédige mets
    crie criar escreva escrever escreve salve salvar gere gerar faça grave redija
    ",
);

/// Words for changing an existing file.
pub(super) const CHANGE: WordList = WordList(
    "
    change edit replace fix update add append insert modify correct remove delete rename set convert
    cambia cambiar cambie edita editar edite reemplaza reemplazar reemplace sustituye sustituir corrige
    corregir corrija actualiza actualizar actualice añade añadir añada agrega agregar agregue inserta
    modifica modificar elimina eliminar quita borra
    ubah ubahlah ganti gantilah edit perbaiki perbarui tambah tambahkan sisipkan modifikasi hapus
    変更 編集 置き換 置換 修正 更新 追加 挿入 直して 変えて 足して 削除
    changer changez modifie modifier modifiez remplace remplacer remplacez corriger corrigez ajoute
    ajouter ajoutez insère insérer supprime supprimer retire enlève
    altere alterar mude mudar substitua substituir corrigir atualize atualizar adicione adicionar
    acrescente insira modifique remova troque
    ",
);

/// Words for running a command.
pub(super) const RUN: WordList = WordList(
    "
    run execute list count copy
    ejecuta ejecutar ejecute lista listar enumera cuenta contar cuente copia copiar
    jalankan eksekusi daftar daftarkan hitung hitunglah salin salinlah
    実行 一覧 列挙 数え カウント コピー
    exécute exécuter exécutez lance lancer liste lister listez compte compter comptez copie copier
    copiez
    execute executar rode rodar conte contar copiar
    ",
);

/// Words for moving or deleting. They count if their object is a file; then the same word does not count for [`CHANGE`].
pub(super) const MOVE_OR_DELETE: WordList = WordList(
    "
    rename move delete remove erase
    renombra renombrar renombre mueve mover mueva elimina eliminar elimine borra borrar
    namai pindahkan hapus hapuslah ganti
    名前を変更 リネーム 移動 削除 変更
    renomme renommer renommez déplace déplacer déplacez supprime supprimer supprimez efface
    renomeie renomear mova apague apagar exclua excluir remova remover
    ",
);

/// Words between a verb and the name of its file; for Japanese, single characters.
pub(super) const FILLERS: WordList = WordList(
    "
    the a file named called el la al archivo fichero llamado berkas nama bernama le l fichier nommé o
    arquivo ficheiro chamado を の に へ フ ァ イ ル 名 前 と い う
    ",
);

/// Words for a summary.
pub(super) const SUMMARY: WordList = WordList(
    "
    summary summarize summarise overview resumen resume resumir resuma ringkasan ringkas ringkaslah
    rangkum rangkuman 要約 まとめ résumé résume résumer résumez resumo
    ",
);

/// Words for the content of the workspace.
pub(super) const WORKSPACE: WordList = WordList(
    "
    file files folder directory project repo repository codebase archivo archivos fichero ficheros
    carpeta directorio proyecto repositorio berkas direktori proyek repositori ファイル フォルダ ディレクトリ プロジェクト
    リポジトリ fichier fichiers dossier répertoire projet dépôt arquivo arquivos pasta diretório projeto
    repositório
    ",
);

/// First words of questions.
pub(super) const QUESTION: WordList = WordList(
    "
    what which who whose why how when where does do did is are was were has have explain describe qué
    que cuál cuáles quién por cómo cuándo dónde cuántos cuántas explica apa apakah siapa mengapa kenapa
    bagaimana kapan di berapa jelaskan quel quelle quels quelles qui pourquoi comment quand où combien
    est qu explique qual quais quem como quando onde quantos quantas o
    ",
);

/// Words in questions for a number.
pub(super) const HOW_MANY: WordList = WordList(
    "
    many
    cuántos cuántas
    berapa
    いくつ 何行 何文字 何単語 何個
    combien
    quantos quantas
    ",
);

/// Words for things that a command counts better than the model.
pub(super) const COUNTABLE: WordList = WordList(
    "
    line lines word words character characters file files
    línea líneas palabra palabras archivo archivos ficheros
    baris kata berkas
    行 単語 文字 ファイル
    ligne lignes mot mots fichier fichiers
    linha linhas palavra palavras arquivo arquivos
    ",
);

/// Words of Japanese questions. A sentence that also has [`PLEASE_JA`] is a request.
pub(super) const QUESTION_JA: WordList = WordList(
    "
    何 どの どこ 誰 なぜ いくつ いつ ですか ますか 説明
    ",
);

/// The Japanese word for "please".
pub(super) const PLEASE_JA: &str = "ください";

/// Japanese phrases that describe a state, although they contain the characters of a request.
pub(super) const STATE_DESCRIPTION_JA: WordList = WordList(
    "
    書いてあ 書いてい 書かれて
    ",
);

/// Words before the name of the destination file.
pub(super) const DESTINATION: WordList = WordList(
    "
    to into as in named called en a al como llamado ke dalam di sebagai bernama dans vers sous à em no
    para chamado
    ",
);

/// Particles after the name of the destination file.
pub(super) const DESTINATION_JA: WordList = WordList(
    "
    に へ として
    ",
);
