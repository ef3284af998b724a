//! Describes the types of the contract as data, for the checker and the schema.
//!
//! [`contract_object!`] declares an object once: its keys in wire order, with name, meaning and values. The macro
//! generates the struct, its serialization in both directions, and its [`Object`]. This module does not read or write.

use crate::event::call_phase::CallPhase;

/// The set of valid values of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Any,
    Text,
    /// A whole number of 0 or more.
    Count,
    /// A whole number from the first to the last.
    Between(u64, u64),
    /// A whole number.
    Integer,
    /// A number of 0 or more.
    Amount,
    Flag,
    /// A flag that is written only if it is `true`.
    True,
    /// A flag that is always `false`.
    False,
    Uuid,
    AbsolutePath,
    /// The name of a contract. A schema allows only the name of the contract it describes.
    ContractName,
    /// The class of a failure.
    FailureCode,
    /// One of these values and no other.
    Enum(&'static [&'static str]),
    /// One of these values; later versions may add others.
    OpenEnum(&'static [&'static str]),
    AnyObject,
    Object(Description),
    /// An object whose key `.1` has the value `.2`.
    ObjectWithConst(Description, &'static str, &'static str),
    /// An object that the schema describes and whose keys the checker skips.
    UncheckedObject(Description),
    /// An object with any keys and values of this description, which the checker skips.
    UncheckedMap(Description),
    /// The object `tool_call`: one key that names the tool. The schema has one for each phase.
    ToolCall(Option<CallPhase>),
    List(&'static Shape),
    /// A list of one or more items.
    NonEmptyList(&'static Shape),
    /// A text, or a list of one or more items.
    TextOrNonEmptyList(&'static Shape),
}

/// A function that returns the description of an object. A constant is not possible, because the description of a
/// directory refers to itself.
pub(crate) type Description = fn() -> &'static Object;

/// An object of the contract.
#[derive(Debug)]
pub(crate) struct Object {
    /// The name in the schema.
    pub(crate) name: &'static str,
    /// The lines of the description.
    pub(crate) docs: &'static [&'static str],
    /// The value of the first key, `type`, if it distinguishes the object from others.
    pub(crate) tag: Option<&'static str>,
    /// The keys in wire order.
    pub(crate) keys: &'static [Key],
    /// The condition that its keys must meet together.
    pub(crate) constraint: Constraint,
}

/// A constraint between the keys of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Constraint {
    None,
    /// Exactly one of all keys is present.
    OneKey,
    /// Exactly one of these keys is present.
    OneOf(&'static [&'static str]),
    /// The first key requires the second.
    Requires(&'static str, &'static str),
}

/// A key of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: Shape,
    /// The lines of the description.
    pub(crate) docs: &'static [&'static str],
    /// The unit of a number; empty for other values.
    pub(crate) unit: &'static str,
    /// The regular expression of the schema for a text; empty for none.
    pub(crate) pattern: &'static str,
    /// Whether the key is missing on the published page.
    pub(crate) is_addition: bool,
}

impl Key {
    pub(crate) const fn new(
        name: &'static str,
        need: Need,
        shape: Shape,
        docs: &'static [&'static str],
    ) -> Self {
        Self { name, need, shape, docs, unit: "", pattern: "", is_addition: false }
    }
}

/// The streams in which a key must be present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Always,
    /// Required in streams of ibeam. The schema requires the key in all streams, because the schema distinguishes payloads
    /// by their keys.
    IbeamPayload,
    /// Required in streams of ibeam; missing on the published page.
    Ibeam,
    Optional,
}

/// A type of the contract's values.
pub(crate) trait Describe {
    const SHAPE: Shape;
}

/// An object of the contract, as a type.
pub(crate) trait DescribeObject {
    const OBJECT: Object;

    /// Returns the description.
    fn object() -> &'static Object {
        &Self::OBJECT
    }
}

macro_rules! describe {
    ($($type:ty: $shape:expr,)+) => {
        $(impl Describe for $type {
            const SHAPE: Shape = $shape;
        })+
    };
}

describe! {
    String: Shape::Text,
    bool: Shape::Flag,
    u64: Shape::Count,
    u16: Shape::Count,
    u8: Shape::Count,
    i32: Shape::Integer,
    f64: Shape::Amount,
    serde_json::Value: Shape::Any,
}

impl<T: Describe> Describe for Option<T> {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Describe> Describe for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}

/// A value that may be absent. Decides whether its key is written.
pub(crate) trait OptionalValue {
    /// Whether the value is `None`.
    fn is_missing(&self) -> bool;

    /// Whether the value means the same as the absence of its key.
    fn is_empty(&self) -> bool;
}

