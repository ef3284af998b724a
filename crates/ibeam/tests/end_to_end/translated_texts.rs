//! Listings and usage errors in the language of the user. What programs read stays English.

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::{Value, json};

/// Returns a scene without a key, with an MCP server of the user and one of the project.
fn scene() -> Scene {
    let project = r#"{"mcpServers": {"theirs": {"command": "x"}}}"#;
    let scene = Scene::new([]).with_workspace(Workspace::new().file(".mcp.json", project));
    scene.ibeam_without_model(["mcp", "add", "mine", "--", "y"]).run().succeeded();
    scene
}

fn print(scene: &Scene, args: &[&str], lang: &str) -> String {
    scene.ibeam_without_model(args).args(["--lang", lang]).run().succeeded().stdout
}

/// Asserts that the listing has these parts in a language, and the same JSON in every language.
#[track_caller]
fn check_listing(args: &[&str], json: Option<&[&str]>, lang: &str, parts: &[&str]) {
    let scene = scene();
    let text = print(&scene, args, lang);
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    if let Some(json) = json {
        let print = |lang| -> Value {
            let text = print(&scene, &[args, json].concat(), lang);
            serde_json::from_str(&text).unwrap()
        };
        assert_eq!(print(lang), print("en"));
    }
}

#[test]
fn listings_are_in_the_language_of_the_user() {
    let json = Some(&["--format", "json"][..]);
    check_listing(
        &["providers"],
        Some(&["--json"]),
        "es",
        &[
            "Proveedores\n\n",
            "openai - OpenAI: sin clave; define `$OPENAI_API_KEY` o ejecuta",
            "no necesita clave\n",
        ],
    );
    check_listing(&["mcp", "list"], json, "ja", &["mine    有効       ", "theirs  未信頼     "]);
    check_listing(
        &["models", "--details"],
        None,
        "fr",
        &["Available models\n\n", "\nTip: choisissez-en un avec `--model ID`"],
    );
    check_listing(&["models"], Some(&["--json"]), "fr", &["Available models\n\n"]);
    check_listing(
        &["doctor", "--model", "openai/x", "--api-key", "k"],
        None,
        "pt",
        &["os comandos não alcançam"],
    );
}

#[test]
fn a_usage_error_is_in_the_language_of_the_user_and_english_for_programs() {
    let scene = scene();
    let error = |args: &[&str]| {
        let output = scene.ibeam_without_model(["-p", "x"]).args(args).run();
        assert_eq!(output.code, Some(2), "{output}");
        output.stderr
    };
    let spanish = error(&["--fork", "--lang", "es"]);
    assert!(spanish.starts_with("error: `--fork` necesita `--resume` o `--continue`\n"), "{spanish}");
    let object: Value =
        serde_json::from_str(&error(&["--fork", "--lang", "es", "--error-format", "json"])).unwrap();
    assert_eq!(object["message"], "`--fork` needs `--resume` or `--continue`");
    let unknown = error(&["--unknown", "--lang=ja"]);
    assert!(unknown.starts_with("error: '--unknown' という引数はありません。値として渡すには"), "{unknown}");
    let command = scene.ibeam_without_model(["mcp", "disable", "x", "--lang", "fr"]).run();
    assert!(command.stderr.starts_with("error: aucun serveur MCP ne s'appelle `x` ; il y a : "), "{command}");
}

