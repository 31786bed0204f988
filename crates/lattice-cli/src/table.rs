//! Columns of text for a terminal.

/// Rows under a header, each column as wide as its widest cell.
pub(crate) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> =
            cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&mut header.iter().copied())];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

/// Bytes for people: 1.5 MB.
#[allow(clippy::cast_precision_loss)] // shown with one digit
pub(crate) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// A duration for people: 250 ms, 3.2 s, 5 min.
#[allow(clippy::cast_precision_loss)] // shown with one digit
pub(crate) fn millis(ms: i64) -> String {
    match ms {
        ..1000 => format!("{ms} ms"),
        1000..120_000 => format!("{:.1} s", ms as f64 / 1000.0),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

/// A bar of 20 characters for a share of a whole.
pub(crate) fn bar(done: u64, of: u64) -> String {
    let filled = (done.min(of) * 20).checked_div(of).unwrap_or(0);
    let filled = usize::try_from(filled).unwrap_or(20);
    format!("[{}{}]", "#".repeat(filled), "-".repeat(20 - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["ünï".to_owned(), "22".to_owned()]];
        assert_eq!(render(&["N", "COUNT"], &rows), "N    COUNT\na    1\nünï  22");
    }

    #[test]
    fn sizes_and_times_are_for_people() {
        assert_eq!((bytes(999), bytes(1_500_000)), ("999 B".to_owned(), "1.5 MB".to_owned()));
        assert_eq!(
            (millis(7), millis(3200), millis(600_000)),
            ("7 ms".to_owned(), "3.2 s".to_owned(), "10 min".to_owned())
        );
        assert_eq!(bar(1, 2), "[##########----------]");
    }
}