impl<T> OptionalValue for Option<T> {
    fn is_missing(&self) -> bool {
        self.is_none()
    }

    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T> OptionalValue for Vec<T> {
    fn is_missing(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl OptionalValue for bool {
    fn is_missing(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        !self
    }
}

impl OptionalValue for u64 {
    fn is_missing(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        *self == 0
    }
}

/// Declares an object of the contract: `NEED field("key", option: value, …): Type,` for each key.
///
/// | need | the checker requires it | the schema requires it | reading requires it | writing omits |
/// |---|---|---|---|---|
/// | `required` | yes | yes | yes | nothing |
/// | `expected` | yes | yes | no | nothing |
/// | `payload` | in streams of ibeam | yes | no | nothing |
/// | `added` | in streams of ibeam | lists it in `x-always` | no | `None` |
/// | `optional` | no | no | no | `None`, `false`, `0`, an empty list |
///
/// The options of a key are fields of [`Key`]. The options of the object are fields of [`Object`]; they are in parentheses
/// after its name. `S` is the type of text: `String` for objects that are read, `Cow<str>` for objects that are only
/// written.
macro_rules! contract_object {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident $(<$($generic:ident $(: $bound:ident)? = $default:ty),+>)? $(($($option:ident: $value:expr),+))? $(type $tag:literal)? {
            $($keys:tt)+
        }
    ) => {
        contract_object!(@next
            {
                $(#[doc = $doc])+ $(#[serde(tag = "type", rename = $tag)])?
                $name [$($($generic $(: $bound)? = $default),+)?] [$($doc),+]
                [$(tag: Some($tag),)? $($($option: $value,)+)?]
            }
            [] []
            $($keys)+
        );
    };
    (@next $head:tt [$($fields:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+
        required $field:ident($key:literal $(, $option:ident: $value:expr)*): $type:ty, $($rest:tt)*
    ) => {
        contract_object!(@next $head
            [$($fields)* $(#[doc = $doc])+ #[serde(rename = $key)] pub $field: $type,]
            [$($keys)* contract_object!(@key Always [$($doc),+] $key $type $(, $option: $value)*),]
            $($rest)*
        );
    };
    (@next $head:tt [$($fields:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+
        expected $field:ident($key:literal $(, $option:ident: $value:expr)*): $type:ty, $($rest:tt)*
    ) => {
        contract_object!(@next $head
            [$($fields)* $(#[doc = $doc])+ #[serde(rename = $key, default)] pub $field: $type,]
            [$($keys)* contract_object!(@key Always [$($doc),+] $key $type $(, $option: $value)*),]
            $($rest)*
        );
    };
    (@next $head:tt [$($fields:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+
        payload $field:ident($key:literal $(, $option:ident: $value:expr)*): $type:ty, $($rest:tt)*
    ) => {
        contract_object!(@next $head
            [$($fields)* $(#[doc = $doc])+ #[serde(rename = $key, default)] pub $field: $type,]
            [$($keys)* contract_object!(@key IbeamPayload [$($doc),+] $key $type $(, $option: $value)*),]
            $($rest)*
        );
    };
    (@next $head:tt [$($fields:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+
        added $field:ident($key:literal $(, $option:ident: $value:expr)*): $type:ty, $($rest:tt)*
    ) => {
        contract_object!(@next $head
            [
                $($fields)* $(#[doc = $doc])+
                #[serde(rename = $key, default, skip_serializing_if = "crate::describe::OptionalValue::is_missing")]
                pub $field: $type,
            ]
            [$($keys)* contract_object!(@key Ibeam [$($doc),+] $key $type, is_addition: true $(, $option: $value)*),]
            $($rest)*
        );
    };
    (@next $head:tt [$($fields:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+
        optional $field:ident($key:literal $(, $option:ident: $value:expr)*): $type:ty, $($rest:tt)*
    ) => {
        contract_object!(@next $head
            [
                $($fields)* $(#[doc = $doc])+
                #[serde(rename = $key, default, skip_serializing_if = "crate::describe::OptionalValue::is_empty")]
                pub $field: $type,
            ]
            [$($keys)* contract_object!(@key Optional [$($doc),+] $key $type $(, $option: $value)*),]
            $($rest)*
        );
    };
    (@key $need:ident [$($doc:literal),+] $key:literal $type:ty $(, $option:ident: $value:expr)*) => {
        crate::describe::Key {
            $($option: $value,)*
            ..crate::describe::Key::new(
                $key,
                crate::describe::Need::$need,
                <$type as crate::describe::Describe>::SHAPE,
                &[$($doc),+],
            )
        }
    };
    (@next
        { $(#[$meta:meta])+ $name:ident [$($generic:ident $(: $bound:ident)? = $default:ty),*] [$($doc:literal),+] [$($option:tt)*] }
        [$($fields:tt)*] [$($keys:tt)*]
    ) => {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[$meta])+
        pub struct $name<$($generic $(: $bound)? = $default),*> {
            $($fields)*
        }

        impl<$($generic: crate::describe::Describe $(+ $bound)?),*> crate::describe::DescribeObject
            for $name<$($generic),*>
        {
            const OBJECT: crate::describe::Object = crate::describe::Object {
                $($option)*
                ..crate::describe::Object::new(stringify!($name), &[$($doc),+], &[$($keys)*])
            };
        }

        impl<$($generic: crate::describe::Describe $(+ $bound)?),*> crate::describe::Describe
            for $name<$($generic),*>
        {
            const SHAPE: crate::describe::Shape =
                crate::describe::Shape::Object(<Self as crate::describe::DescribeObject>::object);
        }
    };
}

impl Object {
    pub(crate) const fn new(name: &'static str, docs: &'static [&'static str], keys: &'static [Key]) -> Self {
        Self { name, docs, tag: None, keys, constraint: Constraint::None }
    }
}

pub(crate) use contract_object;
