//! The rules and their names. Names are stable, because programs distinguish findings by the name of the rule.

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

            /// Returns the stable name in kebab-case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)*
                }
            }

            /// Returns the requirement of the rule: one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$rule => $meaning,)*
                }
            }
        }
    };
}

rules! {
    Empty "empty" "The input is not empty.",
    NotUtf8 "not-utf-8" "Each line is UTF-8.",
    ByteOrderMark "byte-order-mark" "The first line starts with its object, not with a byte order mark.",
    NotJson "not-json" "Each line is JSON.",
    NotAnObject "not-an-object" "Each line is one object.",
    TooDeep "too-deep" "JSON is nested at most 512 levels deep.",
    LineTooLong "line-too-long" "Each line is at most 1 GiB long.",
    EmptyLine "empty-line" "No line is empty.",
    CarriageReturn "carriage-return" "Lines end with `\\n` alone.",
    NoLineEnd "no-line-end" "The last line ends with `\\n`.",
    BareControl "bare-control" "U+007F to U+009F, U+2028 and U+2029 are escaped.",
    DuplicateKey "duplicate-key" "No key occurs twice in an object.",
    MissingKey "missing-key" "Every required key is present.",
    WrongType "wrong-type" "A value has the type of its key; an optional value is absent, never `null`.",
    WrongValue "wrong-value" "A value is one that its key allows.",
    UnknownValue "unknown-value" "This version knows the value.",
    UnknownEvent "unknown-event" "This version knows the event.",
    UnknownTool "unknown-tool" "This version knows the key of the tool.",
    UnknownArm "unknown-arm" "This version knows the arm of the result.",
    KeyOrder "key-order" "Keys are in the documented order.",
    Thinking "thinking" "The stream does not contain the thinking of the model.",
    InitNotFirst "init-not-first" "The first event is `system`/`init`.",
    InitAgain "init-again" "`system`/`init` occurs once.",
    UserNotSecond "user-not-second" "The second event is `user`.",
    UserAgain "user-again" "`user` occurs once, except in a stream with several turns.",
    NoEnd "no-end" "The last event is `result` or `error`.",
    EndAgain "end-again" "The run ends once, and so does each turn.",
    LateOutput "late-output" "Nothing follows the end of the run; between two turns only `user` follows.",
    SessionChanged "session-changed" "`session_id` is the same in every event.",
    OneTool "one-tool" "`tool_call` has exactly one key, which names the tool.",
    OneArm "one-arm" "A result has exactly one arm.",
    WrongArm "wrong-arm" "An arm belongs to its tool.",
    EarlyResult "early-result" "A call that starts has no result yet.",
    CallIdDiffers "call-id-differs" "`toolCallId` is the `call_id` of its event.",
    CallStartedTwice "call-started-twice" "A call starts only once.",
    CallNotStarted "call-not-started" "A call that completes has started.",
    CallCompletedTwice "call-completed-twice" "A call completes only once.",
    CallChanged "call-changed" "A call completes with the tool, arguments and `model_call_id` that it started with.",
    CallNotCompleted "call-not-completed" "Every call completes before the end of the run.",
    TooManyOpenCalls "too-many-open-calls" "At most 1024 calls are open at the same time.",
    ResultDiffers "result-differs" "`result` is the concatenation of the texts of the `assistant` events.",
    FinalDiffers "final-differs" "`ibeam.final` is the text after the last call and the end of `result`; a failed run has none.",
    SegmentForm "segment-form" "Under contract 2, an `assistant` event with `model_call_id` has `timestamp_ms`.",
    SegmentDiffers "segment-differs" "Under contract 2, a segment repeats the deltas before it.",
    SegmentMissing "segment-missing" "Under contract 2, a segment follows its deltas before the next call starts or the run ends.",
    SegmentMisplaced "segment-misplaced" "Under contract 2, a segment with `model_call_id` is right before a call of the same response, and one without it is right before the end.",
    MixedForms "mixed-forms" "Under contract 2, either all segments have deltas or none.",
    DurationsDiffer "durations-differ" "`duration_api_ms` equals `duration_ms`.",
    ExitCodeDiffers "exit-code-differs" "`exit_code` and `retryable` belong to `code`.",
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The stream breaks the contract.
    Error,
    /// The stream follows the contract, but a reader should know of the finding.
    Warning,
}

impl Severity {
    /// Returns `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Rule {
    /// Returns the severity of a breach. `is_from_ibeam`: whether the stream has the object `ibeam`.
    pub fn severity(self, is_from_ibeam: bool) -> Severity {
        match self {
            // Later versions add to the contract, and readers ignore unknown additions.
            Self::UnknownValue | Self::UnknownEvent | Self::UnknownTool | Self::UnknownArm => {
                Severity::Warning
            }
            // The keys of JSON have no order, and only ibeam promises the escapes. A sample on the published page has a
            // wrong `result`.
            Self::KeyOrder | Self::BareControl | Self::ResultDiffers if !is_from_ibeam => Severity::Warning,
            // The releases of the Cursor CLI print different deltas and segments.
            Self::SegmentForm
            | Self::SegmentDiffers
            | Self::SegmentMissing
            | Self::SegmentMisplaced
            | Self::MixedForms
                if !is_from_ibeam =>
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
