//! The values of flags that accept a few words.

use clap::ValueEnum;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line per action, then the final message
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per event, as it happens
    StreamJson,
    /// One page to read (`ibeam replay`)
    #[value(hide = true)]
    Html,
    /// Spans of OpenTelemetry as OTLP/JSON (`ibeam replay`)
    #[value(hide = true)]
    Otlp,
    /// One trajectory in the format ATIF, at the end
    Atif,
}

impl Format {
    /// Whether all recorded runs are one document.
    pub(crate) fn is_export(self) -> bool {
        match self {
            Self::Text | Self::Json | Self::StreamJson => false,
            Self::Html | Self::Otlp | Self::Atif => true,
        }
    }

    /// Whether a run can have the format; the others are for recorded runs only.
    pub(crate) fn is_for_runs(self) -> bool {
        match self {
            Self::Text | Self::Json | Self::StreamJson | Self::Atif => true,
            Self::Html | Self::Otlp => false,
        }
    }

    /// Returns the value of `--output-format`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::StreamJson => "stream-json",
            Self::Html => "html",
            Self::Otlp => "otlp",
            Self::Atif => "atif",
        }
    }
}

/// The form of the prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// One prompt: the arguments and stdin
    #[default]
    Text,
    /// A message on each line of stdin, and a turn for each
    StreamJson,
}

/// The mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Work on the task
    #[value(alias = "default")]
    Agent,
    /// Read only; end with a plan
    Plan,
    /// Read only; answer a question
    Ask,
}

/// Whether a feature is on, as the value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// On
    Enabled,
    /// Off
    Disabled,
}

/// The handling of stdin when a prompt is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdin {
    /// Read what is there; do not wait for a silent pipe
    #[default]
    Auto,
    /// Read it to its end
    Read,
    /// Do not read it
    Ignore,
}

/// The format of the error on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorFormat {
    /// `error:` and `hint:` lines
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// A condition that makes a completed run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// A call was refused
    Denied,
    /// A call failed
    ToolError,
    /// No text was given
    Empty,
    /// A background command still ran at the end
    Background,
    /// Something was lost (`ibeam convert`)
    #[value(hide = true)]
    Loss,
}

/// The policy for background commands when the answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackgroundArg {
    /// Stop them
    Stop,
    /// Wait for them
    Wait,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}
