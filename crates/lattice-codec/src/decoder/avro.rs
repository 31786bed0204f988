//! A record's schema, compiled: where in its bytes the rows stand and what its source block says.

use std::sync::Arc;

use lattice_core::{
    event::{Column, Op, SnapshotMarker, Span},
    schema::Schema as ConnectSchema,
};
use lattice_registry::avro::{Kind, NodeId, Record, Schema};

use super::{convert::Part, row::AvroRow};
use crate::avro::{Damage, Hops, Input, Reader, connect_schema};

/// How records of one schema are taken apart.
#[derive(Debug)]
pub(super) struct AvroPlan {
    steps: Vec<Step>,
    /// Whether it is Debezium's envelope, and not a row itself.
    envelope: bool,
    /// Past a row.
    past_row: Hops,
    pub(super) row: Arc<AvroRow>,
}

/// What to do with a field of the record.
#[derive(Debug)]
enum Step {
    /// A row; the union's branch.
    Before(Option<u8>),
    After(Option<u8>),
    Op(Reader),
    Note(Mark, Reader),
    Skip(Hops),
}

/// Steps under construction: what is gone past is gone past together.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn skip(&mut self, reader: Reader) {
        if let Some(Step::Skip(hops)) = self.0.last_mut() {
            hops.push(reader);
            return;
        }
        let mut hops = Hops::default();
        hops.push(reader);
        self.0.push(Step::Skip(hops));
    }

    /// The fields of a record, by what they say about the origin.
    fn marks(
        &mut self,
        schema: &Schema,
        record: &Record,
        mark: fn(&str) -> Mark,
    ) -> Result<(), Damage> {
        for field in &record.fields {
            let reader = Reader::compile(schema, field.schema)?;
            match mark(&field.name) {
                Mark::Nothing => self.skip(reader),
                mark => self.0.push(Step::Note(mark, reader)),
            }
        }
        Ok(())
    }
}

/// What a field says about the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Lsn,
    TsMs,
    TsUs,
    TxId,
    Snapshot,
    File,
    Pos,
    Deleted,
    Nothing,
}

impl AvroPlan {
    pub(super) fn compile(schema: &Schema, placeholder: &[u8]) -> Result<Self, Damage> {
        let root = schema.root();
        let Kind::Record(record) = schema.kind(root) else {
            return single(schema, root, placeholder);
        };
        let field = |name: &str| record.fields.iter().find(|field| &*field.name == name);
        let after = field("after").or_else(|| field("before"));
        let row = after.and_then(|field| row_node(schema, field.schema));
        match (row, field("op"), field("source")) {
            (Some((_, row)), Some(_), Some(_)) => envelope(schema, record, row, placeholder),
            _ => plain(schema, root, record, placeholder),
        }
    }

    /// Finds the rows and the origin of a record without reading anything else.
    pub(super) fn locate(&self, data: &[u8], span: Span) -> Result<Part, Damage> {
        let mut input = Input::new(span.of(data));
        let mut part = Part::plain(span);
        let mut marks = Marks::default();
        if self.envelope {
            part.after = None;
        }
        for step in &self.steps {
            match step {
                Step::Before(branch) => part.before = self.row(&mut input, *branch, span)?,
                Step::After(branch) => part.after = self.row(&mut input, *branch, span)?,
                Step::Op(reader) => {
                    let word = text_of(reader, &mut input)?.unwrap_or("");
                    part.op = op(word)
                        .ok_or_else(|| Damage::new(format!("unknown operation \"{word}\"")))?;
                }
                Step::Note(mark, reader) => marks.note(*mark, reader, &mut input)?,
                Step::Skip(hops) => hops.skip(&mut input)?,
            }
        }
        if input.left() > 0 {
            return Err(Damage::new(format!("{} bytes follow the value", input.left())));
        }
        if marks.deleted {
            part.op = Op::Delete;
            part.before = part.after.take();
        }
        marks.give(&mut part);
        Ok(part)
    }

