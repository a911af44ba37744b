//! Text tables. Lines are never wrapped or truncated, so that ids can be copied. Lines have no trailing spaces.

use super::output;

/// A column with its title and alignment.
pub enum Column {
    Left(&'static str),
    /// For numbers.
    Right(&'static str),
}

impl Column {
    fn title(&self) -> &'static str {
        match self {
            Column::Left(title) | Column::Right(title) => title,
        }
    }
}

/// A row. Its notes are printed below it, indented.
pub struct Row {
    pub cells: Vec<String>,
    pub notes: Vec<String>,
}

pub fn render_table(columns: &[Column], rows: &[Row]) -> String {
    let clean: Vec<Vec<String>> =
        rows.iter().map(|row| row.cells.iter().map(|cell| cell_text(cell)).collect()).collect();
    let width = |index: usize, title: &str| {
        let cells = clean.iter().filter_map(|cells| cells.get(index)).map(|cell| cell.chars().count());
        cells.chain([title.chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(index, column)| width(index, column.title())).collect();
    let titles: Vec<String> = columns.iter().map(|column| column.title().to_owned()).collect();
    let mut out = line(columns, &widths, &titles);
    for (row, cells) in rows.iter().zip(&clean) {
        out.push_str(&line(columns, &widths, cells));
        for note in &row.notes {
            out.push_str("    ");
            out.push_str(&output::printable(note));
            out.push('\n');
        }
    }
    out
}

fn line(columns: &[Column], widths: &[usize], cells: &[String]) -> String {
    let padded = columns.iter().zip(widths).zip(cells).map(|((column, &width), cell)| match column {
        Column::Left(_) => format!("{cell:<width$}"),
        Column::Right(_) => format!("{cell:>width$}"),
    });
    let text = padded.collect::<Vec<_>>().join("  ");
    format!("{}\n", text.trim_end())
}

/// Renders a cell. An empty cell becomes a dash.
fn cell_text(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { output::printable(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 3], notes: &[&str]) -> Row {
        Row { cells: cells.map(str::to_owned).to_vec(), notes: notes.iter().map(|note| (*note).to_owned()).collect() }
    }

    const COLUMNS: [Column; 3] = [Column::Left("NAME"), Column::Right("CALLS"), Column::Left("STATE")];

    #[test]
    fn numbers_are_right_aligned_and_lines_have_no_trailing_spaces() {
        let table =
            render_table(&COLUMNS, &[row(["notes", "7", "serving"], &[]), row(["a", "12345678", ""], &["why not"])]);
        assert_eq!(table, "NAME      CALLS  STATE\nnotes         7  serving\na      12345678  -\n    why not\n");
    }

    #[test]
    fn cells_cannot_control_the_terminal() {
        let table = render_table(&COLUMNS, &[row(["\u{1b}[2Jnotes", "1", "a\nb"], &["\u{7}\u{202e}"])]);
        assert!(table.ends_with("\\u{1b}[2Jnotes      1  a\\nb\n    \\u{7}\\u{202e}\n"), "{table}");
        assert_eq!(table.lines().count(), 3);
    }

    #[test]
    fn table_without_rows_has_its_titles() {
        assert_eq!(render_table(&COLUMNS, &[]), "NAME  CALLS  STATE\n");
    }
}
