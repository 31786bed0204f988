//! Protobuf's language (`.proto`), as far as a registry reads it: messages, fields, enums, oneofs.
//!
//! Source: the language specification of proto2 and proto3; services and options are passed over.

use std::collections::BTreeMap;

/// A file's types by their full names without the package.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) messages: BTreeMap<String, Message>,
    pub(crate) enums: BTreeMap<String, Enum>,
}

/// A message's fields by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) fields: BTreeMap<u32, Field>,
}

/// A field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The type as it is written; `map<K,V>` in one word.
    pub(crate) kind: String,
    pub(crate) repeated: bool,
    pub(crate) required: bool,
    pub(crate) oneof: Option<String>,
}

/// An enum's constants by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Enum {
    pub(crate) constants: BTreeMap<i64, String>,
}

/// Nesting deeper than this is refused, so that hostile input cannot exhaust the stack.
const MAX_DEPTH: usize = 64;

type Result<T> = std::result::Result<T, String>;

/// The words and signs of a text without white space and comments.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let word =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || byte >= 128;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            byte if byte.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |end| at + end);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at..].find("*/").map_or(bytes.len(), |end| at + end + 2);
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while let Some(byte) = bytes.get(at) {
                    at += if *byte == b'\\' { 2 } else { 1 };
                    if byte == quote {
                        break;
                    }
                }
                at = (at.min(bytes.len())..=bytes.len())
                    .find(|end| text.is_char_boundary(*end))
                    .unwrap_or(bytes.len());
                tokens.push(&text[start..at]);
            }
            byte if word(*byte) => {
                while bytes.get(at).is_some_and(|byte| word(*byte)) {
                    at += 1;
                }
                tokens.push(&text[start..at]);
            }
            _ => {
                at += 1;
                tokens.push(&text[start..at]);
            }
        }
    }
    tokens
}

impl File {
    /// Reads a file's text.
    ///
    /// Errors: what is wrong with it, in words.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { tokens: tokens(text), at: 0, file: Self::default() };
        if parser.tokens.is_empty() {
            return Err("the text is empty".to_owned());
        }
        while let Some(word) = parser.next() {
            match word {
                "message" => parser.message("", 0)?,
                "enum" => parser.enumeration("")?,
                "syntax" | "edition" | "package" | "import" | "option" => parser.statement()?,
                "service" | "extend" => parser.block_after_name()?,
                ";" => {}
                other => return Err(format!("unexpected \"{other}\"")),
            }
        }
        if parser.file.messages.is_empty() && parser.file.enums.is_empty() {
            return Err("the file has neither a message nor an enum".to_owned());
        }
        Ok(parser.file)
    }
}

