//! Logical decoding messages, and records of the source's own.

use std::sync::Arc;

use lattice_core::{
    Result,
    event::{Notice, NoticeKind, Op},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use super::{Assembler, HEARTBEAT_PREFIX, MESSAGE_OID, now_us, span};
use crate::{incremental::WATERMARK_PREFIX, protocol::pgoutput::Tuple};

impl Assembler {
    /// True: it ends what the incremental snapshot was reading.
    pub(super) fn message(
        &mut self,
        transactional: bool,
        prefix: (usize, usize),
        content: (usize, usize),
        payload: &[u8],
        base: usize,
        lsn: u64,
    ) -> Result<bool> {
        if transactional {
            if !self.count(lsn, "MESSAGE") {
                return Ok(false);
            }
        } else {
            if self.offset.message_lsn.is_some_and(|done| lsn <= done) {
                return Ok(false);
            }
            self.offset.message_lsn = Some(lsn);
            self.moved = true;
            if !self.transaction.open {
                // Every transaction committed before it was sent before it.
                self.offset.commit_lsn = self.offset.commit_lsn.max(Some(lsn));
            }
        }
        let text = payload.get(prefix.0..prefix.1).and_then(|text| std::str::from_utf8(text).ok());
        let text = text.unwrap_or("");
        if text == WATERMARK_PREFIX {
            let content = payload.get(content.0..content.1).unwrap_or_default();
            return Ok(self.incremental.watermark(content));
        }
        if text == HEARTBEAT_PREFIX || !self.messages.allows(text) {
            return Ok(false);
        }
        let Some(table) = self.table(MESSAGE_OID)? else { return Ok(false) };
        let before = span(Tuple { start: prefix.0, end: prefix.1 }, base)?;
        let after = span(Tuple { start: content.0, end: content.1 }, base)?;
        self.push(table, Op::Message, Some(before), Some(after), lsn, u64::from(after.len));
        if let Some(event) = self.events.last_mut().filter(|_| !transactional) {
            event.origin.tx_id = None;
            event.origin.extra = None;
            event.origin.last_commit_lsn = self.last_commit;
            event.origin.ts_us = now_us();
        }
        Ok(false)
    }

    /// Adds a heartbeat record.
    pub(in crate::stream) fn beat(&mut self) {
        let text = Arc::new(Schema::new(Type::String));
        let key =
            Schema { fields: vec![Field::new("serverName", text)], ..Schema::new(Type::Struct) }
                .named("io.debezium.connector.common.ServerNameKey", 1);
        let number = Arc::new(Schema::new(Type::Int64));
        let value =
            Schema { fields: vec![Field::new("ts_ms", number)], ..Schema::new(Type::Struct) }
                .named("io.debezium.connector.common.Heartbeat", 1);
        let name = Value::Text(Text::owned(self.prefix.to_string()));
        self.notices.push(Notice {
            kind: NoticeKind::Heartbeat,
            before_event: self.events.len(),
            key: (Arc::new(key), Value::Struct(vec![name])),
            value: (Arc::new(value), Value::Struct(vec![Value::Int(now_us() / 1000)])),
        });
    }
}
