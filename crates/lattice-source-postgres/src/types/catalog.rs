//! The types of a server, looked up by OID when a table first needs them. OIDs and never names:
//! two schemas may have types of one name.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use lattice_core::Result;

use crate::connection::Connection;

/// What kind of type it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A plain one, known by its name.
    Base,
    /// An array of this element type.
    Array {
        /// The element's OID.
        element: u32,
        /// What stands between elements.
        delimiter: u8,
    },
    /// An enum with these labels, in order, joined by commas.
    Enum(Arc<str>),
    /// A domain over this type with this modifier.
    Domain {
        /// The base type's OID.
        base: u32,
        /// Its modifier; -1: the column's own.
        typmod: i32,
    },
    /// A range.
    Range,
    /// Something else: composite, multirange, pseudo.
    Other,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: Kind,
}

/// A column's type as a database's tools tell it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Described {
    /// Its name, without its schema.
    pub name: String,
    /// Most characters or digits, where it declares them.
    pub length: Option<u64>,
    /// Decimal places, where it declares them.
    pub scale: Option<u64>,
    /// Whether its values are texts of characters.
    pub is_text: bool,
}

/// What JDBC tells as the length of texts without one.
const LONGEST: u64 = i32::MAX as u64;

/// Describes a column's type.
#[must_use]
pub fn describe(catalog: &Catalog, oid: u32, typmod: i32) -> Described {
    let Some(info) = catalog.get(oid) else { return Described::default() };
    let name = info.name.to_string();
    let declared = u64::try_from(typmod - 4).ok();
    let built_in = &*info.schema == "pg_catalog";
    let is_text = built_in && matches!(&*name, "text" | "varchar" | "bpchar" | "name" | "char");
    let (length, scale) = match (&*name, built_in) {
        ("varchar" | "bpchar" | "text", true) => (declared.or(Some(LONGEST)), Some(0)),
        ("int2", true) => (Some(5), Some(0)),
        ("int4", true) => (Some(10), Some(0)),
        ("int8", true) => (Some(19), Some(0)),
        ("numeric", true) => {
            (declared.map(|packed| packed >> 16), declared.map(|packed| packed & 0x7ff))
        }
        _ => (None, None),
    };
    Described { name, length, scale, is_text }
}

/// The types that are known so far.
#[derive(Debug, Default)]
pub struct Catalog {
    types: HashMap<u32, TypeInfo>,
}

impl Catalog {
    /// The type of this OID, if the server had it when it was asked.
    #[must_use]
    pub fn get(&self, oid: u32) -> Option<&TypeInfo> {
        self.types.get(&oid)
    }

    /// Looks up those of `oids` that are not known, and what they are made of.
    ///
    /// Errors: the server's.
    pub async fn load(
        &mut self,
        connection: &mut Connection,
        oids: impl IntoIterator<Item = u32>,
    ) -> Result<()> {
        let mut wanted: BTreeSet<u32> = oids.into_iter().collect();
        loop {
            wanted.retain(|oid| *oid != 0 && !self.types.contains_key(oid));
            if wanted.is_empty() {
                return Ok(());
            }
            let list: Vec<String> = wanted.iter().map(u32::to_string).collect();
            let rows = connection.query(&lookup(&list.join(","))).await?;
            let mut next = BTreeSet::new();
            for row in rows {
                let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
                let number = |index: usize| text(index).parse::<u32>().unwrap_or(0);
                let kind = match text(3) {
                    "d" => {
                        next.insert(number(5));
                        let typmod = text(6).parse().unwrap_or(-1);
                        Kind::Domain { base: number(5), typmod }
                    }
                    "e" => Kind::Enum(text(8).into()),
                    "r" => Kind::Range,
                    "b" if text(9) == "t" => {
                        next.insert(number(4));
                        let delimiter = text(7).bytes().next().unwrap_or(b',');
                        Kind::Array { element: number(4), delimiter }
                    }
                    "b" => Kind::Base,
                    _ => Kind::Other,
                };
                let info = TypeInfo { schema: text(1).into(), name: text(2).into(), kind };
                self.types.insert(number(0), info);
            }
            // What the server no longer knows is not asked for again and again.
            next.retain(|oid| !wanted.contains(oid));
            wanted = next;
        }
    }

    /// Forgets types that users can change, so that a new label of an enum is seen.
    pub fn forget_user_types(&mut self) {
        const FIRST_USER_OID: u32 = 16_384;
        self.types.retain(|oid, _| *oid < FIRST_USER_OID);
    }
}

fn lookup(oids: &str) -> String {
    format!(
        "SELECT t.oid, n.nspname, t.typname, t.typtype, t.typelem, t.typbasetype, t.typtypmod, \
         t.typdelim, (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) \
         FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid), \
         t.typelem <> 0 AND t.typcategory = 'A' \
         FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
         WHERE t.oid IN ({oids})"
    )
}
