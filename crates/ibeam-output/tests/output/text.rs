//! The output of `text`.

use ibeam_output::{Locale, TextOptions};
use ibeam_protocol::tool_output::{
    EditOutput, McpOutput, ReadOutput, ShellOutput, WebFetchOutput, WriteOutput,
};
use ibeam_protocol::{Event, Reason, ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use serde_json::json;

use crate::run_events::{self, RunEvents};

const BARE: TextOptions =
    TextOptions { verbose: false, live: false, shows_details: false, message_only: false };
const VERBOSE: TextOptions = TextOptions { verbose: true, ..BARE };
const LIVE: TextOptions = TextOptions { live: true, ..BARE };

#[track_caller]
fn check(events: &[Event], options: TextOptions, expect: &str) {
    assert_eq!(run_events::text(events, Locale::En, options), expect);
}

fn read() -> ToolCall {
    run_events::call("read", json!({"path": "a.txt"}))
}

fn read_outcome() -> ToolOutcome {
    run_events::success(ToolOutput::Read(ReadOutput {
        media: Vec::new(),
        content: "x".into(),
        is_empty: false,
        exceeded_limit: false,
        total_lines: 1,
        total_chars: 1,
    }))
}

fn write_outcome(created: bool) -> ToolOutcome {
    let path = "/p/a.txt".into();
    run_events::success(ToolOutput::Write(WriteOutput {
        path,
        lines_created: 1,
        file_size: 1,
        created,
        diff: String::new(),
    }))
}

fn write() -> ToolCall {
    run_events::call("write", json!({"path": "a.txt", "fileText": "x"}))
}

fn shell(command: &str) -> ToolCall {
    run_events::call("shell", json!({"command": command}))
}

fn shell_outcome() -> ToolOutcome {
    run_events::success(ToolOutput::Shell(ShellOutput::default()))
}

/// Returns a run with the four published actions, each successful, failed and refused.
fn published_actions() -> Vec<Event> {
    let edit = run_events::call("edit", json!({"path": "a.txt"}));
    let output = EditOutput {
        path: "/p/a.txt".into(),
        lines_added: 0,
        lines_removed: 0,
        diff: String::new(),
        message: String::new(),
    };
    let edit_outcome = run_events::success(ToolOutput::Edit(output));
    let mut run = RunEvents::new()
        .call(&read(), read_outcome())
        .call(&edit, edit_outcome)
        .call(&shell("ls"), shell_outcome())
        .call(&write(), write_outcome(true));
    for call in [read(), edit, shell("ls"), write()] {
        run = run.call(&call, ToolOutcome::error("x"));
        run = run.call(&call, ToolOutcome::Rejected { reason: "x".into() });
    }
    run.text("Ok.").completed()
}

#[track_caller]
fn check_locale(locale: Locale, expect: &str) {
    assert_eq!(run_events::text(&published_actions(), locale, BARE), expect);
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
fn french_lines_follow_the_published_ones() {
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
fn japanese_lines_follow_the_published_ones() {
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
fn overwriting_a_file_is_an_edit() {
    check(&RunEvents::new().call(&write(), write_outcome(false)).completed(), BARE, "Edited file\n");
}

#[test]
fn a_tool_without_a_phrase_is_named() {
    let call = run_events::call("weather", json!({}));
    check(
        &RunEvents::new().call(&call, run_events::success(ToolOutput::Other(json!(1)))).completed(),
        BARE,
        "Called tool `weather`\n",
    );
}

#[test]
fn the_final_message_is_the_text_after_the_last_call() {
    check(
        &RunEvents::new()
            .text("I read.")
            .call(&read(), read_outcome())
            .text("It says ")
            .text("x.\n")
            .completed(),
        BARE,
        "Read file\n\nIt says x.\n",
    );
}

#[test]
fn without_text_after_the_last_call_the_previous_text_is_the_message() {
    check(
        &RunEvents::new()
            .text("First.")
            .call(&read(), read_outcome())
            .text(" Then. ")
            .call(&write(), write_outcome(true))
            .call(&write(), write_outcome(true))
            .completed(),
        BARE,
        "Read file\nCreated new file\nCreated new file\n\nThen.\n",
    );
}

#[test]
fn an_answer_without_calls_is_only_the_message() {
    check(&RunEvents::new().text("Four.").completed(), BARE, "Four.\n");
}

#[test]
fn a_run_without_text_has_only_its_lines() {
    check(&RunEvents::new().call(&read(), read_outcome()).completed(), BARE, "Read file\n");
}

#[test]
fn a_failed_run_prints_its_actions_and_no_message() {
    let run = RunEvents::new().call(&read(), read_outcome()).text("Half");
    check(&run.failed(Reason::Refused), BARE, "Read file\n");
}

#[test]
fn the_answer_of_a_run_that_fail_on_made_fail_is_printed() {
    for reason in
        [Reason::ToolErrors { count: 1 }, Reason::Denied { count: 1 }, Reason::BackgroundStopped { count: 1 }]
    {
        let run = || RunEvents::new().call(&read(), read_outcome()).text("Done.").failed(reason.clone());
        check(&run(), BARE, "Read file\n\nDone.\n");
        check(&run(), TextOptions { message_only: true, ..BARE }, "Done.\n");
    }
}

#[test]
fn verbose_adds_the_path_or_command() {
    check(
        &RunEvents::new()
            .call(&read(), read_outcome())
            .call(&shell("cargo test"), shell_outcome())
            .call(
                &run_events::call("update_todos", json!({"todos": []})),
                run_events::success(ToolOutput::Todos(vec![])),
            )
            .completed(),
        VERBOSE,
        "Read file: a.txt\nRan terminal command: cargo test\nUpdated to-do list\n",
    );
}

#[test]
fn verbose_prints_no_control_character_and_no_second_line() {
    check(
        &RunEvents::new().call(&shell("printf '\u{1b}[2J'\nrm\u{202e}x"), shell_outcome()).completed(),
        VERBOSE,
        "Ran terminal command: printf '\\u{1b}[2J'\\nrm\\u{202e}x\n",
    );
}

#[test]
fn verbose_cuts_a_long_command() {
    let expect = format!("Ran terminal command: {}…\n", "é".repeat(199));
    check(&RunEvents::new().call(&shell(&"é".repeat(201)), shell_outcome()).completed(), VERBOSE, &expect);
}

#[test]
fn control_characters_in_the_message_are_escaped() {
    check(
        &RunEvents::new().text("a\r\n\tb\u{1b}[31mred\u{7}\u{9b}2J").completed(),
        BARE,
        "a\n\tb\\u{1b}[31mred\\u{7}\\u{9b}2J\n",
    );
}

#[test]
fn live_prints_text_as_it_arrives_and_the_message_once() {
    check(
        &RunEvents::new()
            .text("I will ")
            .text("read.")
            .call(&read(), read_outcome())
            .text("Done")
            .text("!\n")
            .completed(),
        LIVE,
        "I will read.\nRead file\nDone!\n",
    );
}

#[test]
fn live_ends_its_line_when_the_run_fails() {
    check(&RunEvents::new().text("Half").failed(Reason::Refused), LIVE, "Half\n");
}

#[test]
fn a_command_that_exceeds_its_time_limit_failed() {
    let failure = ToolFailure::TimedOut { timeout_ms: 1, partial: ShellOutput::default() };
    let outcome = ToolOutcome::Failure { failure, for_model: "".into() };
    check(&RunEvents::new().call(&shell("x"), outcome).completed(), BARE, "Terminal command failed\n");
}

#[test]
fn a_web_page_has_its_own_line() {
    let call = run_events::call("web_fetch", json!({"url": "http://a.example/"}));
    let page = WebFetchOutput { url: "http://a.example/".into(), markdown: String::new() };
    let events = RunEvents::new()
        .call(&call, run_events::success(ToolOutput::WebFetch(page)))
        .call(&call, ToolOutcome::error("no such host"))
        .call(&call, ToolOutcome::Rejected { reason: "no".into() })
        .completed();
    check(&events, BARE, "Fetched web page\nFailed to fetch web page\nNot allowed to fetch web page\n");
    check(
        &events,
        VERBOSE,
        "Fetched web page: http://a.example/\nFailed to fetch web page: http://a.example/\n\
         Not allowed to fetch web page: http://a.example/\n",
    );
}

#[test]
fn an_mcp_tool_has_its_own_line() {
    let arguments = json!({"name": "db-query", "args": {}, "providerIdentifier": "db", "toolName": "query"});
    let call = run_events::call("mcp_db_query", arguments);
    let events = RunEvents::new()
        .call(&call, run_events::success(ToolOutput::Mcp(McpOutput::default())))
        .call(
            &call,
            ToolOutcome::Failure {
                failure: ToolFailure::McpError(McpOutput::default()),
                for_model: "".into(),
            },
        )
        .call(&call, ToolOutcome::Rejected { reason: "no".into() })
        .completed();
    check(&events, BARE, "Called MCP tool\nMCP tool failed\nNot allowed to call MCP tool\n");
    check(
        &events,
        VERBOSE,
        "Called MCP tool: db-query\nMCP tool failed: db-query\nNot allowed to call MCP tool: db-query\n",
    );
}
