//! The colours for the background of the terminal, as far as the terminal or its variables state it.
//!
//! The terminal is asked for its background (OSC 11), and then what it is (DA1), which practically every terminal answers
//! at once. So one that does not know the first question costs no wait. What is typed meanwhile is returned.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use ibeam_tui::{Palette, Rgb};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;

use ibeam_agent::environment::variable;

/// The longest wait for the answers. Later ones would be read as keys, so it is longer than a slow connection needs.
const TIMEOUT: Duration = Duration::from_millis(400);
/// Asks for the background, and for the kind of terminal.
const QUESTIONS: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
/// The start of the answer about the background.
const BACKGROUND: &[u8] = b"\x1b]11;";
/// The start of the answer about the kind of terminal.
const KIND: &[u8] = b"\x1b[?";
/// The largest number of bytes that are read.
const MAX_BYTES: usize = 4096;

/// Returns the colours without asking the terminal: none unless `COLORFGBG` states the background.
pub fn stated_palette() -> Palette {
    match variable("COLORFGBG").filter(|_| variable("NO_COLOR").is_none()) {
        Some(value) => Palette::from_colorfgbg(&value),
        None => Palette::Monochrome,
    }
}

/// Asks the terminal, which is in raw mode and whose output is `terminal`. Returns the colours, and the text that was typed
/// meanwhile.
pub(crate) fn asked_palette(terminal: &File) -> (Palette, String) {
    let is_console = variable("TERM").as_deref() == Some("linux");
    // The answers would come after keys that were typed ahead.
    if variable("NO_COLOR").is_some() || is_console || is_readable(Duration::ZERO) {
        return (stated_palette(), String::new());
    }
    let mut terminal = terminal;
    if terminal.write_all(QUESTIONS).and_then(|()| terminal.flush()).is_err() {
        return (stated_palette(), String::new());
    }
    let answers = Answers::parse(&read_answers());
    let background = answers.background.as_deref().and_then(Rgb::from_answer);
    (background.map_or_else(stated_palette, Palette::for_background), answers.typed)
}

/// Whether the terminal has input, after a wait of at most `time`.
fn is_readable(time: Duration) -> bool {
    let Ok(wait) = Timespec::try_from(time) else { return false };
    let stdin = stdin();
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Reads until the last answer is complete, or the time is up.
fn read_answers() -> Vec<u8> {
    let (started, mut bytes) = (Instant::now(), Vec::new());
    while bytes.len() < MAX_BYTES && !Answers::parse(&bytes).is_complete {
        let left = TIMEOUT.saturating_sub(started.elapsed());
        if left.is_zero() || !is_readable(left) {
            break;
        }
        let mut buffer = [0; 256];
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
    bytes
}

/// The input of the terminal after the questions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    /// The background as the terminal writes it.
    background: Option<String>,
    /// Whether the last question is answered.
    is_complete: bool,
    /// The characters that are not part of an answer, without control characters.
    typed: String,
}

impl Answers {
    fn parse(bytes: &[u8]) -> Self {
        let (mut answers, mut typed, mut rest) = (Self::default(), Vec::new(), bytes);
        while let Some((first, after)) = rest.split_first() {
            if let Some(text) = rest.strip_prefix(BACKGROUND)
                && let Some(end) = text.iter().position(|byte| matches!(byte, 0x07 | 0x1b))
            {
                let (value, end) = text.split_at(end);
                answers.background = Some(String::from_utf8_lossy(value).into_owned());
                rest = end.strip_prefix(b"\x1b\\").or_else(|| end.strip_prefix(b"\x07")).unwrap_or_default();
            } else if let Some(text) = rest.strip_prefix(KIND)
                && let Some(end) = text.iter().position(u8::is_ascii_alphabetic)
            {
                answers.is_complete |= text.get(end) == Some(&b'c');
                rest = text.get(end + 1..).unwrap_or_default();
            } else {
                typed.push(*first);
                rest = after;
            }
        }
        let typed = String::from_utf8_lossy(&typed);
        answers.typed =
            typed.chars().filter(|c| !c.is_control() && *c != char::REPLACEMENT_CHARACTER).collect();
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, background: Option<&str>, is_complete: bool, typed: &str) {
        let expect =
            Answers { background: background.map(str::to_owned), is_complete, typed: typed.to_owned() };
        assert_eq!(Answers::parse(input.as_bytes()), expect, "{input:?}");
    }

    #[test]
    fn answers_are_separated_from_typed_text() {
        let white = "rgb:ffff/ffff/ffff";
        check(&format!("\x1b]11;{white}\x1b\\\x1b[?62;22c"), Some(white), true, "");
        check(&format!("\x1b]11;{white}\x07\x1b[?6c"), Some(white), true, "");
        check("\x1b[?1;2c", None, true, "");
        check("hé\x1b[?1;2cllo\r", None, true, "héllo");
        check("", None, false, "");
        check("\x1b[?62;", None, false, "[?62;");
        check("abc", None, false, "abc");
    }
}
