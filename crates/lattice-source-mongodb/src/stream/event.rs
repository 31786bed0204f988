//! An event of the change stream, as far as it matters here.

use lattice_core::{Error, Result};

use crate::bson::{self, Raw, elements, kind};

/// An event's own words; its documents are read by the row's decoder.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Event<'a> {
    pub(super) token: Option<&'a [u8]>,
    pub(super) operation: &'a str,
    pub(super) database: &'a str,
    pub(super) collection: &'a str,
    /// Where a rename went.
    pub(super) to: Option<&'a [u8]>,
    pub(super) time: Option<u64>,
    pub(super) wall_ms: Option<i64>,
    pub(super) session: Option<&'a [u8]>,
    pub(super) number: Option<i64>,
    /// Fragment and how many there are.
    pub(super) split: Option<(i64, i64)>,
    /// Whether the document before is there.
    pub(super) before: bool,
}

impl<'a> Event<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut event = Self::default();
        for element in elements(bytes)? {
            let element = element?;
            let value = element.value;
            match element.name {
                b"_id" => event.token = value.as_document(),
                b"operationType" => event.operation = value.as_str().unwrap_or(""),
                b"clusterTime" => event.time = value.as_timestamp(),
                b"wallTime" => event.wall_ms = value.as_i64(),
                b"ns" => {
                    let (database, collection) = namespace(value);
                    event.database = database;
                    event.collection = collection;
                }
                b"to" => event.to = value.as_document(),
                b"lsid" => event.session = value.as_document(),
                b"txnNumber" => event.number = value.as_i64(),
                b"splitEvent" => event.split = split(value),
                b"fullDocumentBeforeChange" => event.before = value.kind == kind::DOCUMENT,
                _ => {}
            }
        }
        if event.token.is_none() {
            return Err(Error::config("an event of the change stream has no _id").with_remedy(
                "a stage of \"cursor.pipeline\" must not remove _id: it is the position",
            ));
        }
        Ok(event)
    }
}

fn namespace(value: Raw<'_>) -> (&str, &str) {
    let Some(document) = value.as_document() else { return ("", "") };
    let part = |name| bson::get(document, name).and_then(Raw::as_str).unwrap_or("");
    (part("db"), part("coll"))
}

fn split(value: Raw<'_>) -> Option<(i64, i64)> {
    let document = value.as_document()?;
    let number = |name| bson::get(document, name).and_then(Raw::as_i64);
    number("fragment").zip(number("of"))
}

/// One event of its fragments: each field's first value that is not null, the last fragment's token.
pub(super) fn merged(fragments: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut fields: Vec<(&[u8], Raw<'_>)> = Vec::new();
    for fragment in fragments {
        for element in elements(fragment)? {
            let element = element?;
            if element.name == b"splitEvent" {
                continue;
            }
            match fields.iter_mut().find(|(name, _)| *name == element.name) {
                Some((name, value)) if *name == b"_id" || value.kind == kind::NULL => {
                    *value = element.value;
                }
                Some(_) => {}
                None => fields.push((element.name, element.value)),
            }
        }
    }
    let mut out = vec![0; 4];
    for (name, value) in fields {
        out.push(value.kind);
        out.extend_from_slice(name);
        out.push(0);
        out.extend_from_slice(value.bytes);
    }
    out.push(0);
    let length = i32::try_from(out.len())
        .map_err(|_| Error::data("a change of more than 2 GB, in parts"))?;
    out[..4].copy_from_slice(&length.to_le_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{Document, doc};

    #[test]
    fn fragments_become_one_event_with_the_last_token() {
        let first = doc! {"_id": {"_data": "a"}, "operationType": "update", "fullDocument": null,
        "splitEvent": {"fragment": 1, "of": 2}};
        let second = doc! {"_id": {"_data": "b"}, "operationType": "update", "fullDocument": {"x": 1},
        "splitEvent": {"fragment": 2, "of": 2}};
        let bytes = [first, second].map(|part| part.to_vec().unwrap());
        let whole = Document::from_reader(merged(&bytes).unwrap().as_slice()).unwrap();
        let expected =
            doc! {"_id": {"_data": "b"}, "operationType": "update", "fullDocument": {"x": 1}};
        assert_eq!(whole, expected);
    }
}
