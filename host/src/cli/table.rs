//! Tables for people. A line is never wrapped or cut here: ids must survive being copied. Nothing trails a line.

use super::show;

/// One column: its title, and on which side it is flush.
pub enum Column {
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

impl Column {
    fn title(&self) -> &'static str {
        match self {
            Column::Left(title) | Column::Right(title) => title,
        }
    }
}

/// Rows may carry notes, which stand below them, indented.
pub struct Row {
    pub cells: Vec<String>,
    pub notes: Vec<String>,
}

pub fn render(columns: &[Column], rows: &[Row]) -> String {
    let clean: Vec<Vec<String>> =
        rows.iter().map(|row| row.cells.iter().map(|cell| cell_text(cell)).collect()).collect();
    let width = |place: usize, title: &str| {
        let cells = clean.iter().filter_map(|cells| cells.get(place)).map(|cell| cell.chars().count());
        cells.chain([title.chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(place, column)| width(place, column.title())).collect();
    let titles: Vec<String> = columns.iter().map(|column| column.title().to_owned()).collect();
    let mut out = line(columns, &widths, &titles);
    for (row, cells) in rows.iter().zip(&clean) {
        out.push_str(&line(columns, &widths, cells));
        for note in &row.notes {
            out.push_str("    ");
            out.push_str(&show::printable(note));
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

/// An empty cell is a dash, so that columns show.
fn cell_text(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { show::printable(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 3], notes: &[&str]) -> Row {
        Row { cells: cells.map(str::to_owned).to_vec(), notes: notes.iter().map(|note| (*note).to_owned()).collect() }
    }

    const COLUMNS: [Column; 3] = [Column::Left("NAME"), Column::Right("CALLS"), Column::Left("STATE")];

    #[test]
    fn numbers_are_flush_right_and_nothing_trails() {
        let table = render(&COLUMNS, &[row(["notes", "7", "serving"], &[]), row(["a", "12345678", ""], &["why not"])]);
        assert_eq!(table, "NAME      CALLS  STATE\nnotes         7  serving\na      12345678  -\n    why not\n");
    }

    #[test]
    fn no_cell_commands_the_terminal() {
        let table = render(&COLUMNS, &[row(["\u{1b}[2Jnotes", "1", "a\nb"], &["\u{7}\u{202e}"])]);
        assert!(table.ends_with("\\u{1b}[2Jnotes      1  a\\nb\n    \\u{7}\\u{202e}\n"), "{table}");
        assert_eq!(table.lines().count(), 3);
    }

    #[test]
    fn a_table_without_rows_still_has_its_titles() {
        assert_eq!(render(&COLUMNS, &[]), "NAME  CALLS  STATE\n");
    }
}
