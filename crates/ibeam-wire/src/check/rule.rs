//! The rules by name. Names are stable: programs may tell findings apart by them.

use std::fmt;

macro_rules! rules {
    ($($rule:ident $name:literal $meaning:literal,)*) => {
        /// A rule of the contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $meaning] $rule,)*
        }

        impl Rule {
            /// Every rule, in the order of docs/check.md.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// Its stable name in kebab-case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)*
                }
            }

            /// What it demands: one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$rule => $meaning,)*
                }
            }
        }
    };
}

rules! {
    Empty "empty" "There is something.",
    NotUtf8 "not-utf-8" "A line is UTF-8.",
    ByteOrderMark "byte-order-mark" "The first line begins with its object, not with a byte order mark.",
    NotJson "not-json" "A line is JSON.",
    NotAnObject "not-an-object" "A line is one object.",
    TooDeep "too-deep" "JSON is nested at most 512 deep.",
    LineTooLong "line-too-long" "A line has at most 1 GiB.",
    EmptyLine "empty-line" "No line is empty.",
    CarriageReturn "carriage-return" "Lines end with `\\n` alone.",
    NoLineEnd "no-line-end" "The last line has its end.",
    BareControl "bare-control" "U+007F to U+009F, U+2028 and U+2029 are escaped.",
    DuplicateKey "duplicate-key" "No key stands twice in an object.",
    MissingKey "missing-key" "Every key that is promised is there.",
    WrongType "wrong-type" "A value has the type of its key; what may be absent is never `null`.",
    WrongValue "wrong-value" "A value is one of those that its key may have.",
    UnknownValue "unknown-value" "A word is known to this version.",
    UnknownEvent "unknown-event" "An event is known to this version.",
    UnknownTool "unknown-tool" "The key of a tool is known to this version.",
    UnknownArm "unknown-arm" "The arm of a result is known to this version.",
    KeyOrder "key-order" "Keys stand in their order.",
    Thinking "thinking" "The model's thinking is not printed.",
    InitNotFirst "init-not-first" "The first event is `system`/`init`.",
    InitAgain "init-again" "`system`/`init` comes once.",
    UserNotSecond "user-not-second" "The second event is `user`.",
    UserAgain "user-again" "`user` comes once.",
    NoEnd "no-end" "The last event is `result` or `error`.",
    EndAgain "end-again" "The run ends once.",
    LateOutput "late-output" "Nothing follows the end.",
    SessionChanged "session-changed" "`session_id` is the same in every event.",
    OneTool "one-tool" "`tool_call` has exactly one key, which names the tool.",
    OneArm "one-arm" "A result has exactly one arm.",
    WrongArm "wrong-arm" "An arm belongs to its tool.",
    EarlyResult "early-result" "A call that begins has no result yet.",
    CallIdDiffers "call-id-differs" "`toolCallId` is the `call_id` of its event.",
    CallStartedTwice "call-started-twice" "A call begins once.",
    CallNotStarted "call-not-started" "A call that completes has begun.",
    CallCompletedTwice "call-completed-twice" "A call completes once.",
    CallChanged "call-changed" "A call completes as it began: tool, arguments, `model_call_id`.",
    CallNotCompleted "call-not-completed" "Every call is completed before the end.",
    TooManyOpenCalls "too-many-open-calls" "At most 1024 calls are open at once.",
    ResultDiffers "result-differs" "`result` is the texts of the `assistant` events, put together.",
    FinalDiffers "final-differs" "`ibeam.final` is the text after the last call, and the end of `result`; a run that failed has none.",
    SegmentForm "segment-form" "Under contract 2, an `assistant` event with `model_call_id` has `timestamp_ms`.",
    SegmentDiffers "segment-differs" "Under contract 2, a segment repeats the deltas before it.",
    SegmentMissing "segment-missing" "Under contract 2, deltas are followed by their segment before a call begins or the run ends.",
    SegmentMisplaced "segment-misplaced" "Under contract 2, a segment with `model_call_id` stands right before a call of that answer, one without right before the end.",
    MixedForms "mixed-forms" "Under contract 2, all segments have deltas or none has.",
    DurationsDiffer "durations-differ" "`duration_api_ms` equals `duration_ms`.",
    ExitCodeDiffers "exit-code-differs" "`exit_code` and `retryable` are those of `code`.",
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The contract is broken.
    Error,
    /// A reader should know; the contract is kept.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Rule {
    /// What a breach of it weighs; `ours` is a stream that has the object `ibeam`.
    pub fn severity(self, ours: bool) -> Severity {
        match self {
            // The contract grows, and its readers pass over what they do not know.
            Self::UnknownValue | Self::UnknownEvent | Self::UnknownTool | Self::UnknownArm => {
                Severity::Warning
            }
            // JSON has no order, escapes are ours, and a published sample gets its own `result` wrong.
            Self::KeyOrder | Self::BareControl | Self::ResultDiffers if !ours => Severity::Warning,
            // Releases of the original program differ in when they flush what.
            Self::SegmentForm
            | Self::SegmentDiffers
            | Self::SegmentMissing
            | Self::SegmentMisplaced
            | Self::MixedForms
                if !ours =>
            {
                Severity::Warning
            }
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
