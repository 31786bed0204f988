//! pgoutput's messages, protocol versions 1 to 4.
//!
//! Source: PostgreSQL documentation, "Logical Replication Message Formats".

use super::reader::{Malformed, Reader};

/// A column of a [`Relation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Whether it is part of the replica identity.
    pub identity: bool,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: u32,
    /// Its type modifier; -1: none.
    pub typmod: i32,
}

/// A table's structure as it was when the following changes were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its OID.
    pub oid: u32,
    /// Its schema; empty means `pg_catalog`.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// `d` default, `n` nothing, `f` full, `i` index.
    pub identity: u8,
    /// Its published columns, in order.
    pub columns: Vec<RelationColumn>,
}

/// Where a row lies: from its kind byte (`N`, `K` or `O`) to the end of its `TupleData`.
///
/// Units: bytes from the message's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuple {
    /// The kind byte's place.
    pub start: usize,
    /// The first byte behind the row.
    pub end: usize,
}

/// A message. With `streaming` on (version 2) rows carry the id of their subtransaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A transaction's changes follow.
    Begin {
        /// LSN of the commit record.
        final_lsn: u64,
        /// Units: µs since 2000-01-01 UTC.
        commit_us: i64,
        /// Its id.
        xid: u32,
    },
    /// The transaction's end.
    Commit {
        /// LSN of the commit record.
        commit_lsn: u64,
        /// The first byte behind it.
        end_lsn: u64,
        /// Units: µs since 2000-01-01 UTC.
        commit_us: i64,
    },
    /// The transaction came from another server.
    Origin {
        /// Its commit LSN there.
        lsn: u64,
        /// The origin's name.
        name: &'a str,
    },
    /// A table's structure.
    Relation(Relation),
    /// A type that is not built in.
    Type {
        /// Its OID.
        oid: u32,
        /// Its schema.
        schema: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// A row was inserted.
    Insert {
        /// The table.
        relation: u32,
        /// The row.
        new: Tuple,
    },
    /// A row was updated.
    Update {
        /// The table.
        relation: u32,
        /// The old key or the old row, if it was sent.
        old: Option<Tuple>,
        /// The row.
        new: Tuple,
    },
    /// A row was deleted.
    Delete {
        /// The table.
        relation: u32,
        /// The old key or the old row.
        old: Tuple,
    },
    /// Tables were emptied.
    Truncate {
        /// The tables.
        relations: Vec<u32>,
        /// 1: cascade, 2: restart identity.
        options: u8,
    },
    /// `pg_logical_emit_message`.
    Message {
        /// Whether it belongs to a transaction.
        transactional: bool,
        /// Its LSN.
        lsn: u64,
        /// Its prefix, as place in the message.
        prefix: (usize, usize),
        /// Its content, as place in the message.
        content: (usize, usize),
    },
    /// A piece of a transaction in progress begins (version 2).
    StreamStart {
        /// Its id.
        xid: u32,
        /// Whether it is the first piece.
        first: bool,
    },
    /// The piece ends.
    StreamStop,
    /// A streamed transaction was committed.
    StreamCommit {
        /// Its id.
        xid: u32,
        /// LSN of the commit record.
        commit_lsn: u64,
        /// The first byte behind it.
        end_lsn: u64,
        /// Units: µs since 2000-01-01 UTC.
        commit_us: i64,
    },
    /// A streamed transaction, or one of its subtransactions, was rolled back.
    StreamAbort {
        /// The transaction.
        xid: u32,
        /// The subtransaction; the same as `xid` for the whole.
        subxid: u32,
    },
    /// Two-phase messages (version 3): begin prepare, prepare, commit prepared, rollback
    /// prepared, stream prepare. Only their kind matters: they never come unless asked for.
    TwoPhase(u8),
}

/// Reads one message. `streamed`: inside `StreamStart`…`StreamStop`, where rows, relations, types,
/// truncates and messages begin with a transaction id.
///
/// Errors: bytes that are not a pgoutput message.
pub fn parse(payload: &[u8], streamed: bool) -> Result<Message<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    let tag = reader.u8()?;
    if streamed && matches!(tag, b'I' | b'U' | b'D' | b'T' | b'R' | b'Y' | b'M') {
        reader.u32()?;
    }
    match tag {
        b'I' => Ok(Message::Insert {
            relation: reader.u32()?,
            new: tuple(&mut reader, b"N")?.ok_or(Malformed("insert without a row"))?,
        }),
        b'U' => {
            let relation = reader.u32()?;
            let old = tuple(&mut reader, b"KO")?;
            let new = tuple(&mut reader, b"N")?.ok_or(Malformed("update without a row"))?;
            Ok(Message::Update { relation, old, new })
        }
        b'D' => Ok(Message::Delete {
            relation: reader.u32()?,
            old: tuple(&mut reader, b"KO")?.ok_or(Malformed("delete without a row"))?,
        }),
        b'B' => Ok(Message::Begin {
            final_lsn: reader.u64()?,
            commit_us: reader.i64()?,
            xid: reader.u32()?,
        }),
        b'C' => {
            reader.u8()?;
            let (commit_lsn, end_lsn) = (reader.u64()?, reader.u64()?);
            Ok(Message::Commit { commit_lsn, end_lsn, commit_us: reader.i64()? })
        }
        b'O' => Ok(Message::Origin { lsn: reader.u64()?, name: reader.cstr()? }),
        b'R' => relation(&mut reader).map(Message::Relation),
        b'Y' => {
            let oid = reader.u32()?;
            Ok(Message::Type { oid, schema: reader.cstr()?, name: reader.cstr()? })
        }
        b'T' => truncate(&mut reader),
        b'M' => message(&mut reader),
        b'S' => Ok(Message::StreamStart { xid: reader.u32()?, first: reader.u8()? == 1 }),
        b'E' => Ok(Message::StreamStop),
        b'c' => {
            let xid = reader.u32()?;
            reader.u8()?;
            let (commit_lsn, end_lsn) = (reader.u64()?, reader.u64()?);
            Ok(Message::StreamCommit { xid, commit_lsn, end_lsn, commit_us: reader.i64()? })
        }
        b'A' => Ok(Message::StreamAbort { xid: reader.u32()?, subxid: reader.u32()? }),
        b'b' | b'P' | b'K' | b'r' | b'p' => Ok(Message::TwoPhase(tag)),
        _ => Err(Malformed("unknown kind of change")),
    }
}

