//! `text`, as people see it.

use ibeam_output::{Locale, TextOptions};
use ibeam_protocol::tool_output::{
    EditOutput, McpOutput, ReadOutput, ShellOutput, WebFetchOutput, WriteOutput,
};
use ibeam_protocol::{Event, Reason, ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use serde_json::json;

use crate::story::{self, Story};

const BARE: TextOptions = TextOptions { verbose: false, live: false, message_only: false };
const VERBOSE: TextOptions = TextOptions { verbose: true, ..BARE };
const LIVE: TextOptions = TextOptions { live: true, ..BARE };

#[track_caller]
fn check(events: &[Event], options: TextOptions, expect: &str) {
    assert_eq!(story::text(events, Locale::En, options), expect);
}

fn read() -> ToolCall {
    story::call("read", json!({"path": "a.txt"}))
}

fn was_read() -> ToolOutcome {
    story::success(ToolOutput::Read(ReadOutput {
        content: "x".into(),
        is_empty: false,
        exceeded_limit: false,
        total_lines: 1,
        total_chars: 1,
    }))
}

fn was_written(created: bool) -> ToolOutcome {
    let path = "/p/a.txt".into();
    story::success(ToolOutput::Write(WriteOutput { path, lines_created: 1, file_size: 1, created }))
}

fn write() -> ToolCall {
    story::call("write", json!({"path": "a.txt", "fileText": "x"}))
}

fn shell(command: &str) -> ToolCall {
    story::call("shell", json!({"command": command}))
}

fn was_run() -> ToolOutcome {
    story::success(ToolOutput::Shell(ShellOutput::default()))
}

/// The four published actions, done, failed and refused.
fn published_actions() -> Vec<Event> {
    let edit = story::call("edit", json!({"path": "a.txt"}));
    let output = EditOutput {
        path: "/p/a.txt".into(),
        lines_added: 0,
        lines_removed: 0,
        diff: String::new(),
        message: String::new(),
    };
    let was_edited = story::success(ToolOutput::Edit(output));
    let mut story = Story::new()
        .call(&read(), was_read())
        .call(&edit, was_edited)
        .call(&shell("ls"), was_run())
        .call(&write(), was_written(true));
    for call in [read(), edit, shell("ls"), write()] {
        story = story.call(&call, ToolOutcome::error("x"));
        story = story.call(&call, ToolOutcome::Rejected { reason: "x".into() });
    }
    story.text("Ok.").done()
}

#[track_caller]
fn check_locale(locale: Locale, expect: &str) {
    assert_eq!(story::text(&published_actions(), locale, BARE), expect);
}

#[test]
fn english_lines_are_the_published_ones() {
    check_locale(
        Locale::En,
        "Read file\nEdited file\nRan terminal command\nCreated new file\n\
         Failed to read file\nNot allowed to read file\n\
         Failed to edit file\nNot allowed to edit file\n\
         Terminal command failed\nNot allowed to run terminal command\n\
         Failed to write file\nNot allowed to write file\n\nOk.\n",
    );
}

#[test]
fn spanish_lines_are_the_published_ones() {
    check_locale(
        Locale::Es,
        "Leyó un archivo\nEditó un archivo\nEjecutó un comando en la terminal\nCreó un archivo nuevo\n\
         No pudo leer un archivo\nNo tuvo permiso para leer un archivo\n\
         No pudo editar un archivo\nNo tuvo permiso para editar un archivo\n\
         Falló un comando en la terminal\nNo tuvo permiso para ejecutar un comando en la terminal\n\
         No pudo escribir un archivo\nNo tuvo permiso para escribir un archivo\n\nOk.\n",
    );
}

#[test]
fn indonesian_lines_are_the_published_ones() {
    check_locale(
        Locale::Id,
        "Membaca file\nMengedit file\nMenjalankan perintah di terminal\nMembuat file baru\n\
         Gagal membaca file\nTidak diizinkan membaca file\n\
         Gagal mengedit file\nTidak diizinkan mengedit file\n\
         Perintah di terminal gagal\nTidak diizinkan menjalankan perintah di terminal\n\
         Gagal menulis file\nTidak diizinkan menulis file\n\nOk.\n",
    );
}

#[test]
fn portuguese_lines_are_the_published_ones() {
    check_locale(
        Locale::Pt,
        "Leu o arquivo\nEditou o arquivo\nExecutou um comando no terminal\nCriou um novo arquivo\n\
         Não conseguiu ler o arquivo\nNão teve permissão para ler o arquivo\n\
         Não conseguiu editar o arquivo\nNão teve permissão para editar o arquivo\n\
         Um comando no terminal falhou\nNão teve permissão para executar um comando no terminal\n\
         Não conseguiu gravar o arquivo\nNão teve permissão para gravar o arquivo\n\nOk.\n",
    );
}

#[test]
fn french_lines_are_in_the_same_manner() {
    check_locale(
        Locale::Fr,
        "Fichier lu\nFichier modifié\nCommande exécutée dans le terminal\nNouveau fichier créé\n\
         Échec de la lecture du fichier\nLecture du fichier non autorisée\n\
         Échec de la modification du fichier\nModification du fichier non autorisée\n\
         Échec de la commande dans le terminal\nExécution de la commande dans le terminal non autorisée\n\
         Échec de l'écriture du fichier\nÉcriture du fichier non autorisée\n\nOk.\n",
    );
}

#[test]
fn japanese_lines_are_in_the_same_manner() {
    check_locale(
        Locale::Ja,
        "ファイルを読み取りました\nファイルを編集しました\nターミナルでコマンドを実行しました\n\
         新しいファイルを作成しました\n\
         ファイルを読み取れませんでした\nファイルの読み取りは許可されませんでした\n\
         ファイルを編集できませんでした\nファイルの編集は許可されませんでした\n\
         ターミナルのコマンドが失敗しました\nターミナルでのコマンドの実行は許可されませんでした\n\
         ファイルを書き込めませんでした\nファイルの書き込みは許可されませんでした\n\nOk.\n",
    );
}

#[test]
fn writing_over_a_file_is_an_edit() {
    check(&Story::new().call(&write(), was_written(false)).done(), BARE, "Edited file\n");
}

#[test]
fn a_tool_without_a_phrase_is_named() {
    let call = story::call("weather", json!({}));
    check(
        &Story::new().call(&call, story::success(ToolOutput::Other(json!(1)))).done(),
        BARE,
        "Called tool `weather`\n",
    );
}

#[test]
fn the_final_message_is_the_text_after_the_last_call() {
    check(
        &Story::new().text("I read.").call(&read(), was_read()).text("It says ").text("x.\n").done(),
        BARE,
        "Read file\n\nIt says x.\n",
    );
}

#[test]
fn without_text_after_the_last_call_the_one_before_is_the_message() {
    check(
        &Story::new()
            .text("First.")
            .call(&read(), was_read())
            .text(" Then. ")
            .call(&write(), was_written(true))
            .call(&write(), was_written(true))
            .done(),
        BARE,
        "Read file\nCreated new file\nCreated new file\n\nThen.\n",
    );
}

#[test]
fn an_answer_without_calls_is_only_the_message() {
    check(&Story::new().text("Four.").done(), BARE, "Four.\n");
}

#[test]
fn a_run_without_text_has_only_its_lines() {
    check(&Story::new().call(&read(), was_read()).done(), BARE, "Read file\n");
}

#[test]
fn a_failed_run_prints_its_actions_and_no_message() {
    let story = Story::new().call(&read(), was_read()).text("Half");
    check(&story.failed(Reason::Refused), BARE, "Read file\n");
}

#[test]
fn verbose_adds_the_path_or_command() {
    check(
        &Story::new()
            .call(&read(), was_read())
            .call(&shell("cargo test"), was_run())
            .call(
                &story::call("update_todos", json!({"todos": []})),
                story::success(ToolOutput::Todos(vec![])),
            )
            .done(),
        VERBOSE,
        "Read file: a.txt\nRan terminal command: cargo test\nUpdated to-do list\n",
    );
}

#[test]
fn verbose_prints_no_control_character_and_no_second_line() {
    check(
        &Story::new().call(&shell("printf '\u{1b}[2J'\nrm\u{202e}x"), was_run()).done(),
        VERBOSE,
        "Ran terminal command: printf '\\u{1b}[2J'\\nrm\\u{202e}x\n",
    );
}

#[test]
fn verbose_cuts_a_long_command() {
    let expect = format!("Ran terminal command: {}…\n", "é".repeat(199));
    check(&Story::new().call(&shell(&"é".repeat(201)), was_run()).done(), VERBOSE, &expect);
}

#[test]
fn the_message_moves_no_cursor() {
    check(
        &Story::new().text("a\r\n\tb\u{1b}[31mred\u{7}\u{9b}2J").done(),
        BARE,
        "a\n\tb\\u{1b}[31mred\\u{7}\\u{9b}2J\n",
    );
}

#[test]
fn live_prints_text_as_it_comes_and_the_message_once() {
    check(
        &Story::new().text("I will ").text("read.").call(&read(), was_read()).text("Done").text("!\n").done(),
        LIVE,
        "I will read.\nRead file\nDone!\n",
    );
}

#[test]
fn live_ends_its_line_when_the_run_fails() {
    check(&Story::new().text("Half").failed(Reason::Refused), LIVE, "Half\n");
}

#[test]
fn a_command_out_of_time_failed() {
    let failure = ToolFailure::TimedOut { timeout_ms: 1, partial: ShellOutput::default() };
    let outcome = ToolOutcome::Failure { failure, for_model: "".into() };
    check(&Story::new().call(&shell("x"), outcome).done(), BARE, "Terminal command failed\n");
}

#[test]
fn a_web_page_has_a_line_of_its_own() {
    let call = story::call("web_fetch", json!({"url": "http://a.example/"}));
    let page = WebFetchOutput { url: "http://a.example/".into(), markdown: String::new() };
    let events = Story::new()
        .call(&call, story::success(ToolOutput::WebFetch(page)))
        .call(&call, ToolOutcome::error("no such host"))
        .call(&call, ToolOutcome::Rejected { reason: "no".into() })
        .done();
    check(&events, BARE, "Fetched web page\nFailed to fetch web page\nNot allowed to fetch web page\n");
    check(
        &events,
        VERBOSE,
        "Fetched web page: http://a.example/\nFailed to fetch web page: http://a.example/\n\
         Not allowed to fetch web page: http://a.example/\n",
    );
}

#[test]
fn an_mcp_tool_has_a_line_of_its_own() {
    let arguments = json!({"name": "db-query", "args": {}, "providerIdentifier": "db", "toolName": "query"});
    let call = story::call("mcp_db_query", arguments);
    let events = Story::new()
        .call(&call, story::success(ToolOutput::Mcp(McpOutput::default())))
        .call(
            &call,
            ToolOutcome::Failure {
                failure: ToolFailure::McpError(McpOutput::default()),
                for_model: "".into(),
            },
        )
        .call(&call, ToolOutcome::Rejected { reason: "no".into() })
        .done();
    check(&events, BARE, "Called MCP tool\nMCP tool failed\nNot allowed to call MCP tool\n");
    check(
        &events,
        VERBOSE,
        "Called MCP tool: db-query\nMCP tool failed: db-query\nNot allowed to call MCP tool: db-query\n",
    );
}
