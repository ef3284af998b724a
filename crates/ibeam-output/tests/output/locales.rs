//! The locale files have the same messages and placeables; selection of a locale.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use fluent_syntax::parser::parse;
use ibeam_output::Locale;

type Placeables = BTreeSet<String>;

/// Returns the messages and attributes (`id` or `id.attribute`) of a file with the names of their placeables.
fn outline(source: &str) -> BTreeMap<String, Placeables> {
    let resource = parse(source).unwrap_or_else(|(_, errors)| panic!("{errors:?}"));
    let mut outline = BTreeMap::new();
    for entry in &resource.body {
        let message = match entry {
            Entry::Message(message) => message,
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => continue,
            Entry::Term(_) | Entry::Junk { .. } => panic!("{entry:?}"),
        };
        let id = message.id.name;
        let value = message.value.as_ref().unwrap_or_else(|| panic!("{id} has no value"));
        let attributes = message.attributes.iter();
        let parts = attributes.map(|attribute| (format!("{id}.{}", attribute.id.name), &attribute.value));
        for (name, pattern) in parts.chain([(id.to_owned(), value)]) {
            let mut names = Placeables::new();
            placeables(pattern, &mut names);
            assert!(outline.insert(name.clone(), names).is_none(), "{name} occurs twice");
        }
    }
    outline
}

fn placeables(pattern: &Pattern<&str>, names: &mut Placeables) {
    for element in &pattern.elements {
        match element {
            PatternElement::TextElement { .. } => {}
            PatternElement::Placeable { expression: Expression::Inline(inline) } => variable(inline, names),
            PatternElement::Placeable { expression: Expression::Select { selector, variants } } => {
                variable(selector, names);
                variants.iter().for_each(|variant| placeables(&variant.value, names));
            }
        }
    }
}

fn variable(expression: &InlineExpression<&str>, names: &mut Placeables) {
    match expression {
        InlineExpression::VariableReference { id } => names.insert(id.name.to_owned()),
        other => panic!("only variables are used: {other:?}"),
    };
}

#[track_caller]
fn check(source: &str) {
    let english = outline(include_str!("../../locales/en.ftl"));
    assert!(english.len() > 100, "{}", english.len());
    let translated = outline(source);
    for (name, placeables) in &english {
        assert_eq!(translated.get(name), Some(placeables), "{name}");
    }
    for name in translated.keys() {
        assert!(english.contains_key(name), "{name} is not in the English file");
    }
    // A copy of the English file is not a translation.
    assert!(!source.contains("action-read = Read file"));
}

#[test]
fn spanish_is_complete() {
    check(include_str!("../../locales/es.ftl"));
}

#[test]
fn indonesian_is_complete() {
    check(include_str!("../../locales/id.ftl"));
}

#[test]
fn japanese_is_complete() {
    check(include_str!("../../locales/ja.ftl"));
}

#[test]
fn french_is_complete() {
    check(include_str!("../../locales/fr.ftl"));
}

#[test]
fn portuguese_is_complete() {
    check(include_str!("../../locales/pt.ftl"));
}

#[test]
fn locale_names_are_parsed_in_every_spelling() {
    for (name, expect) in [
        ("en", Some(Locale::En)),
        ("en_GB.UTF-8", Some(Locale::En)),
        ("C", Some(Locale::En)),
        ("C.UTF-8", Some(Locale::En)),
        ("POSIX", Some(Locale::En)),
        ("es_419", Some(Locale::Es)),
        ("id", Some(Locale::Id)),
        ("in", Some(Locale::Id)),
        ("in_ID", Some(Locale::Id)),
        ("ja_JP.eucJP", Some(Locale::Ja)),
        ("fr@euro", Some(Locale::Fr)),
        ("pt-BR", Some(Locale::Pt)),
        ("pt_BR.UTF-8", Some(Locale::Pt)),
        ("PT", Some(Locale::Pt)),
        ("de_DE.UTF-8", None),
        ("pti", None),
        ("", None),
    ] {
        assert_eq!(Locale::from_name(name), expect, "{name:?}");
    }
}

#[test]
fn the_first_variable_with_a_value_selects_the_locale() {
    let choose = Locale::from_environment;
    assert_eq!(choose(None, None, None), Locale::En);
    assert_eq!(choose(None, None, Some("ja_JP.UTF-8")), Locale::Ja);
    assert_eq!(choose(None, Some("fr_FR.UTF-8"), Some("ja_JP.UTF-8")), Locale::Fr);
    assert_eq!(choose(Some("pt_BR.UTF-8"), Some("fr_FR.UTF-8"), Some("ja_JP.UTF-8")), Locale::Pt);
    assert_eq!(choose(Some(""), Some(""), Some("es")), Locale::Es);
}

#[test]
fn an_unsupported_language_selects_english_and_hides_later_variables() {
    assert_eq!(Locale::from_environment(Some("de_DE.UTF-8"), None, Some("fr_FR")), Locale::En);
    assert_eq!(Locale::from_environment(Some("C"), None, Some("fr_FR")), Locale::En);
}