    fn row(
        &self,
        input: &mut Input<'_>,
        branch: Option<u8>,
        span: Span,
    ) -> Result<Option<Span>, Damage> {
        if let Some(branch) = branch
            && !input.optional(branch)?
        {
            return Ok(None);
        }
        let position = |input: &Input<'_>| u32::try_from(input.left()).map(|left| span.len - left);
        let start = position(input).map_err(|_| "the record is too long")?;
        self.past_row.skip(input)?;
        let end = position(input).map_err(|_| "the record is too long")?;
        Ok(Some(Span { start: span.start + start, len: end - start }))
    }
}

/// The record inside of an optional row, and the union's branch.
fn row_node(schema: &Schema, id: NodeId) -> Option<(Option<u8>, NodeId)> {
    match schema.kind(id) {
        Kind::Record(_) => Some((None, id)),
        Kind::Union(branches) => {
            let found =
                branches.iter().position(|id| matches!(schema.kind(*id), Kind::Record(_)))?;
            (branches.len() == 2).then_some((u8::try_from(found).ok(), branches[found]))
        }
        _ => None,
    }
}

fn envelope(
    schema: &Schema,
    record: &Record,
    row: NodeId,
    placeholder: &[u8],
) -> Result<AvroPlan, Damage> {
    let mut steps = Steps::default();
    for field in &record.fields {
        let same_row = row_node(schema, field.schema).filter(|(_, node)| *node == row);
        let reader = || Reader::compile(schema, field.schema);
        match (&*field.name, same_row, schema.kind(field.schema)) {
            ("before", Some((branch, _)), _) => steps.0.push(Step::Before(branch)),
            ("after", Some((branch, _)), _) => steps.0.push(Step::After(branch)),
            ("op", ..) => steps.0.push(Step::Op(reader()?)),
            ("source", _, Kind::Record(source)) => steps.marks(schema, source, mark_of_source)?,
            _ => steps.skip(reader()?),
        }
    }
    let (past_row, row) = row_of(schema, row, placeholder)?;
    Ok(AvroPlan { steps: steps.0, envelope: true, past_row, row })
}

fn plain(
    schema: &Schema,
    root: NodeId,
    record: &Record,
    placeholder: &[u8],
) -> Result<AvroPlan, Damage> {
    let mut steps = Steps::default();
    steps.marks(schema, record, mark_of_row)?;
    let (past_row, row) = row_of(schema, root, placeholder)?;
    Ok(AvroPlan { steps: steps.0, envelope: false, past_row, row })
}

/// A value that is no record: a row of one column.
fn single(schema: &Schema, root: NodeId, placeholder: &[u8]) -> Result<AvroPlan, Damage> {
    let column = Column { name: "value".into(), schema: Arc::new(connect_schema(schema, root)?) };
    let readers = vec![Reader::compile(schema, root)?];
    let mut steps = Steps::default();
    steps.skip(Reader::compile(schema, root)?);
    let row = Arc::new(AvroRow::new(vec![column], readers, placeholder));
    Ok(AvroPlan { steps: steps.0, envelope: false, past_row: Hops::default(), row })
}

fn mark_of_source(name: &str) -> Mark {
    match name {
        "lsn" => Mark::Lsn,
        "ts_ms" => Mark::TsMs,
        "ts_us" => Mark::TsUs,
        "txId" => Mark::TxId,
        "snapshot" => Mark::Snapshot,
        "file" => Mark::File,
        "pos" => Mark::Pos,
        _ => Mark::Nothing,
    }
}

/// What Debezium's ExtractNewRecordState adds to a row.
fn mark_of_row(name: &str) -> Mark {
    match name {
        "__deleted" => Mark::Deleted,
        "__op" => Mark::Deleted,
        "__lsn" | "__source_lsn" => Mark::Lsn,
        "__ts_ms" | "__source_ts_ms" => Mark::TsMs,
        _ => Mark::Nothing,
    }
}

