//! The form of numbers in a language: the mark of decimals, and what groups the digits of large ones.
//!
//! English and Japanese have the form of Fluent, without groups: programs read the English messages.

use fluent_bundle::FluentValue;
use fluent_bundle::types::FluentNumber;

use crate::locale::Locale;

/// A function of Fluent that formats a value; `None` leaves the value as it is.
type Formatter<M> = fn(&FluentValue<'_>, &M) -> Option<String>;

/// The space that groups digits in French and Spanish. No line is broken at it.
const THIN_SPACE: char = '\u{202f}';

/// Returns the function that formats numbers in the language.
pub(super) fn formatter<M>(locale: Locale) -> Option<Formatter<M>> {
    match locale {
        Locale::En | Locale::Ja => None,
        Locale::Es | Locale::Fr => Some(with_spaces),
        Locale::Id | Locale::Pt => Some(with_dots),
    }
}

fn with_spaces<M>(value: &FluentValue<'_>, _memory: &M) -> Option<String> {
    // Four digits are not grouped in these languages.
    number(value).map(|number| localized(number, THIN_SPACE, 5))
}

fn with_dots<M>(value: &FluentValue<'_>, _memory: &M) -> Option<String> {
    number(value).map(|number| localized(number, '.', 4))
}

fn number<'a>(value: &'a FluentValue<'_>) -> Option<&'a FluentNumber> {
    if let FluentValue::Number(number) = value { Some(number) } else { None }
}

/// Returns a number with a decimal comma. Numbers from `min_digits` digits on have `group` between three digits.
fn localized(number: &FluentNumber, group: char, min_digits: usize) -> String {
    let text = number.as_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let mut shown = String::new();
    for (index, digit) in whole.char_indices() {
        let is_start_of_group = index > 0 && (whole.len() - index).is_multiple_of(3);
        if is_start_of_group && number.options.use_grouping && whole.len() >= min_digits {
            shown.push(group);
        }
        shown.push(digit);
    }
    if !decimals.is_empty() {
        shown.push(',');
        shown.push_str(decimals);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(locale: Locale, number: &str, expect: &str) {
        let number = number.parse::<FluentNumber>().unwrap();
        let shown = match formatter::<()>(locale) {
            Some(format) => format(&FluentValue::Number(number), &()).unwrap(),
            None => number.as_string().into_owned(),
        };
        assert_eq!(shown, expect, "{locale:?}");
    }

    #[test]
    fn numbers_have_the_marks_of_the_language() {
        check(Locale::En, "1234567", "1234567");
        check(Locale::Ja, "0.50", "0.50");
        check(Locale::Fr, "1234567", "1\u{202f}234\u{202f}567");
        check(Locale::Es, "1234", "1234");
        check(Locale::Es, "12345", "12\u{202f}345");
        check(Locale::Pt, "1234567", "1.234.567");
        check(Locale::Id, "1.4", "1,4");
        check(Locale::Fr, "0.50", "0,50");
        check(Locale::Es, "0.00125", "0,00125");
    }
}
