//! The settings in force, as plain values with their origins. The tables of keys derive them.

pub(crate) mod tables;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::keys::Key;
use crate::{Config, Origin, Value};

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T = Value> {
    /// The value.
    pub value: T,
    /// The origin of the value.
    pub origin: Origin,
}

/// The settings below names that the user chooses, by name.
pub type Named<T> = BTreeMap<String, T>;

impl Setting<Option<u64>> {
    /// Returns the number, else the default that the caller computes. A project that is not trusted may lower that default
    /// and not raise it, as where the default is in the table of keys.
    pub fn number_or(&self, trusts_project: bool, default: impl FnOnce() -> u64) -> u64 {
        match self.value {
            Some(number) if !trusts_project && matches!(self.origin, Origin::Project { .. }) => {
                number.min(default())
            }
            Some(number) => number,
            None => default(),
        }
    }
}

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T> From<T> for Setting<T> {
    fn from(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// A type of values.
trait FromValue: Sized {
    /// Returns the value; `None` if it is of another kind.
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text.clone()) } else { None }
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.texts().into_iter().map(str::to_owned).collect())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Switch(is_on) = value { Some(*is_on) } else { None }
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Number(number) | Value::Money(number) = value { Some(*number) } else { None }
    }
}

impl FromValue for Duration {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Time(time) = value { Some(*time) } else { None }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
}

/// A field of a table of keys.
pub(crate) trait Field: Sized {
    /// Reads the field at `path`.
    fn read(config: &Config, path: &[&str]) -> Self;

    /// Returns the field that nothing sets.
    fn unset(key: Option<&Key>) -> Self;
}

/// A value that nothing sets has the default of its type, and the origin of a default.
impl<T: FromValue + Default> Field for Setting<T> {
    fn read(config: &Config, path: &[&str]) -> Self {
        let setting = config.get(path);
        let read = |Setting { value, origin }: &Setting| {
            Some(Self { value: T::from_value(value)?, origin: origin.clone() })
        };
        setting.and_then(read).unwrap_or_default()
    }

    fn unset(key: Option<&Key>) -> Self {
        let value = key.and_then(|key| T::from_value(&Value::parse(key.kind, key.default?)?));
        value.unwrap_or_default().into()
    }
}

/// The entries of the lists of all layers.
impl Field for Vec<Setting<String>> {
    fn read(config: &Config, path: &[&str]) -> Self {
        let entries = |setting: &Setting| {
            let origin = setting.origin.clone();
            let texts: Vec<String> = setting.value.texts().into_iter().map(str::to_owned).collect();
            texts.into_iter().map(move |value| Setting { value, origin: origin.clone() })
        };
        config.layers(path).iter().flat_map(entries).collect()
    }

    fn unset(_: Option<&Key>) -> Self {
        Self::new()
    }
}

/// The settings below each name of a table.
impl<T: Field> Field for Named<T> {
    fn read(config: &Config, path: &[&str]) -> Self {
        let child = |name: &str| (name.to_owned(), T::read(config, &[path, &[name]].concat()));
        config.children(path).into_iter().map(child).collect()
    }

    fn unset(_: Option<&Key>) -> Self {
        Self::new()
    }
}