#[test]
fn an_error_about_a_value_is_in_the_language_of_the_user() {
    let scene = scene();
    for (args, spanish) in [
        (["--timeout", "foo"], "`--timeout foo` debe ser un tiempo mayor que 0"),
        (["--effort", "foo"], "`--effort foo` debe ser uno de \"none\", "),
        (["--max-turns", "0"], "`--max-turns 0` debe ser un número entero mayor que 0"),
        (["--max-turns", "x"], "valor no válido 'x' para '--max-turns <N>': no es un número entero"),
        (["--max-cost", "x"], "`--max-cost x` debe ser una cantidad en dólares"),
        (["--allow-net", "foo"], "patrón de host `foo` no válido: no tiene puerto; para páginas seguras"),
        (["--allow", "Foo(x)"], "token de permiso `Foo(x)` no válido: `Foo` no es un tipo de token; usa"),
        (["--allow", "Foo"], "token de permiso `Foo` no válido: le falta `(`; usa"),
        (["--deny", "Shell(git push)"], "una sola palabra; escribe `Shell(git:push*)`; usa uno de"),
    ] {
        let output = scene.ibeam_without_model(["-p", "x", "--lang", "es"]).args(args).run();
        assert!(output.stderr.contains(spanish), "{output}");
    }
    let file = ["-p", "x", "--lang=es", "--model=openai/x", "--api-key=k", "--file=nowhere"];
    let file = scene.ibeam_without_model(file).run();
    assert!(file.stderr.contains("leer `nowhere`: no existe el archivo o directorio\n"), "{file}");
    let schema = ["-p", "x", "--lang=es", "--model=openai/x", "--api-key=k", r#"--json-schema={"type":3}"#];
    let schema = scene.ibeam_without_model(schema).run();
    assert!(schema.stderr.contains("(/type): `3` debe ser uno de null, boolean, "), "{schema}");
    let config = scene.ibeam_without_model(["-p", "x", "--lang", "es"]).env("IBEAM_TIMEOUT", "foo").run();
    assert!(config.stderr.contains("`foo` debe ser un tiempo mayor que 0"), "{config}");
    for (file, spanish) in [
        (r#"{"permissions": 3}"#, "cli.json:1:17` es incorrecta: `3` debe ser un objeto\n"),
        (r#"{"version": 1, "version": 2}"#, "es incorrecta: `version` aparece más de una vez\n"),
    ] {
        let scene = Scene::new([]).with_workspace(Workspace::new().file(".cursor/cli.json", file));
        let output = scene.ibeam_without_model(["-p", "x", "--lang", "es"]).run();
        assert!(output.stderr.contains(spanish), "{output}");
    }
}

#[test]
fn an_error_of_a_dialect_is_in_the_language_of_the_user() {
    let scene = scene();
    for (args, japanese) in [
        (&["claude", "--foo"][..], "このダイアレクトに `--foo` はありません"),
        (&["claude", "--model"], "`--model` には値が必要です"),
        (&["claude", "-p", "x", "--tmux"], "`--tmux` は使えません: 実行はこのディレクトリで行われます"),
        (&["claude", "-p", "x", "--permission-mode", "foo"], "権限モード `foo` はありません"),
        (&["codex", "exec", "-s", "foo", "--skip-git-repo-check", "x"], "サンドボックス `foo` はありません"),
        (&["codex"], "このダイアレクトに対話モードはありません。`codex exec` を使ってください"),
    ] {
        let output = scene.ibeam_without_model(["--dialect"]).args(args).env("LC_ALL", "ja_JP.UTF-8").run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.starts_with(&format!("error: {japanese}\n")), "{output}");
    }
}

#[test]
fn the_cause_of_a_failed_call_is_in_the_language_of_the_person_and_english_for_the_model() {
    let calls = [
        ("read", json!({ "path": "gone" })),
        ("read", json!({ "path": "." })),
        ("ls", json!({ "path": "gone" })),
        ("read", json!({ "path": "a.txt", "offset": -1 })),
        ("shell", json!({ "command": "echo last; exit 3" })),
        ("unknown", json!({})),
        ("edit", json!({ "path": "a.txt", "strReplace": { "oldText": "z", "newText": "y" } })),
        ("edit", json!({ "path": "a.txt", "strReplace": { "oldText": "one", "newText": "y" } })),
        ("edit", json!({ "path": "a.txt", "strReplace": { "oldText": "one", "newText": "one" } })),
        ("delete", json!({ "path": "gone" })),
        ("web_fetch", json!({ "url": "http://127.0.0.1:1/" })),
        ("delete", json!({ "path": "d" })),
    ];
    let numbered = (1..).zip(&calls);
    let answers = numbered.map(|(number, (name, args))| answer_call(&format!("c{number}"), name, args));
    let workspace = Workspace::new().file("a.txt", "one one\n").file("d/x", "");
    let scene = Scene::new(answers.chain([answer_text("done")])).with_workspace(workspace);
    let output = scene.ibeam(["-p", "x", "--force", "--output-format=text", "--verbose", "--lang=es"]).run();
    for spanish in [
        "no existe el archivo o directorio: gone",
        "`.` es un directorio, no un archivo normal; `ls` lo lista",
        "`read`: `offset` incorrecto: -1 no es un número entero ≥ 0; una llamada tiene esta forma: {",
        "código de salida 3: last",
        "no existe la herramienta `unknown`",
        "`a.txt` no contiene `oldText` (0 coincidencias); hay que leer el archivo de nuevo",
        "`a.txt` tiene `oldText` 2 veces (líneas 1, 1); hay que añadir líneas alrededor",
        "`a.txt` queda igual: `oldText` y `newText` son iguales",
        "`d` es un directorio, y solo se eliminan archivos",
        "`127.0.0.1` es una dirección de bucle local; solo se llega a direcciones públicas; una persona puede",
    ] {
        assert!(output.stderr.contains(spanish), "{spanish} is not in {output}");
    }
    let last = scene.server.requests().last().unwrap().transcript().join("\n");
    assert!(last.contains("there is no tool `unknown`") && !last.contains("no existe"), "{last}");
}
