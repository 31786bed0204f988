//! What configurations and values mean in Java: regular expressions, replacements, texts of numbers.

use fancy_regex::{Captures, Regex};

/// `java.util.regex.Pattern`, as far as configurations use it: with look-around, possessive
/// quantifiers and named groups.
#[derive(Debug)]
pub(crate) struct Pattern {
    whole: Regex,
    anywhere: Regex,
}

impl Pattern {
    pub(crate) fn compile(text: &str) -> Result<Self, Box<fancy_regex::Error>> {
        Ok(Self { whole: Regex::new(&format!(r"\A(?:{text})\z"))?, anywhere: Regex::new(text)? })
    }

    /// `matches()`: the whole text. A pattern that needs too much work matches nothing.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.whole.is_match(text).unwrap_or(false)
    }

    /// `replaceFirst` of a text that matches as a whole.
    pub(crate) fn replace_first(&self, text: &str, replacement: &str) -> Result<String, String> {
        let found = self.anywhere.captures(text).ok().flatten();
        let Some(found) = found else { return Ok(text.to_owned()) };
        let Some(all) = found.get(0) else { return Ok(text.to_owned()) };
        let middle = expand(replacement, &found)?;
        Ok(format!("{}{middle}{}", &text[..all.start()], &text[all.end()..]))
    }
}

/// Java's replacement syntax: `$1`, `${name}`, `\` before a character that stands for itself.
fn expand(replacement: &str, found: &Captures<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = replacement.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.push(chars.next().ok_or("character to be escaped is missing")?),
            '$' if chars.peek() == Some(&'{') => {
                chars.next();
                let name: String = chars.by_ref().take_while(|char| *char != '}').collect();
                let group = found.name(&name).map(|group| group.as_str());
                out.push_str(group.unwrap_or_default());
            }
            '$' => {
                let digit = chars.next().and_then(|char| char.to_digit(10));
                let mut number = digit.ok_or("a $ without a group after it")? as usize;
                if number >= found.len() {
                    return Err(format!("no group {number}"));
                }
                // As many digits as still name a group.
                while let Some(digit) = chars.peek().and_then(|char| char.to_digit(10)) {
                    let longer = number * 10 + digit as usize;
                    if longer >= found.len() {
                        break;
                    }
                    number = longer;
                    chars.next();
                }
                out.push_str(found.get(number).map_or("", |group| group.as_str()));
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_javas() {
        let pattern = Pattern::compile(r"(?<prefix>\w+)\.(\w+)").unwrap();
        assert!(pattern.matches("a.b") && !pattern.matches("a.b.c"));
        assert_eq!(pattern.replace_first("a.b", "${prefix}-$2").unwrap(), "a-b");
        assert_eq!(pattern.replace_first("a.b", r"\$1-$12").unwrap(), "$1-a2");
        assert!(pattern.replace_first("a.b", "$7").is_err());
        let ahead = Pattern::compile("(?!x)(.*)").unwrap();
        assert!(ahead.matches("y") && !ahead.matches("x"));
    }
}
