//! The words by which a task says what it wants, in the six languages of the program.
//!
//! A pure list: within each, one line or more per language in the order en, es, id, ja, fr, pt. Words are lower case
//! and matched whole; the Japanese ones are matched anywhere, because nothing separates words there. A word that is
//! missing costs a guard or a hint, never a wrong call.

/// Words, separated by white space.
pub(super) struct Words(pub(super) &'static str);

impl Words {
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.split_whitespace()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }
}

/// A new file is wanted.
pub(super) const CREATE: Words = Words(
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

/// An existing file is to become another.
pub(super) const CHANGE: Words = Words(
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

/// A command is wanted.
pub(super) const RUN: Words = Words(
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

/// A command is wanted when the very next thing named is a file; else these are changes of a file's content.
pub(super) const RELOCATE: Words = Words(
    "
    rename move delete remove erase
    renombra renombrar renombre mueve mover mueva elimina eliminar elimine borra borrar
    namai pindahkan hapus hapuslah ganti
    名前を変更 リネーム 移動 削除 変更
    renomme renommer renommez déplace déplacer déplacez supprime supprimer supprimez efface
    renomeie renomear mova apague apagar exclua excluir remova remover
    ",
);

/// What may stand between such a verb and its file; for Japanese, letter by letter.
pub(super) const FILLERS: Words = Words(
    "
    the a file named called el la al archivo fichero llamado berkas nama bernama le l fichier nommé o
    arquivo ficheiro chamado を の に へ フ ァ イ ル 名 前 と い う
    ",
);

/// One's own words are wanted.
pub(super) const SUMMARY: Words = Words(
    "
    summary summarize summarise overview resumen resume resumir resuma ringkasan ringkas ringkaslah
    rangkum rangkuman 要約 まとめ résumé résume résumer résumez resumo
    ",
);

/// The task is about what lies in the workspace.
pub(super) const WORKSPACE: Words = Words(
    "
    file files folder directory project repo repository codebase archivo archivos fichero ficheros
    carpeta directorio proyecto repositorio berkas direktori proyek repositori ファイル フォルダ ディレクトリ プロジェクト
    リポジトリ fichier fichiers dossier répertoire projet dépôt arquivo arquivos pasta diretório projeto
    repositório
    ",
);

/// A sentence that opens with one of these asks and does not order.
pub(super) const QUESTION: Words = Words(
    "
    what which who whose why how when where does do did is are was were has have explain describe qué
    que cuál cuáles quién por cómo cuándo dónde cuántos cuántas explica apa apakah siapa mengapa kenapa
    bagaimana kapan di berapa jelaskan quel quelle quels quelles qui pourquoi comment quand où combien
    est qu explique qual quais quem como quando onde quantos quantas o
    ",
);

/// A question for a number …
pub(super) const HOW_MANY: Words = Words(
    "
    many
    cuántos cuántas
    berapa
    いくつ 何行 何文字 何単語 何個
    combien
    quantos quantas
    ",
);

/// … of things that a command counts better than the model.
pub(super) const COUNTABLE: Words = Words(
    "
    line lines word words character characters file files
    línea líneas palabra palabras archivo archivos ficheros
    baris kata berkas
    行 単語 文字 ファイル
    ligne lignes mot mots fichier fichiers
    linha linhas palavra palavras arquivo arquivos
    ",
);

/// A Japanese sentence with one of these asks, unless it says please.
pub(super) const QUESTION_JA: Words = Words(
    "
    何 どの どこ 誰 なぜ いくつ いつ ですか ますか 説明
    ",
);

/// The Japanese please.
pub(super) const PLEASE_JA: &str = "ください";

/// Japanese turns that hold an order's letters and are none.
pub(super) const NO_ORDER_JA: Words = Words(
    "
    書いてあ 書いてい 書かれて
    ",
);

/// Before the name of the file that the result goes to.
pub(super) const DESTINATION: Words = Words(
    "
    to into as in named called en a al como llamado ke dalam di sebagai bernama dans vers sous à em no
    para chamado
    ",
);

/// After the name of the file that the result goes to.
pub(super) const DESTINATION_JA: Words = Words(
    "
    に へ として
    ",
);
