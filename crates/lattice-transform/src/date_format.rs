//! Java's `SimpleDateFormat` in UTC with English names.

use lattice_core::calendar::{self, civil};

/// One day. Units: ms.
const DAY: i64 = 86_400_000;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct DateFormat {
    pattern: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Literal(String),
    /// Letter and how often it stands.
    Field(char, usize),
}

/// A time taken apart.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    days: i64,
    ms: i64,
}

impl DateFormat {
    /// Errors: the reason why it is no pattern.
    pub(crate) fn compile(pattern: &str) -> Result<Self, String> {
        let mut parts: Vec<Part> = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(char) = chars.next() {
            if char == '\'' {
                let mut text = String::new();
                if chars.next_if_eq(&'\'').is_some() {
                    text.push('\'');
                } else {
                    loop {
                        match chars.next() {
                            Some('\'') if chars.next_if_eq(&'\'').is_some() => text.push('\''),
                            Some('\'') => break,
                            Some(other) => text.push(other),
                            None => return Err("Unterminated quote".to_owned()),
                        }
                    }
                }
                parts.push(Part::Literal(text));
            } else if char.is_ascii_alphabetic() {
                if !"GyYMLwWDdFEuaHkKhmsSzZX".contains(char) {
                    return Err(format!("Illegal pattern character '{char}'"));
                }
                let mut count = 1;
                while chars.next_if_eq(&char).is_some() {
                    count += 1;
                }
                parts.push(Part::Field(char, count));
            } else {
                parts.push(Part::Literal(char.to_string()));
            }
        }
        Ok(Self { pattern: pattern.to_owned(), parts })
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Units: ms since the Unix epoch.
    pub(crate) fn format(&self, ms: i64) -> String {
        let moment = Moment::of(ms);
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Field(letter, count) => out.push_str(&moment.field(*letter, *count)),
            }
        }
        out
    }

    /// What a text means; what follows what was understood is not looked at. `None`: it does not
    /// fit. Units: ms since the Unix epoch.
    pub(crate) fn parse(&self, text: &str) -> Option<i64> {
        let mut found = Found::default();
        let mut rest = text;
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Field(letter, count) => {
                    // Numbers that touch have as many digits as their letters.
                    let touches = matches!(self.parts.get(index + 1), Some(Part::Field(next, many))
                        if is_number(*next, *many));
                    let limit = if touches { *count } else { usize::MAX };
                    rest = found.take(*letter, *count, rest, limit)?;
                }
            }
        }
        Some(found.ms())
    }
}

fn is_number(letter: char, count: usize) -> bool {
    match letter {
        'M' | 'L' => count < 3,
        'G' | 'E' | 'a' | 'z' | 'Z' | 'X' => false,
        _ => true,
    }
}

impl Moment {
    fn of(ms: i64) -> Self {
        let days = ms.div_euclid(DAY);
        let (year, month, day) = civil(days);
        Self { year, month, day, days, ms: ms.rem_euclid(DAY) }
    }

    fn field(&self, letter: char, count: usize) -> String {
        let number = |value: i64| format!("{value:0count$}");
        let hour = self.ms / 3_600_000;
        let weekday = (self.days + 4).rem_euclid(7);
        let name = |names: &[&str], index: i64| {
            let name = usize::try_from(index).ok().and_then(|at| names.get(at)).copied();
            let name = name.unwrap_or_default();
            if count >= 4 { name.to_owned() } else { name.chars().take(3).collect() }
        };
        let day_of_year = self.days - days_of(self.year, 1, 1) + 1;
        match letter {
            'G' => if self.year > 0 { "AD" } else { "BC" }.to_owned(),
            'y' | 'Y' if count == 2 => format!("{:02}", self.year.rem_euclid(100)),
            'y' | 'Y' => number(self.year),
            'M' | 'L' if count >= 3 => name(&MONTHS, self.month - 1),
            'M' | 'L' => number(self.month),
            'w' => number(
                (day_of_year - 1 + days_of(self.year, 1, 1).saturating_add(4).rem_euclid(7)) / 7
                    + 1,
            ),
            'W' => number(
                (self.day - 1 + days_of(self.year, self.month, 1).saturating_add(4).rem_euclid(7))
                    / 7
                    + 1,
            ),
            'D' => number(day_of_year),
            'd' => number(self.day),
            'F' => number((self.day - 1) / 7 + 1),
            'E' => name(&DAYS, weekday),
            'u' => number(if weekday == 0 { 7 } else { weekday }),
            'a' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            'H' => number(hour),
            'k' => number(if hour == 0 { 24 } else { hour }),
            'K' => number(hour % 12),
            'h' => number(if hour % 12 == 0 { 12 } else { hour % 12 }),
            'm' => number(self.ms / 60_000 % 60),
            's' => number(self.ms / 1000 % 60),
            'S' => number(self.ms % 1000),
            'z' if count >= 4 => "Coordinated Universal Time".to_owned(),
            'z' => "UTC".to_owned(),
            'Z' => "+0000".to_owned(),
            _ => "Z".to_owned(),
        }
    }
}

