//! A server's answer to a cursor, taken apart without a copy.

use bytes::Bytes;
use lattice_core::{Error, Result, event::Span};
use mongodb::raw_batch_cursor::RawBatch;

use crate::bson::{self, elements};

/// Keeps an answer alive as the buffer of a batch.
struct Owner(RawBatch);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_raw_document().as_bytes()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// All of it.
    pub(crate) data: Bytes,
    /// Where the documents stand in it.
    pub(crate) documents: Vec<Span>,
    /// The token to resume from after all of them, as BSON.
    pub(crate) token: Option<Vec<u8>>,
    /// The operation's cluster time.
    pub(crate) time: Option<u64>,
}

impl Reply {
    /// Errors: `Transient`, for an answer that is none.
    pub(crate) fn read(batch: RawBatch) -> Result<Self> {
        let data = Bytes::from_owner(Owner(batch));
        let bad = || Error::transient("the server's answer to a cursor is not understood");
        let cursor = bson::get(&data, "cursor").and_then(bson::Raw::as_document).ok_or_else(bad)?;
        let time = bson::get(&data, "operationTime").and_then(bson::Raw::as_timestamp);
        let mut documents = Vec::new();
        let mut token = None;
        for element in elements(cursor)? {
            let element = element?;
            let Some(inner) = element.value.as_document() else { continue };
            match element.name {
                b"firstBatch" | b"nextBatch" => {
                    for document in elements(inner)? {
                        let document = document?.value.as_document().ok_or_else(bad)?;
                        documents.push(place(&data, document).ok_or_else(bad)?);
                    }
                }
                b"postBatchResumeToken" => token = Some(inner.to_vec()),
                _ => {}
            }
        }
        Ok(Self { data, documents, token, time })
    }
}

/// Where `part`, a slice of `data`, stands in it.
pub(crate) fn place(data: &[u8], part: &[u8]) -> Option<Span> {
    let start = (part.as_ptr() as usize).checked_sub(data.as_ptr() as usize)?;
    let span = Span { start: u32::try_from(start).ok()?, len: u32::try_from(part.len()).ok()? };
    (start + part.len() <= data.len()).then_some(span)
}
