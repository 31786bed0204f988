//! What a client has asked for once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::SchemaId;

/// Texts beyond this are forgotten all at once. Units: bytes.
const MAX_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Cache(Mutex<Content>);

#[derive(Default)]
struct Content {
    texts: HashMap<SchemaId, Arc<str>>,
    ids: HashMap<(String, String), SchemaId>,
    bytes: usize,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn text(&self, id: SchemaId) -> Option<Arc<str>> {
        self.lock().texts.get(&id).cloned()
    }

    pub(super) fn put_text(&self, id: SchemaId, text: &Arc<str>) {
        let mut content = self.lock();
        content.make_room(text.len());
        content.texts.insert(id, Arc::clone(text));
    }

    pub(super) fn id(&self, subject: &str, text: &str) -> Option<SchemaId> {
        self.lock().ids.get(&(subject.to_owned(), text.to_owned())).copied()
    }

    pub(super) fn put_id(&self, subject: &str, text: &str, id: SchemaId) {
        let mut content = self.lock();
        content.make_room(subject.len() + text.len());
        content.ids.insert((subject.to_owned(), text.to_owned()), id);
    }
}

impl Content {
    fn make_room(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            *self = Self { bytes, ..Self::default() };
        }
    }
}