struct Parser<'t> {
    tokens: Vec<&'t str>,
    at: usize,
    file: File,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let token = self.tokens.get(self.at).copied();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).copied()
    }

    fn word(&mut self) -> Result<&'t str> {
        let word = self.next().ok_or("the text ends too early")?;
        let good = word.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '.'));
        if good { Ok(word) } else { Err(format!("expected a name, found \"{word}\"")) }
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        match self.next() {
            Some(found) if found == sign => Ok(()),
            Some(found) => Err(format!("expected \"{sign}\", found \"{found}\"")),
            None => Err(format!("expected \"{sign}\", found the end")),
        }
    }

    /// Passes over everything up to the semicolon, blocks included.
    fn statement(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            match self.next().ok_or("a statement without its semicolon")? {
                "{" | "[" => depth += 1,
                "}" | "]" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => return Ok(()),
                _ => {}
            }
        }
    }

    fn block_after_name(&mut self) -> Result<()> {
        self.word()?;
        self.expect("{")?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next().ok_or("a block without its end")? {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn message(&mut self, outer: &str, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let name = qualified(outer, self.word()?);
        self.expect("{")?;
        let mut message = Message::default();
        self.members(&name, None, &mut message, depth)?;
        if self.file.messages.insert(name.clone(), message).is_some() {
            return Err(format!("message {name} is defined twice"));
        }
        Ok(())
    }

    fn members(
        &mut self,
        name: &str,
        oneof: Option<&str>,
        message: &mut Message,
        depth: usize,
    ) -> Result<()> {
        loop {
            match self.peek().ok_or_else(|| format!("{name} has no end"))? {
                "}" => {
                    self.at += 1;
                    return Ok(());
                }
                ";" => self.at += 1,
                "message" if self.begins_block() => {
                    self.at += 1;
                    self.message(name, depth + 1)?;
                }
                "enum" if self.begins_block() => {
                    self.at += 1;
                    self.enumeration(name)?;
                }
                "oneof" if self.begins_block() => {
                    self.at += 1;
                    let one = self.word()?.to_owned();
                    self.expect("{")?;
                    self.members(name, Some(&one), message, depth)?;
                }
                "extend" if self.begins_block() => {
                    self.at += 1;
                    self.block_after_name()?;
                }
                "option" | "reserved" | "extensions" => self.statement()?,
                _ => self.field(name, oneof, message)?,
            }
        }
    }

    /// Whether a keyword stands before `NAME {`: it may be a field's type or name as well.
    fn begins_block(&self) -> bool {
        self.tokens.get(self.at + 2) == Some(&"{")
    }

    fn field(&mut self, of: &str, oneof: Option<&str>, message: &mut Message) -> Result<()> {
        let mut label = "";
        if let Some(word @ ("optional" | "required" | "repeated")) = self.peek() {
            label = word;
            self.at += 1;
        }
        let kind = self.kind()?;
        let name = self.word()?.to_owned();
        self.expect("=")?;
        let number = self.word()?;
        let number: u32 =
            number.parse().map_err(|_| format!("{number} is no number of field {of}.{name}"))?;
        if self.peek() == Some("{") {
            return Err(format!("{of}.{name}: groups are not supported"));
        }
        self.statement()?;
        let field = Field {
            name,
            kind,
            repeated: label == "repeated",
            required: label == "required",
            oneof: oneof.map(str::to_owned),
        };
        if let Some(other) = message.fields.insert(number, field) {
            return Err(format!("number {number} stands twice in {of}: {}", other.name));
        }
        Ok(())
    }

    fn kind(&mut self) -> Result<String> {
        let word = self.word()?;
        if word != "map" || self.peek() != Some("<") {
            return Ok(word.trim_start_matches('.').to_owned());
        }
        self.expect("<")?;
        let key = self.word()?;
        self.expect(",")?;
        let value = self.word()?;
        self.expect(">")?;
        Ok(format!("map<{key},{value}>"))
    }

    fn enumeration(&mut self, outer: &str) -> Result<()> {
        let name = qualified(outer, self.word()?);
        self.expect("{")?;
        let mut constants = BTreeMap::new();
        loop {
            match self.word_or_end(&name)? {
                None => break,
                Some("option" | "reserved") => self.statement()?,
                Some(constant) => {
                    self.expect("=")?;
                    let negative = self.peek() == Some("-");
                    self.at += usize::from(negative);
                    let number = self.word()?;
                    let number: i64 =
                        number.parse().map_err(|_| format!("{number} is no number of {name}"))?;
                    constants.insert(if negative { -number } else { number }, constant.to_owned());
                    self.statement()?;
                }
            }
        }
        self.file.enums.insert(name, Enum { constants });
        Ok(())
    }

    fn word_or_end(&mut self, name: &str) -> Result<Option<&'t str>> {
        loop {
            match self.peek().ok_or_else(|| format!("{name} has no end"))? {
                "}" => {
                    self.at += 1;
                    return Ok(None);
                }
                ";" => self.at += 1,
                _ => return self.word().map(Some),
            }
        }
    }
}

fn qualified(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fields_enums_and_oneofs_are_read() {
        let file = File::parse(
            r#"syntax = "proto3"; // a comment; with { signs
            package a.b; import "other.proto"; option java_package = "x";
            message A { int32 id = 1; repeated string tags = 2 [packed = true];
              map<string, B> more = 3; oneof one { string s = 4; bytes b = 5; }
              message Inner { optional bool flag = 1; } enum E { ZERO = 0; NEG = -1; }
              reserved 8, 9; }
            service S { rpc Get (A) returns (A) {} }"#,
        )
        .unwrap();
        let message = &file.messages["A"];
        assert_eq!(message.fields[&3].kind, "map<string,B>");
        assert!(message.fields[&2].repeated);
        assert_eq!(message.fields[&5].oneof.as_deref(), Some("one"));
        assert!(file.messages.contains_key("A.Inner"));
        assert_eq!(file.enums["A.E"].constants[&-1], "NEG");
    }

    #[test]
    fn what_is_no_protobuf_is_refused_and_nothing_panics() {
        for text in ["", "nope", "message A {", "message A { int32 = 1; }", "{\"a\":1}", "'\\é"] {
            assert!(File::parse(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "message A {".repeat(10_000), "}".repeat(10_000));
        assert!(File::parse(&deep).is_err());
    }

    #[test]
    fn tokens_know_no_white_space_and_no_comments() {
        let plain = tokens("message A{int32 a=1;}");
        assert_eq!(tokens("/* x */ message A {\n // y\n int32 a = 1 ; }"), plain);
    }
}