fn truncate<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {
    let count = reader.u32()?;
    let options = reader.u8()?;
    let mut relations = Vec::new();
    for _ in 0..count {
        relations.push(reader.u32()?);
    }
    Ok(Message::Truncate { relations, options })
}

fn message<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {
    let transactional = reader.u8()? & 1 == 1;
    let lsn = reader.u64()?;
    let start = reader.position();
    let prefix = (start, start + reader.cstr()?.len());
    let len = usize::try_from(reader.i32()?).map_err(|_| Malformed("negative length"))?;
    let start = reader.position();
    reader.take(len)?;
    Ok(Message::Message { transactional, lsn, prefix, content: (start, start + len) })
}

fn relation(reader: &mut Reader<'_>) -> Result<Relation, Malformed> {
    let oid = reader.u32()?;
    let (schema, table) = (reader.cstr()?.to_owned(), reader.cstr()?.to_owned());
    let identity = reader.u8()?;
    let mut columns = Vec::new();
    for _ in 0..reader.i16()? {
        columns.push(RelationColumn {
            identity: reader.u8()? & 1 == 1,
            name: reader.cstr()?.to_owned(),
            type_oid: reader.u32()?,
            typmod: reader.i32()?,
        });
    }
    Ok(Relation { oid, schema, table, identity, columns })
}

/// Skips a row if one of `kinds` stands here.
fn tuple(reader: &mut Reader<'_>, kinds: &[u8]) -> Result<Option<Tuple>, Malformed> {
    let start = reader.position();
    match reader.rest().first() {
        Some(kind) if kinds.contains(kind) => {}
        _ => return Ok(None),
    }
    reader.u8()?;
    for _ in 0..reader.i16()? {
        match reader.u8()? {
            b'n' | b'u' => {}
            b't' | b'b' => {
                let len = reader.u32()? as usize;
                reader.take(len)?;
            }
            _ => return Err(Malformed("unknown kind of column value")),
        }
    }
    Ok(Some(Tuple { start, end: reader.position() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(kind: u8, values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&u16::try_from(values.len()).unwrap().to_be_bytes());
        for value in values {
            match value {
                None => bytes.push(b'n'),
                Some(value) => {
                    bytes.push(b't');
                    bytes.extend_from_slice(&u32::try_from(value.len()).unwrap().to_be_bytes());
                    bytes.extend_from_slice(value);
                }
            }
        }
        bytes
    }

    #[test]
    fn an_update_with_its_old_key_gives_both_rows() {
        let old = row(b'K', &[Some(b"1"), None]);
        let new = row(b'N', &[Some(b"2"), Some(b"x")]);
        let mut payload = vec![b'U', 0, 0, 0, 7];
        payload.extend_from_slice(&old);
        payload.extend_from_slice(&new);
        let Message::Update { relation: 7, old: Some(o), new: n } = parse(&payload, false).unwrap()
        else {
            panic!("not an update");
        };
        assert_eq!(&payload[o.start..o.end], old);
        assert_eq!(&payload[n.start..n.end], new);
    }

    #[test]
    fn a_streamed_row_has_its_transaction_before_the_table() {
        let mut payload = vec![b'I', 0, 0, 0, 9, 0, 0, 0, 7];
        payload.extend_from_slice(&row(b'N', &[Some(b"1")]));
        let Message::Insert { relation, new } = parse(&payload, true).unwrap() else {
            panic!("not an insert");
        };
        assert_eq!((relation, new.start, new.end), (7, 9, payload.len()));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), streamed: bool) {
            let _ = parse(&bytes, streamed);
        }

        #[test]
        fn a_cut_insert_is_an_error_and_never_a_shorter_row(
            values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)), 1..6),
            cut in any::<proptest::sample::Index>(),
        ) {
            let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.as_deref()).collect();
            let mut payload = vec![b'I', 0, 0, 0, 7];
            payload.extend_from_slice(&row(b'N', &values));
            prop_assert!(parse(&payload, false).is_ok());
            let cut = cut.index(payload.len());
            prop_assert!(parse(&payload[..cut], false).is_err());
        }
    }
}