/// Defines a table of keys: a struct with a field for each key, and the rows of the keys.
///
/// A field has a type, a kind, what a project may set, and perhaps a default, an environment variable, `names ".*"` if the
/// user chooses the names below it, and `names_secret true` if it is the path of a file with a secret.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident at $prefix:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $kind:expr, $scope:expr
            $(, default $default:literal)? $(, variable $variable:literal)? $(, names $names:literal)?
            $(, names_secret $secret:literal)?;)*
    } $(with tables { $($(#[$table_doc:meta])* $table:ident: $table_type:ty;)* })?) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            $($($(#[$table_doc])* pub $table: $table_type,)*)?
        }

        impl $name {
            pub(crate) const KEYS: &[$crate::keys::Key] = &[$($crate::keys::Key {
                path: concat!($prefix, stringify!($field) $(, $names)?),
                kind: $kind,
                default: $crate::settings::first(&[$($default)?]),
                variable: $crate::settings::first(&[$($variable)?]),
                project_scope: $scope,
                names_secret: false $(|| $secret)?,
            }),*];
        }

        impl $crate::settings::Field for $name {
            fn read(config: &$crate::Config, table: &[&str]) -> Self {
                let path = |name| [table, &[name]].concat();
                Self {
                    $($field: $crate::settings::Field::read(config, &path(stringify!($field))),)*
                    $($($table: $crate::settings::Field::read(config, &path(stringify!($table))),)*)?
                }
            }

            fn unset(_: Option<&$crate::keys::Key>) -> Self {
                let mut keys = Self::KEYS.iter();
                Self {
                    $($field: $crate::settings::Field::unset(keys.next()),)*
                    $($($table: $crate::settings::Field::unset(None),)*)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::settings::Field::unset(None)
            }
        }
    };
}
pub(crate) use table;

/// Returns the element of a list of at most one.
pub(crate) const fn first(list: &'static [&'static str]) -> Option<&'static str> {
    match list {
        [first, ..] => Some(first),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn settings_that_nothing_sets_have_the_defaults_of_the_table() {
        let unset = Settings::default();
        assert_eq!(format!("{unset:?}"), format!("{:?}", Settings::new(&Config::from_flags(&[]).unwrap())));
        assert_eq!(unset.limits.max_turns, 200.into());
        assert_eq!(unset.timeouts.lock.value, Duration::ZERO);
        assert!(unset.session.checkpoints.value && !unset.verbose.value);
        assert_eq!((unset.limits.max_tokens.value, unset.model.value), (None, Vec::new()));
    }

    #[test]
    fn settings_have_the_values_in_force_and_the_entries_of_all_layers() {
        let user = Origin::User { path: "c".into(), line: 1 };
        let flag = Origin::Flag("--x".to_owned());
        let text = |text: &str| Value::Text(text.to_owned());
        let mut config = Config::default();
        for (path, value, origin) in [
            ("model", text("weak"), &user),
            ("model", Value::List(vec!["a".to_owned(), "b".to_owned()]), &flag),
            ("network.allow", Value::List(vec!["one".to_owned()]), &user),
            ("network.allow", Value::List(vec!["two".to_owned()]), &flag),
            ("providers.corp.headers.x-team", text("core"), &user),
            ("providers.corp.prompt_cache", Value::Switch(false), &flag),
            ("limits.max_cost", Value::Money(5), &user),
        ] {
            let path = path.split('.').map(str::to_owned).collect();
            config.add(path, Setting { value, origin: origin.clone() });
        }
        let settings = Settings::new(&config);
        assert_eq!(
            settings.model,
            Setting { value: vec!["a".to_owned(), "b".to_owned()], origin: flag.clone() }
        );
        let allow: Vec<_> = settings.network.allow.iter().map(|it| (it.value.as_str(), &it.origin)).collect();
        assert_eq!(allow, [("one", &user), ("two", &flag)]);
        let provider = settings.providers.get("corp").unwrap();
        assert_eq!(provider.headers.get("x-team").map(|it| it.value.as_str()), Some("core"));
        assert_eq!((provider.prompt_cache.value, &provider.wire.value), (Some(false), &None));
        assert_eq!(settings.limits.max_cost, Setting { value: Some(5), origin: user });
    }

    #[test]
    fn an_untrusted_project_may_only_lower_a_computed_default() {
        let project = || Origin::Project { path: "config.toml".into(), line: 1 };
        let user = || Origin::User { path: "config.toml".into(), line: 1 };
        for (origin, number, trusts_project, expect) in [
            (project(), 90, false, 40),
            (project(), 30, false, 30),
            (project(), 90, true, 90),
            (user(), 90, false, 90),
            (Origin::Flag("--x".to_owned()), 90, false, 90),
        ] {
            let setting = Setting { value: Some(number), origin };
            assert_eq!(setting.number_or(trusts_project, || 40), expect, "{setting:?}");
        }
        assert_eq!(Setting::default().number_or(false, || 40), 40);
    }
}
