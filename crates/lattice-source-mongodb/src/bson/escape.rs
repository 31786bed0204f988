//! Strings as the Java driver's JSON writer has them: which characters it escapes decides the text of
//! keys, and so partitions and what compaction keeps.

use std::{borrow::Cow, fmt::Write as _, sync::LazyLock};

use regex::Regex;

/// A bit a UTF-16 code unit: it is printed as it is. Source: `StrictCharacterStreamJsonWriter`.
static PRINTED: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0_u64; 1024];
    let classes = r"[\p{Lu}\p{Ll}\p{Lt}\p{Lo}\p{Nd}\p{Nl}\p{No}\p{Zs}\p{Pc}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\p{Sm}\p{Sc}\p{Sk}\p{So}]+";
    let all: String = ('\0'..='\u{ffff}').collect();
    // The pattern is constant and a test uses it.
    let Ok(pattern) = Regex::new(classes) else { return bits };
    for run in pattern.find_iter(&all) {
        for char in run.as_str().chars() {
            let code = char as usize;
            if let Some(word) = bits.get_mut(code / 64) {
                *word |= 1 << (code % 64);
            }
        }
    }
    bits
});

fn is_printed(code: u32) -> bool {
    let at = code as usize;
    PRINTED.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// Writes `text` in quotes. What is no UTF-8 becomes U+FFFD, as in Java.
pub(super) fn quoted(text: &[u8], out: &mut String) {
    out.push('"');
    match String::from_utf8_lossy(text) {
        Cow::Borrowed(text) => inner(text, out),
        Cow::Owned(text) => inner(&text, out),
    }
    out.push('"');
}

fn inner(text: &str, out: &mut String) {
    let mut from = 0;
    for (at, char) in text.char_indices() {
        if matches!(char, ' '..='~') && char != '"' && char != '\\' {
            continue;
        }
        if char > '\u{7f}' && char <= '\u{ffff}' && is_printed(char as u32) {
            continue;
        }
        out.push_str(text.get(from..at).unwrap_or_default());
        from = at + char.len_utf8();
        escape(char, out);
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

fn escape(char: char, out: &mut String) {
    let short = match char {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        _ => {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
            return;
        }
    };
    out.push_str(short);
}
