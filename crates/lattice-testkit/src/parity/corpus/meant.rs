//! Differences that are meant.

use serde_json::Value;

/// A difference that is meant.
#[derive(Debug)]
pub struct Meant {
    /// Its name, a heading of the page that tells differences.
    pub name: String,
    /// Why it is right.
    pub reason: String,
    /// Its lines; `*` stands for any text.
    places: Vec<String>,
}

/// All of them.
#[derive(Debug)]
pub struct Meanings(pub Vec<Meant>);

impl Meanings {
    /// Reads a list: `[{"name": …, "reason": …, "places": […]}]`.
    ///
    /// # Panics
    /// When the text is none.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let rows: Vec<Value> = serde_json::from_str(text).expect("a list of differences");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meant = |row: &Value| Meant {
            name: text(&row["name"]),
            reason: text(&row["reason"]),
            places: row["places"].as_array().into_iter().flatten().map(text).collect(),
        };
        Self(rows.iter().map(meant).collect())
    }

    /// What of a theme's differences is not meant, and what was meant and does not differ.
    #[must_use]
    pub fn apply(&self, theme: &str, found: Vec<String>) -> Vec<String> {
        let of_theme = format!("{theme}_");
        let places = self.0.iter().flat_map(|meant| &meant.places);
        let places: Vec<&String> = places.filter(|place| place.contains(&of_theme)).collect();
        let unused = places.iter().filter(|place| !found.iter().any(|line| fits(place, line)));
        let mut left: Vec<String> =
            unused.map(|place| format!("{place}: does not differ, though it is listed")).collect();
        left.extend(found.into_iter().filter(|line| !places.iter().any(|place| fits(place, line))));
        left
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in middle.split('*') {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_line_with_any_text_at_its_stars() {
        assert!(fits("a_b.public.t #* value/x: *", "a_b.public.t #3 value/x: 1 instead of 2"));
        assert!(fits("a", "a") && fits("a*b", "acb") && !fits("a", "ab") && !fits("a*b", "abc"));
        assert!(fits("a*b", "abxb") && fits("a*b*d", "abcd") && !fits("a*bd*d", "abcd"));
    }
}