fn row_of(
    schema: &Schema,
    row: NodeId,
    placeholder: &[u8],
) -> Result<(Hops, Arc<AvroRow>), Damage> {
    let mut past_row = Hops::default();
    past_row.push(Reader::compile(schema, row)?);
    let connect: ConnectSchema = connect_schema(schema, row)?;
    let Reader::Record(readers) = Reader::compile(schema, row)? else {
        return Err("a row that is no record".into());
    };
    let columns = connect
        .fields
        .into_iter()
        .map(|field| Column { name: field.name, schema: field.schema })
        .collect();
    Ok((past_row, Arc::new(AvroRow::new(columns, readers, placeholder))))
}

pub(super) fn op(word: &str) -> Option<Op> {
    Some(match word {
        "r" => Op::Read,
        "c" => Op::Create,
        "u" => Op::Update,
        "d" => Op::Delete,
        "t" => Op::Truncate,
        "m" => Op::Message,
        _ => return None,
    })
}

pub(super) fn snapshot(word: &str) -> SnapshotMarker {
    match word {
        "true" => SnapshotMarker::True,
        "first" => SnapshotMarker::First,
        "first_in_data_collection" => SnapshotMarker::FirstInDataCollection,
        "last_in_data_collection" => SnapshotMarker::LastInDataCollection,
        "last" => SnapshotMarker::Last,
        "incremental" => SnapshotMarker::Incremental,
        _ => SnapshotMarker::False,
    }
}

fn text_of<'a>(reader: &Reader, input: &mut Input<'a>) -> Result<Option<&'a str>, Damage> {
    match reader {
        Reader::Text => input.text().map(Some),
        Reader::Optional(branch, inner) if matches!(**inner, Reader::Text) => {
            if input.optional(*branch)? { input.text().map(Some) } else { Ok(None) }
        }
        other => other.skip(input).map(|()| None),
    }
}

fn long_of(reader: &Reader, input: &mut Input<'_>) -> Result<Option<i64>, Damage> {
    match reader {
        Reader::Long | Reader::Int => input.long().map(Some),
        Reader::Optional(branch, inner) if matches!(**inner, Reader::Long | Reader::Int) => {
            if input.optional(*branch)? { input.long().map(Some) } else { Ok(None) }
        }
        other => other.skip(input).map(|()| None),
    }
}

/// What was noted on the way through a record.
#[derive(Default)]
struct Marks {
    lsn: Option<i64>,
    ts_ms: Option<i64>,
    ts_us: Option<i64>,
    tx_id: Option<i64>,
    snapshot: SnapshotMarker,
    file: Option<u64>,
    pos: Option<i64>,
    deleted: bool,
}

impl Marks {
    fn note(&mut self, mark: Mark, reader: &Reader, input: &mut Input<'_>) -> Result<(), Damage> {
        match mark {
            Mark::Nothing => reader.skip(input)?,
            Mark::Lsn => self.lsn = long_of(reader, input)?,
            Mark::TsMs => self.ts_ms = long_of(reader, input)?,
            Mark::TsUs => self.ts_us = long_of(reader, input)?,
            Mark::TxId => self.tx_id = long_of(reader, input)?,
            Mark::Pos => self.pos = long_of(reader, input)?,
            Mark::Snapshot => {
                self.snapshot = text_of(reader, input)?.map(snapshot).unwrap_or_default();
            }
            Mark::File => {
                let number = text_of(reader, input)?.and_then(|file| file.rsplit('.').next());
                self.file = number.and_then(|number| number.parse().ok());
            }
            Mark::Deleted => {
                self.deleted |= matches!(text_of(reader, input)?, Some("true" | "d"));
            }
        }
        Ok(())
    }

    fn give(&self, part: &mut Part) {
        let unsigned = |number: Option<i64>| number.map(i64::cast_unsigned);
        let origin = &mut part.origin;
        origin.ts_us = self.ts_us.or(self.ts_ms.map(|ms| ms.saturating_mul(1000))).unwrap_or(0);
        origin.tx_id = unsigned(self.tx_id);
        origin.snapshot = self.snapshot;
        let file_position = self.file.zip(unsigned(self.pos)).map(|(file, pos)| file << 32 | pos);
        origin.lsn = unsigned(self.lsn).or(file_position);
    }
}
