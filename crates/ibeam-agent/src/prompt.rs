//! The prompt: words of the command line, stdin, or both.
//!
//! Implements "Prompt and stdin" of `docs/output-format.md`. Every wait has a timeout: for the first byte (short if
//! there is a prompt already, longer otherwise) and between bytes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use ibeam_protocol::{Notice, Reason};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};

/// The longest prompt on stdin, in bytes. No model accepts that much.
const MAX_BYTES: usize = 16 << 20;

/// The longest wait for a socket on stdin if there is a prompt already. Some programs start child processes with a
/// socket to which they never write.
const SOCKET_TIMEOUT: Duration = Duration::from_millis(100);

/// The handling of stdin when a prompt is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StdinUse {
    /// Read what is there; do not wait for a silent pipe.
    #[default]
    Auto,
    /// Read it to its end.
    Read,
    /// Do not read it.
    Ignore,
}

#[derive(Clone, Copy, Debug)]
pub struct StdinTimeouts {
    /// The longest silence between two bytes, and before the first where stdin is the prompt.
    pub silence: Duration,
    /// The longest wait for the first byte of a pipe if there is a prompt already.
    pub context: Duration,
}

/// The text blocks of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The prompt, then the piped context, where there is some.
    pub blocks: Vec<String>,
    /// Set when stdin stayed silent.
    pub notice: Option<Notice>,
}

/// Returns the prompt from `words` and stdin.
///
/// # Errors
/// `EmptyPrompt`, `NotText` with the name of the argument, `StdinSilent`, `InputTooLarge`, `NoInput`, `Io`.
pub fn read_prompt(words: &[OsString], mode: StdinUse, timeouts: StdinTimeouts) -> Result<Prompt, Reason> {
    let dash = words.len() == 1 && words.first().is_some_and(|word| word == "-");
    let words = if dash { &[] } else { words };
    let mode = if dash { StdinUse::Read } else { mode };
    let text = join_words(words)?;
    let (piped, notice) = match mode {
        StdinUse::Ignore => (None, None),
        StdinUse::Auto | StdinUse::Read => read_stdin(text.is_some(), mode == StdinUse::Read, timeouts)?,
    };
    let blocks: Vec<String> = [text, piped].into_iter().flatten().collect();
    if blocks.iter().all(|block| block.trim().is_empty()) {
        return Err(Reason::EmptyPrompt);
    }
    Ok(Prompt { blocks, notice })
}

/// Whether the words alone are a prompt.
pub fn has_text(words: &[OsString]) -> bool {
    let blank = |word: &OsString| word.to_str().is_some_and(|word| word.trim().is_empty() || word == "-");
    !words.iter().all(blank)
}

fn join_words(words: &[OsString]) -> Result<Option<String>, Reason> {
    if words.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let what = || Reason::NotText { what: format!("argument {} of the prompt", index + 1) };
        let word = word.to_str().filter(|word| !word.contains('\0')).ok_or_else(what)?;
        if index > 0 {
            text.push(' ');
        }
        text.push_str(word);
    }
    Ok(Some(text))
}

/// Returns the text of stdin: `None` when it is empty, with a notice when it stayed silent.
///
/// # Errors
/// The errors of [`read_prompt`].
fn read_stdin(
    has_prompt: bool,
    reads_to_end: bool,
    timeouts: StdinTimeouts,
) -> Result<(Option<String>, Option<Notice>), Reason> {
    let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
    let stdin = io::stdin();
    let Ok(stat) = fstat(stdin.as_fd()) else { return Ok((None, None)) };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if rustix::termios::isatty(stdin.as_fd()) && !reads_to_end {
        return Ok((None, None));
    }
    if kind == FileType::Directory {
        return Err(Reason::NoInput { path: "stdin".to_owned(), detail: "it is a directory".to_owned() });
    }
    let first = match (has_prompt && !reads_to_end, kind == FileType::Socket) {
        (true, true) => Some(SOCKET_TIMEOUT.min(timeouts.context)),
        (true, false) => Some(timeouts.context),
        (false, _) => (!reads_to_end).then_some(timeouts.silence),
    };
    let mut file = File::from(stdin.as_fd().try_clone_to_owned().map_err(failed)?);
    let mut bytes = Vec::new();
    let mut wait = first;
    loop {
        if let Some(timeout) = wait
            && !wait_readable(&file, timeout).map_err(failed)?
        {
            return match (bytes.is_empty(), has_prompt) {
                (true, true) => {
                    let waited_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                    Ok((None, Some(Notice::StdinIgnored { waited_ms })))
                }
                (true, false) | (false, _) => Err(Reason::StdinSilent {
                    waited_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
                }),
            };
        }
        let mut chunk = [0; 64 * 1024];
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
        if bytes.len() > MAX_BYTES {
            return Err(Reason::InputTooLarge { what: "stdin".to_owned(), limit_bytes: MAX_BYTES as u64 });
        }
        wait = (!reads_to_end).then_some(timeouts.silence);
    }
    if bytes.is_empty() {
        return Ok((None, None));
    }
    let not_text = || Reason::NotText { what: "stdin".to_owned() };
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(not_text)?;
    // Programs on Windows begin a text with a byte order mark.
    let text = text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned);
    Ok((Some(text), None))
}

/// Waits until there is something to read or the other end has closed. Returns false at the timeout.
fn wait_readable(file: &File, timeout: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
