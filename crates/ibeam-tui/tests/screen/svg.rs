//! A screen of an emulated terminal as an SVG image.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// The width of a cell in pixels.
const CELL_WIDTH: f32 = 8.4;
/// The height of a cell in pixels.
const CELL_HEIGHT: f32 = 18.0;
/// The space around the screen in pixels.
const MARGIN: f32 = 12.0;
const BACKGROUND: &str = "#1c2128";
const FOREGROUND: &str = "#d1d7e0";

/// Cells that follow each other in a row and look the same.
struct Run {
    column: u16,
    cells: u16,
    text: String,
    style: String,
    is_inverse: bool,
}

/// Returns the image of a screen, with its cursor.
pub(crate) fn render(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (position(columns, CELL_WIDTH) + MARGIN, position(rows, CELL_HEIGHT) + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
    );
    let (cursor_row, cursor_column) = screen.cursor_position();
    let (x, y) = (position(cursor_column, CELL_WIDTH), position(cursor_row, CELL_HEIGHT));
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"2\" height=\"{CELL_HEIGHT}\" fill=\"{FOREGROUND}\"/>"
    );
    for row in 0..rows {
        for run in runs(screen, row, columns) {
            write_run(&mut svg, row, &run);
        }
    }
    svg + "</svg>\n"
}

/// Returns the offset of a row or column in pixels.
fn position(cells: u16, size: f32) -> f32 {
    MARGIN + f32::from(cells) * size
}

fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            if let Some(run) = runs.last_mut() {
                run.cells += 1;
            }
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let style = style(cell);
        match runs.last_mut() {
            Some(run) if run.style == style && run.is_inverse == cell.inverse() => {
                run.text.push_str(text);
                run.cells += 1;
            }
            Some(_) | None => {
                let is_inverse = cell.inverse();
                runs.push(Run { column, cells: 1, text: text.to_owned(), style, is_inverse });
            }
        }
    }
    runs.retain(|run| run.is_inverse || !run.text.trim().is_empty());
    runs
}

/// Returns a colour of the cube of 256 colours.
fn cube_color(index: u8) -> String {
    let at = index.checked_sub(16).unwrap();
    let part = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    format!("#{:02x}{:02x}{:02x}", part(at / 36), part(at / 6 % 6), part(at % 6))
}

/// Returns the attributes of the text of a cell.
fn style(cell: &Cell) -> String {
    let color = match cell.fgcolor() {
        _ if cell.inverse() => BACKGROUND.to_owned(),
        Color::Default => FOREGROUND.to_owned(),
        Color::Idx(index) => cube_color(index),
        Color::Rgb(..) => panic!("the display uses the cube of 256 colours only"),
    };
    let mut style = format!("fill=\"{color}\"");
    for (is_set, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.dim(), " opacity=\"0.65\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ] {
        if is_set {
            style.push_str(attribute);
        }
    }
    style
}

fn write_run(svg: &mut String, row: u16, run: &Run) {
    let (x, y) = (position(run.column, CELL_WIDTH), position(row, CELL_HEIGHT));
    let width = f32::from(run.cells) * CELL_WIDTH;
    if run.is_inverse {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{FOREGROUND}\"/>"
        );
    }
    let text = run.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // The length keeps columns aligned where a font has other widths, as for wide characters.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\" {}>{text}</text>",
        y + 13.5,
        run.style,
    );
}
