//! Shows a page of the documentation to a person: rendered for the terminal, in the person's pager if it is longer than
//! the screen.
//!
//! A pipe or a file gets the page as it is, in Markdown. A pager that is missing, or that is left early, is not an error.

use std::fs::File;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use ibeam_tui::{Line, document_lines};
use tokio::signal::unix::{SignalKind, signal};

use ibeam_agent::environment::variable;
use ibeam_agent::programs::Programs;
use ibeam_conversation::stated_palette;

/// The width of a terminal that does not report it.
const DEFAULT_COLUMNS: usize = 80;
/// The smallest width for which a page is rendered.
const MIN_COLUMNS: usize = 20;
/// The exit codes of a shell that cannot start the command.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Shows a page in Markdown on `stdout`.
///
/// # Errors
/// The system's error if stdout cannot be written.
pub(crate) fn show(stdout: &mut File, page: &str) -> io::Result<()> {
    if !rustix::termios::isatty(&*stdout) {
        return stdout.write_all(page.as_bytes());
    }
    let size = rustix::termios::tcgetwinsize(&*stdout).ok();
    let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    let (columns, rows) = size.filter(|size| size.0 > 0).unwrap_or((DEFAULT_COLUMNS, 0));
    let lines = document_lines(page, columns.max(MIN_COLUMNS));
    let is_dumb = variable("TERM").is_none_or(|name| name == "dumb");
    let text = encode(&lines, is_dumb);
    let height: usize = lines.iter().map(|line| line.width().div_ceil(columns).max(1)).sum();
    // The row of the shell's prompt is needed too. A terminal without a number of rows shows no screen.
    let is_long = rows > 0 && height >= rows;
    if is_long && !is_dumb && page_through(stdout, &text).is_some() {
        return Ok(());
    }
    stdout.write_all(text.as_bytes())
}

/// Returns the text of the lines; without control sequences for a terminal that knows none.
fn encode(lines: &[Line], is_dumb: bool) -> String {
    let palette = stated_palette();
    let mut text = String::new();
    for line in lines {
        match is_dumb {
            true => text.push_str(&line.text()),
            false => line.encode(&mut text, palette),
        }
        text.push('\n');
    }
    text
}

/// Shows a text in the pager, and waits until the person leaves it; `None` if there is no pager.
fn page_through(stdout: &File, text: &str) -> Option<()> {
    let mut pager = pager()?;
    pager.stdin(Stdio::piped()).stdout(stdout.try_clone().ok()?);
    // Ctrl-C is for the pager. The handler stays when the listener is dropped, and the pager does not inherit it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let _guard = runtime.enter();
    drop(signal(SignalKind::interrupt()).ok()?);
    let mut process = pager.spawn().ok()?;
    if let Some(mut stdin) = process.stdin.take() {
        // A person who has read enough leaves the pager before the end.
        let _ = stdin.write_all(text.as_bytes());
    }
    let code = process.wait().ok()?.code();
    code.is_none_or(|code| !NOT_STARTED.contains(&code)).then_some(())
}

/// Returns the command of `$PAGER`, by default `less` if it is installed; `None` if the person wants none.
fn pager() -> Option<Command> {
    let mut command = match std::env::var("PAGER") {
        Ok(line) if matches!(line.trim(), "" | "cat") => return None,
        Ok(line) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &line]).env("PATH", Programs::outside_working_directory().path());
            shell
        }
        Err(_) => Programs::outside_working_directory().command("less")?,
    };
    // As git does: with colours, without a second screen, and without waiting at the end of a short page. The page is
    // UTF-8 in any locale.
    for (name, value) in [("LESS", "FRX"), ("LESSCHARSET", "utf-8"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    Some(command)
}
