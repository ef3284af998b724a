//! The classes of failures: the code, the exit code, and what a program may do after such a failure.
//!
//! See "Failure" in `docs/output-format.md`.

use crate::failure::Signal;

/// The class of a failure, with one token and one exit code. See "Failure" in `docs/output-format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    /// 1
    Failed,
    /// 2
    Usage,
    /// 3
    Denied,
    /// 20
    Auth,
    /// 21
    Model,
    /// 22
    Request,
    /// 23
    Context,
    /// 24
    RateLimited,
    /// 25
    Provider,
    /// 26
    Network,
    /// 27
    Tls,
    /// 28
    Stalled,
    /// 30
    Limit,
    /// 31
    Empty,
    /// 32
    Refused,
    /// 33
    Timeout,
    /// 40
    Sandbox,
    /// 41
    Untrusted,
    /// 64
    TooLarge,
    /// 65
    Data,
    /// 66
    NoInput,
    /// 70
    Internal,
    /// 71
    Os,
    /// 73
    CantCreate,
    /// 74
    Io,
    /// 75
    Busy,
    /// 78
    Config,
    /// 79
    Parked,
    /// 128 + the signal's number
    Signal(Signal),
}

impl FailureCode {
    /// All classes, by exit code.
    pub const ALL: [Self; 32] = [
        Self::Failed,
        Self::Usage,
        Self::Denied,
        Self::Auth,
        Self::Model,
        Self::Request,
        Self::Context,
        Self::RateLimited,
        Self::Provider,
        Self::Network,
        Self::Tls,
        Self::Stalled,
        Self::Limit,
        Self::Empty,
        Self::Refused,
        Self::Timeout,
        Self::Sandbox,
        Self::Untrusted,
        Self::TooLarge,
        Self::Data,
        Self::NoInput,
        Self::Internal,
        Self::Os,
        Self::CantCreate,
        Self::Io,
        Self::Busy,
        Self::Config,
        Self::Parked,
        Self::Signal(Signal::Hup),
        Self::Signal(Signal::Int),
        Self::Signal(Signal::Quit),
        Self::Signal(Signal::Term),
    ];

    /// Returns the token, the exit code and the other properties of the class.
    const fn class(self) -> Class {
        match self {
            Self::Failed => Class::new("failed", 1),
            Self::Usage => Class::new("usage", 2),
            Self::Denied => Class::new("denied", 3),
            Self::Auth => Class::new("auth", 20),
            Self::Model => Class::new("model", 21),
            Self::Request => Class::new("request", 22),
            Self::Context => Class::new("context", 23),
            Self::RateLimited => Class::new("rate_limited", 24).retryable(),
            Self::Provider => Class::new("provider", 25).retryable(),
            Self::Network => Class::new("network", 26).retryable(),
            Self::Tls => Class::new("tls", 27),
            Self::Stalled => Class::new("stalled", 28).retryable(),
            Self::Limit => Class::new("limit", 30),
            Self::Empty => Class::new("empty", 31).retryable(),
            Self::Refused => Class::new("refused", 32),
            Self::Timeout => Class::new("timeout", 33),
            Self::Sandbox => Class::new("sandbox", 40),
            Self::Untrusted => Class::new("untrusted", 41),
            Self::TooLarge => Class::new("too_large", 64),
            Self::Data => Class::new("data", 65).not_resumable(),
            Self::NoInput => Class::new("noinput", 66),
            Self::Internal => Class::new("internal", 70),
            Self::Os => Class::new("os", 71),
            Self::CantCreate => Class::new("cantcreat", 73).not_resumable(),
            Self::Io => Class::new("io", 74),
            Self::Busy => Class::new("busy", 75).retryable(),
            Self::Config => Class::new("config", 78),
            Self::Parked => Class::new("parked", 79),
            Self::Signal(Signal::Hup) => Class::new("signal", 129),
            Self::Signal(Signal::Int) => Class::new("signal", 130),
            Self::Signal(Signal::Quit) => Class::new("signal", 131),
            Self::Signal(Signal::Term) => Class::new("signal", 143),
        }
    }

    /// Returns the token on the wire.
    pub fn as_str(self) -> &'static str {
        self.class().token
    }

    /// Returns the exit code of the process.
    pub fn exit_code(self) -> u8 {
        self.class().exit_code
    }

    /// Whether the session of a run that ended with this class can be resumed.
    pub fn is_resumable(self) -> bool {
        self.class().is_resumable
    }

    /// Whether the same run may succeed later, unchanged.
    pub fn is_retryable(self) -> bool {
        self.class().is_retryable
    }
}

/// The properties of a class of failures.
#[derive(Clone, Copy)]
struct Class {
    token: &'static str,
    exit_code: u8,
    is_retryable: bool,
    is_resumable: bool,
}

impl Class {
    const fn new(token: &'static str, exit_code: u8) -> Self {
        Self { token, exit_code, is_retryable: false, is_resumable: true }
    }

    const fn retryable(self) -> Self {
        Self { is_retryable: true, ..self }
    }

    /// Returns the class for failures after which the session cannot be resumed, because it was not written.
    const fn not_resumable(self) -> Self {
        Self { is_resumable: false, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_classes_is_in_the_order_of_the_exit_codes_without_a_gap() {
        let codes: Vec<u8> = FailureCode::ALL.iter().map(|code| code.exit_code()).collect();
        assert!(codes.is_sorted() && codes.windows(2).all(|pair| pair[0] != pair[1]), "{codes:?}");
    }
}
