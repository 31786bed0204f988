//! Java's properties files.

/// The keys and values of a Java properties text, in order; the last of a key counts.
#[must_use]
pub fn properties(text: &str) -> Vec<(String, String)> {
    logical_lines(text).iter().map(|line| split_property(line)).collect()
}

/// Joins lines that end in an odd number of backslashes; drops comments and blank lines.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        if open.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let mut whole = open.take().unwrap_or_default();
        let backslashes = line.chars().rev().take_while(|char| *char == '\\').count();
        if backslashes % 2 == 1 {
            whole.push_str(&line[..line.len() - 1]);
            open = Some(whole);
        } else {
            whole.push_str(line);
            lines.push(whole);
        }
    }
    lines.extend(open);
    lines
}

fn split_property(line: &str) -> (String, String) {
    let mut chars = line.char_indices();
    let mut end = line.len();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if matches!(char, '=' | ':') || char.is_whitespace() {
            end = at;
            break;
        }
    }
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    (unescape(&line[..end]), unescape(rest))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let code: String = chars.by_ref().take(4).collect();
                let char = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                out.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
