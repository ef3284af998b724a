//! The colours of texts, which are legible on the background of the terminal.
//!
//! The palette of a terminal is made for one background: yellow on white cannot be read. So colours are those of the cube
//! of 256 colours, which is the same in all terminals, and there is a set for dark and one for light backgrounds, with a
//! contrast of at least 4.5 (WCAG 2.2, AA). Where the background is unknown there are no colours: what they would point
//! out is bold.

use crate::styled::Color;

/// The contrast that each colour has with the background, at least.
const MIN_CONTRAST: f64 = 4.5;

/// The set of colours in which texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// The colours for a dark background.
    Dark,
    /// The colours for a light background.
    Light,
    /// No colours: the background is unknown or neither dark nor light, or colours are switched off.
    Monochrome,
}

impl Palette {
    /// Returns the palette that is legible on this background.
    pub fn for_background(background: Rgb) -> Self {
        let is_legible = |palette: &Self| {
            let mut colors = Color::ALL.iter().filter_map(|color| palette.rgb(*color));
            colors.all(|color| background.contrast(color) >= MIN_CONTRAST)
        };
        [Self::Dark, Self::Light].into_iter().find(is_legible).unwrap_or(Self::Monochrome)
    }

    /// Returns the palette for the value of the variable `COLORFGBG`, such as `15;0`, which some terminals set.
    pub fn from_colorfgbg(value: &str) -> Self {
        match value.rsplit(';').next().and_then(|background| background.parse::<u8>().ok()) {
            Some(0..=6 | 8) => Self::Dark,
            Some(7 | 9..=15) => Self::Light,
            Some(_) | None => Self::Monochrome,
        }
    }

    /// Returns the control sequence's parameters for a colour, whose number is one of the cube.
    pub(crate) fn code(self, color: Color) -> Option<&'static str> {
        let (dark, light) = match color {
            Color::Default => return None,
            Color::Red => ("38;5;210", "38;5;124"),
            Color::Green => ("38;5;114", "38;5;22"),
            Color::Yellow => ("38;5;221", "38;5;94"),
            Color::Blue => ("38;5;111", "38;5;25"),
            Color::Magenta => ("38;5;176", "38;5;90"),
            Color::Cyan => ("38;5;116", "38;5;23"),
        };
        match self {
            Self::Dark => Some(dark),
            Self::Light => Some(light),
            Self::Monochrome => None,
        }
    }

    /// Whether a colour is bold instead: that of failures, of questions and warnings, and of code.
    pub(crate) fn is_bold(self, color: Color) -> bool {
        match (self, color) {
            (Self::Monochrome, Color::Red | Color::Yellow | Color::Cyan) => true,
            (Self::Monochrome, Color::Default | Color::Green | Color::Blue | Color::Magenta)
            | (Self::Dark | Self::Light, _) => false,
        }
    }

    /// Returns a colour as the terminal shows it.
    fn rgb(self, color: Color) -> Option<Rgb> {
        let number = self.code(color)?.rsplit(';').next()?.parse().ok()?;
        Some(Rgb::from_cube(number))
    }
}

/// A colour of a screen, each part from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rgb([f64; 3]);

impl Rgb {
    /// Returns the colour in the answer of a terminal about its background: `rgb:ffff/ffff/dddd`, with one to four digits
    /// for each part, or `rgba:` with a fourth part.
    pub fn from_answer(answer: &str) -> Option<Self> {
        let (_, parts) = answer.split_once("rgb:").or_else(|| answer.split_once("rgba:"))?;
        let mut parts = parts.split('/');
        let mut part = || {
            let digits = parts.next()?;
            let max = 16_u32
                .checked_pow(u32::try_from(digits.len()).ok().filter(|count| (1..=4).contains(count))?)?;
            Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(max - 1))
        };
        Some(Self([part()?, part()?, part()?]))
    }

    /// Returns a colour of the cube, whose numbers begin at 16.
    fn from_cube(number: u8) -> Self {
        let at = number.saturating_sub(16);
        let part = |step: u8| match step {
            0 => 0.0,
            step => (55.0 + 40.0 * f64::from(step)) / 255.0,
        };
        Self([part(at / 36), part(at / 6 % 6), part(at % 6)])
    }

    /// Returns the contrast of two colours by WCAG 2.2, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn luminance(self) -> f64 {
        let linear =
            |part: f64| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgb(hex: &str) -> Rgb {
        let part = |at: usize| &hex[at..at + 2];
        Rgb::from_answer(&format!("rgb:{}/{}/{}", part(0), part(2), part(4))).unwrap()
    }

    #[test]
    fn each_colour_has_contrast_on_common_backgrounds() {
        // Black, VS Code, Solarized, One Dark, Dracula, Gruvbox, Nord; white, GNOME, Solarized, GitHub, Gruvbox.
        for (expect, backgrounds) in [
            (Palette::Dark, &["000000", "1e1e1e", "002b36", "282c34", "282a36", "282828", "2e3440"][..]),
            (Palette::Light, &["ffffff", "eeeeec", "fdf6e3", "eee8d5", "f6f8fa", "fbf1c7"]),
        ] {
            for background in backgrounds {
                assert_eq!(Palette::for_background(rgb(background)), expect, "{background}");
                for color in Color::ALL.into_iter().filter(|color| *color != Color::Default) {
                    let contrast = rgb(background).contrast(expect.rgb(color).unwrap());
                    assert!(contrast >= MIN_CONTRAST, "{color:?} on {background}: {contrast:.2}");
                }
            }
        }
        // Neither set is legible on a middle grey.
        assert_eq!(Palette::for_background(rgb("808080")), Palette::Monochrome);
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        let check = |one: &str, other: &str, expect: f64| {
            let contrast = rgb(one).contrast(rgb(other));
            assert!((contrast - expect).abs() < 0.01, "{one} {other}: {contrast}");
        };
        check("000000", "ffffff", 21.0);
        check("767676", "ffffff", 4.54);
        check("ffff00", "ffffff", 1.07);
    }

    #[test]
    fn the_answer_of_a_terminal_and_the_variable_name_the_background() {
        let white = Some(Rgb([1.0; 3]));
        for (answer, expect) in [
            ("\u{1b}]11;rgb:ffff/ffff/ffff\u{7}", None),
            ("rgb:ffff/ffff/ffff", white),
            ("11;rgba:ff/ff/ff/80", white),
            ("rgb:f/f/f", white),
            ("rgb:ffff/ffff", None),
            ("rgb:fffff/ffff/ffff", None),
            ("#ffffff", None),
        ] {
            assert_eq!(Rgb::from_answer(answer), expect, "{answer}");
        }
        for (value, expect) in [
            ("15;0", Palette::Dark),
            ("0;15", Palette::Light),
            ("0;default;15", Palette::Light),
            ("default;default", Palette::Monochrome),
            ("", Palette::Monochrome),
        ] {
            assert_eq!(Palette::from_colorfgbg(value), expect, "{value}");
        }
    }
}
