//! The prompt: words of the command line, stdin, or both. It never hangs.
//!
//! Contract section 8. Every wait has a bound: for the first byte (short beside a prompt, longer without one)
//! and between bytes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use ibeam_protocol::{Notice, Reason};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};

use crate::cli::Stdin;

/// The longest prompt on stdin, in bytes; no model reads as much.
const LONGEST: usize = 16 << 20;

/// What a socket beside a prompt is waited for at most: programs that start children give them one and never
/// write to it.
const SOCKET_PATIENCE: Duration = Duration::from_millis(100);

/// How long stdin is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StdinTimeouts {
    /// The longest silence between two bytes, and before the first where stdin is the prompt.
    pub(crate) silence: Duration,
    /// What a shell's pipe may take to say its first byte beside a prompt.
    pub(crate) context: Duration,
}

/// The text blocks of the prompt and what is to be said about how they were had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// The prompt, then piped context where there is any.
    pub(crate) blocks: Vec<String>,
    /// stdin stayed silent.
    pub(crate) notice: Option<Notice>,
}

/// Puts the prompt together from `words` and the process's stdin.
///
/// # Errors
/// `EmptyPrompt`, `NotText` with the name of the argument, `StdinSilent`, `InputTooLarge`, `NoInput`, `Io`.
pub(crate) fn gather(words: &[OsString], how: Stdin, timeouts: StdinTimeouts) -> Result<Prompt, Reason> {
    let dash = words.len() == 1 && words.first().is_some_and(|word| word == "-");
    let words = if dash { &[] } else { words };
    let how = if dash { Stdin::Read } else { how };
    let spoken = join(words)?;
    let (piped, notice) = match how {
        Stdin::Ignore => (None, None),
        Stdin::Auto | Stdin::Read => read_stdin(spoken.is_some(), how == Stdin::Read, timeouts)?,
    };
    let blocks: Vec<String> = [spoken, piped].into_iter().flatten().collect();
    if blocks.iter().all(|block| block.trim().is_empty()) {
        return Err(Reason::EmptyPrompt);
    }
    Ok(Prompt { blocks, notice })
}

/// Whether the words alone are a prompt.
pub(crate) fn is_one(words: &[OsString]) -> bool {
    let blank = |word: &OsString| word.to_str().is_some_and(|word| word.trim().is_empty() || word == "-");
    !words.iter().all(blank)
}

fn join(words: &[OsString]) -> Result<Option<String>, Reason> {
    if words.is_empty() {
        return Ok(None);
    }
    let mut spoken = String::new();
    for (index, word) in words.iter().enumerate() {
        let what = || Reason::NotText { what: format!("argument {} of the prompt", index + 1) };
        let word = word.to_str().filter(|word| !word.contains('\0')).ok_or_else(what)?;
        if index > 0 {
            spoken.push(' ');
        }
        spoken.push_str(word);
    }
    Ok(Some(spoken))
}

/// Gives the text of stdin, `None` when there is none, or a notice when it was not waited for any longer.
fn read_stdin(
    beside_prompt: bool,
    to_the_end: bool,
    timeouts: StdinTimeouts,
) -> Result<(Option<String>, Option<Notice>), Reason> {
    let failed = |error: io::Error| Reason::Io { what: "stdin".to_owned(), detail: error.to_string() };
    let stdin = io::stdin();
    let Ok(stat) = fstat(stdin.as_fd()) else { return Ok((None, None)) };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if rustix::termios::isatty(stdin.as_fd()) && !to_the_end {
        return Ok((None, None));
    }
    if kind == FileType::Directory {
        return Err(Reason::NoInput { path: "stdin".to_owned(), detail: "it is a directory".to_owned() });
    }
    let first = match (beside_prompt && !to_the_end, kind == FileType::Socket) {
        (true, true) => Some(SOCKET_PATIENCE.min(timeouts.context)),
        (true, false) => Some(timeouts.context),
        (false, _) => (!to_the_end).then_some(timeouts.silence),
    };
    let mut file = File::from(stdin.as_fd().try_clone_to_owned().map_err(failed)?);
    let mut bytes = Vec::new();
    let mut wait = first;
    loop {
        if let Some(bound) = wait
            && !readable(&file, bound).map_err(failed)?
        {
            return match (bytes.is_empty(), beside_prompt) {
                (true, true) => {
                    let waited_ms = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
                    Ok((None, Some(Notice::StdinIgnored { waited_ms })))
                }
                (true, false) | (false, _) => Err(Reason::StdinSilent {
                    waited_ms: u64::try_from(bound.as_millis()).unwrap_or(u64::MAX),
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
        if bytes.len() > LONGEST {
            return Err(Reason::InputTooLarge { what: "stdin".to_owned(), limit_bytes: LONGEST as u64 });
        }
        wait = (!to_the_end).then_some(timeouts.silence);
    }
    if bytes.is_empty() {
        return Ok((None, None));
    }
    let not_text = || Reason::NotText { what: "stdin".to_owned() };
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(not_text)?;
    Ok((Some(text), None))
}

/// Waits until there is something to read or the other end has closed; false at the time-out.
fn readable(file: &File, bound: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + bound;
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
