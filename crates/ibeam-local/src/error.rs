//! What can go wrong between a model file and its text.

use std::path::PathBuf;

/// A failure of the embedded model.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// No model is installed there: run the set-up.
    #[error("the embedded model is not installed: `{}` does not exist", path.display())]
    NotInstalled {
        /// Where the file was looked for.
        path: PathBuf,
    },
    /// The file exists but cannot be read.
    #[error("cannot read the model file `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a model that this engine runs: fetch the right one.
    #[error("`{}` is not a usable model file: {reason}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Which property is missing or wrong.
        reason: String,
    },
    /// The conversation does not fit: start a new one, or use a model with more room.
    #[error("the conversation needs {needed} tokens and the embedded model has room for {room}")]
    ContextFull {
        /// Tokens asked for.
        needed: usize,
        /// Tokens that fit.
        room: usize,
    },
    /// The inference library failed; a defect, or memory ran out.
    #[error("inference failed: {}", first_line(.0))]
    Inference(#[from] candle_core::Error),
    /// The text cannot be turned into tokens; a defect of the tokenizer.
    #[error("cannot tokenize: {0}")]
    Tokenize(String),
}

/// What the inference library says, without the backtrace that it appends when one is asked for.
pub(crate) fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
