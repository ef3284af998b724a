//! Packs the model table into the program: lines of fields instead of JSON, in compressed blocks of one provider, so that a
//! run decompresses only the block of its model.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

#[path = "src/request_rules.rs"]
#[allow(dead_code, unreachable_pub, reason = "the crate uses the rest")]
mod request_rules;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use request_rules::RequestRule;
use serde_json::Value;

/// The largest size of a block before compression, in bytes: a compromise between the size of the program and the time to
/// find a model.
const BLOCK_BYTES: usize = 8 * 1024;

/// The abilities, in the order of their characters in a line.
const ABILITIES: [&str; 5] = ["tools", "images", "documents", "reasoning", "structured_output"];

/// The levels of reasoning, in the order of their digits from 0.
const LEVELS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

fn main() -> Result<(), Box<dyn Error>> {
    let data = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("data");
    let table = data.join("models.jsonl");
    let sources = data.join("sources.json");
    for path in [&table, &sources] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let mut blocks: Vec<Block> = Vec::new();
    for line in fs::read_to_string(&table)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        add_row(&mut blocks, &row).ok_or_else(|| format!("a field is missing: {line}"))?;
    }
    let sources: Value = serde_json::from_str(&fs::read_to_string(&sources)?)?;
    let date = sources.get("read").and_then(Value::as_str).ok_or("`read` is missing in sources.json")?;

    let (mut bytes, mut index) = (Vec::new(), String::new());
    writeln!(
        index,
        "/// The day on which the sources of the table were read.\npub const TABLE_DATE: &str = {date:?};"
    )?;
    writeln!(index, "const BLOCKS: [Block; {}] = [", blocks.len())?;
    for Block { provider, first_id, is_retired, text } in &blocks {
        let start = bytes.len();
        let mut encoder = DeflateEncoder::new(&mut bytes, Compression::best());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()?;
        let (end, size) = (bytes.len(), text.len());
        writeln!(
            index,
            "    Block {{ provider: {provider:?}, first_id: {first_id:?}, is_retired: {is_retired}, start: {start}, \
             end: {end}, size: {size} }},"
        )?;
    }
    index.push_str("];\n");
    let out = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("models.deflate"), bytes)?;
    fs::write(Path::new(&out).join("model_blocks.rs"), index)?;
    Ok(())
}

/// Lines of one provider.
struct Block {
    provider: String,
    first_id: String,
    is_retired: bool,
    text: String,
}

/// Appends the line of a row to its block. The rows of a provider are sorted by id; current models come first.
fn add_row(blocks: &mut Vec<Block>, row: &Value) -> Option<()> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let (provider, id) = (row.get("provider")?.as_str()?, row.get("id")?.as_str()?);
    let is_retired = row.get("source").is_none();
    let line = match is_retired {
        true => format!("{id}\t{}\t{}\n", text("retires"), text("successor")),
        false => current_line(id, row),
    };
    let fits = |block: &&mut Block| {
        block.provider == provider
            && block.is_retired == is_retired
            && block.text.len() + line.len() <= BLOCK_BYTES
    };
    match blocks.last_mut().filter(fits) {
        Some(block) => block.text.push_str(&line),
        None => blocks.push(Block {
            provider: provider.to_owned(),
            first_id: id.to_owned(),
            is_retired,
            text: line,
        }),
    }
    Some(())
}

/// Returns the fields of a row, separated by tabs. `model_table/row.rs` reads them.
fn current_line(id: &str, row: &Value) -> String {
    let text = |name: &str| row.pointer(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number =
        |name: &str| row.get(name).and_then(Value::as_u64).map(|n| n.to_string()).unwrap_or_default();
    let has = |list: &str, ability: &str| {
        row.get(list).and_then(Value::as_array).is_some_and(|list| list.iter().any(|word| word == ability))
    };
    let abilities = ABILITIES.iter().map(|ability| match (has("has", ability), has("lacks", ability)) {
        (true, _) => '+',
        (false, true) => '-',
        (false, false) => '?',
    });
    let tiers = row.get("tiers").and_then(Value::as_array).into_iter().flatten();
    let tiers: Vec<String> = tiers.map(|tier| format!("{}:{}", tier["above"], prices(Some(tier)))).collect();
    // A character for each word of a list.
    let packed = |name: &str, words: &[&str], first: u8| -> Option<String> {
        let list = row.pointer(name).and_then(Value::as_array)?.iter();
        let positions = list.filter_map(|word| words.iter().position(|known| word == known));
        Some(positions.map(|position| char::from(first + position as u8)).collect())
    };
    let levels = packed("/thinking/levels", &LEVELS, b'0').map(|levels| format!("={levels}"));
    let is_bound = row.pointer("/thinking/bound").and_then(Value::as_bool).unwrap_or(false);
    let fields = [
        id.to_owned(),
        text("/label"),
        number("context_window"),
        number("max_output_tokens"),
        prices(row.get("prices")),
        tiers.join(";"),
        number("batch_percent"),
        number("max_images"),
        abilities.collect(),
        text("/wire"),
        text("/cache"),
        text("/schema"),
        packed("/rules", &RequestRule::ALL.map(RequestRule::as_str), b'a').unwrap_or_default(),
        text("/instruction_role"),
        text("/thinking/form"),
        text("/thinking/off"),
        levels.unwrap_or_default(),
        text("/thinking/default"),
        if is_bound { "bound".to_owned() } else { String::new() },
        text("/retires"),
        text("/successor"),
    ];
    fields.join("\t") + "\n"
}

/// Returns `INPUT/OUTPUT/CACHE_READ/CACHE_WRITE`; empty if the prices are unknown.
fn prices(prices: Option<&Value>) -> String {
    let Some(prices) = prices else { return String::new() };
    let fields = ["input", "output", "cache_read", "cache_write"].map(|name| match prices.get(name) {
        Some(price) => price.to_string(),
        None => String::new(),
    });
    fields.join("/")
}