/// What was read of a time.
#[derive(Default)]
struct Found {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    half: Option<i64>,
    minute: i64,
    second: i64,
    ms: i64,
    zone_ms: i64,
}

impl Found {
    fn take<'t>(
        &mut self,
        letter: char,
        count: usize,
        text: &'t str,
        limit: usize,
    ) -> Option<&'t str> {
        match letter {
            'M' | 'L' if count >= 3 => {
                let (index, rest) = named(text, &MONTHS)?;
                self.month = Some(index + 1);
                return Some(rest);
            }
            'E' => return named(text, &DAYS).map(|(_, rest)| rest),
            'a' => {
                let (index, rest) = named(text, &["AM", "PM"])?;
                self.half = Some(index);
                return Some(rest);
            }
            'G' => return named(text, &["AD", "BC"]).map(|(_, rest)| rest),
            'z' | 'Z' | 'X' => return self.zone(text),
            _ => {}
        }
        let (number, rest) = digits(text.trim_start_matches(' '), limit)?;
        match letter {
            'y' | 'Y' if count <= 2 && text.len() - rest.len() == 2 => {
                // Within 80 years before and 20 after; the turn is fixed so that results are.
                self.year = Some(if number < 50 { 2000 + number } else { 1900 + number });
            }
            'y' | 'Y' => self.year = Some(number),
            'M' | 'L' => self.month = Some(number),
            'd' => self.day = Some(number),
            'D' => self.day_of_year = Some(number),
            'H' | 'K' => self.hour = number,
            'k' => self.hour = number % 24,
            'h' => self.hour = number % 12,
            'm' => self.minute = number,
            's' => self.second = number,
            'S' => self.ms = number,
            _ => {}
        }
        Some(rest)
    }

    fn zone<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        for name in ["UTC", "GMT", "Z"] {
            if let Some(rest) = text.strip_prefix(name)
                && !rest.starts_with(['+', '-'])
            {
                return Some(rest);
            }
        }
        let text = text.strip_prefix("GMT").unwrap_or(text);
        let sign = match text.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let (hours, rest) = digits(&text[1..], 2)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let (minutes, rest) = digits(rest, 2).unwrap_or((0, rest));
        self.zone_ms = sign * (hours * 60 + minutes) * 60_000;
        Some(rest)
    }

    fn ms(&self) -> i64 {
        let year = self.year.unwrap_or(1970);
        let days = match self.day_of_year {
            Some(day) => days_of(year, 1, 1).saturating_add(day - 1),
            None => days_of(year, self.month.unwrap_or(1), 1) + self.day.unwrap_or(1) - 1,
        };
        let hour = self.hour + self.half.unwrap_or(0) * 12;
        days.saturating_mul(DAY)
            .saturating_add(hour * 3_600_000 + self.minute * 60_000 + self.second * 1000 + self.ms)
            .saturating_sub(self.zone_ms)
    }
}

fn digits(text: &str, limit: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count().min(limit).min(15);
    Some((text[..count].parse().ok()?, &text[count..]))
}

fn named<'t>(text: &'t str, names: &[&str]) -> Option<(i64, &'t str)> {
    let starts = |name: &str| {
        text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(str::len)
    };
    let found = (0..).zip(names).find_map(|(index, name)| {
        starts(name).or_else(|| starts(&name[..name.len().min(3)])).map(|len| (index, len))
    });
    found.map(|(index, len)| (index, &text[len..]))
}

/// Days since the Unix epoch; a month out of range counts on.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year.clamp(-1_000_000, 1_000_000) + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    calendar::days(year, month, day)
}

/// Kafka Connect's text of a date, a time or a timestamp, chosen by the value alone.
pub(crate) fn iso_text(ms: i64) -> String {
    let pattern = match ms {
        _ if ms < DAY => "HH:mm:ss.SSS'Z'",
        _ if ms % DAY == 0 => "yyyy-MM-dd",
        _ => "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    };
    DateFormat::compile(pattern).map(|format| format.format(ms)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_as_java_does() {
        let ms = 1_700_000_000_123;
        for (pattern, text) in [
            ("yyyy-MM-dd HH:mm:ss.SSS", "2023-11-14 22:13:20.123"),
            ("EEE, d MMM yyyy hh:mm a Z", "Tue, 14 Nov 2023 10:13 PM +0000"),
            ("yyyyMMdd", "20231114"),
            ("yy'y' D ''EEEE''", "23y 318 'Tuesday'"),
        ] {
            let format = DateFormat::compile(pattern).unwrap();
            assert_eq!(format.format(ms), text);
        }
        let format = DateFormat::compile("yyyyMMddHHmmssSSS").unwrap();
        assert_eq!(format.parse(&format.format(ms)), Some(ms));
        let format = DateFormat::compile("yyyy-MM-dd'T'HH:mmX").unwrap();
        assert_eq!(format.parse("1969-12-31T23:00-02:00"), Some(3_600_000));
        assert!(DateFormat::compile("yyyy-TT").is_err() && DateFormat::compile("'x").is_err());
    }
}
