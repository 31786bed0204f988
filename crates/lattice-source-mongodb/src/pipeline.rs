//! The change stream's stages: what the server leaves out already. Source: Debezium's
//! `ChangeStreamPipelineFactory`; patterns are anchored here, and both filters hold.

use mongodb::bson::{Bson, Document, Timestamp, doc};

use crate::{
    config::{Order, Oversize, Scope, Settings, filter::List},
    position::Offset,
};

/// All stages, `$changeStream` first. `resume`: from there; else from now.
#[must_use]
pub fn stages(settings: &Settings, resume: Option<&Offset>) -> Vec<Document> {
    let mut stages = vec![doc! {"$changeStream": options(settings, resume)}];
    if let Oversize::Skip(threshold) = settings.oversize {
        let fits = |field: &str| {
            doc! {"$lte": [{"$bsonSize": {"$ifNull": [field, {}]}}, threshold]}
        };
        let fits = [fits("$fullDocument"), fits("$fullDocumentBeforeChange")].map(Bson::from);
        stages.push(doc! {"$match": {"$expr": {"$and": fits.to_vec()}}});
    }
    let internal = internal(settings);
    let user = settings.pipeline.clone();
    match settings.order {
        Order::InternalFirst => stages.extend(internal.into_iter().chain(user)),
        Order::UserFirst => stages.extend(user.into_iter().chain(internal)),
        Order::UserOnly => stages.extend(user),
    }
    if settings.oversize == Oversize::Split {
        stages.push(doc! {"$changeStreamSplitLargeEvent": {}});
    }
    stages
}

fn options(settings: &Settings, resume: Option<&Offset>) -> Document {
    let mut options = Document::new();
    if settings.full_update {
        let form = if settings.post_image { "whenAvailable" } else { "updateLookup" };
        options.insert("fullDocument", form);
    }
    if settings.pre_image {
        options.insert("fullDocumentBeforeChange", "whenAvailable");
    }
    if settings.scope == Scope::Deployment {
        options.insert("allChangesForCluster", true);
    }
    let token = resume.and_then(|offset| offset.token.as_deref());
    let token = token.and_then(|token| Document::from_reader(token).ok());
    let time = match resume {
        Some(offset) => offset.time,
        None => settings.start_time,
    };
    match (token, time) {
        // Also resumes after a stream that was invalidated.
        (Some(token), _) => {
            options.insert("startAfter", token);
        }
        (None, Some(time)) => {
            options.insert("startAtOperationTime", timestamp(time));
        }
        (None, None) => {}
    }
    options
}

#[allow(clippy::cast_possible_truncation)] // the two halves
fn timestamp(time: u64) -> Timestamp {
    Timestamp { time: (time >> 32) as u32, increment: time as u32 }
}

/// What Debezium's own stages leave through, and what tells about the collections themselves.
fn internal(settings: &Settings) -> Vec<Document> {
    let mut operations = vec!["drop", "rename", "dropDatabase", "invalidate"];
    for (letter, names) in
        [('c', &["insert"][..]), ('u', &["update", "replace"][..]), ('d', &["delete"][..])]
    {
        if !settings.skipped.contains(letter) {
            operations.extend(names);
        }
    }
    let filter = &settings.filter;
    let by_operation = doc! {"$match": {"operationType": {"$in": operations}}};
    if filter.databases.is_empty() && filter.collections.is_empty() {
        return vec![by_operation];
    }
    if filter.literal {
        return vec![by_operation, doc! {"$match": literal(settings)}];
    }
    // A namespace can be matched as a whole only once it is a field.
    let namespace = doc! {"$concat": ["$ns.db", ".", {"$ifNull": ["$ns.coll", ""]}]};
    let mut wanted = Vec::new();
    if !filter.databases.is_empty() {
        wanted.push(Bson::from(doc! {"event.ns.db": pattern(&filter.databases)}));
    }
    if !filter.collections.is_empty() {
        wanted.push(Bson::from(doc! {"namespace": pattern(&filter.collections)}));
    }
    let about = doc! {"event.operationType": {"$in": ["invalidate", "dropDatabase"]}};
    vec![
        by_operation,
        doc! {"$replaceRoot": {"newRoot": {"namespace": namespace, "event": "$$ROOT"}}},
        doc! {"$match": {"$or": [about, {"$and": wanted}]}},
        doc! {"$replaceRoot": {"newRoot": "$event"}},
    ]
}

fn pattern(list: &List) -> Document {
    let joined = format!("^(?:{})$", list.entries.join("|"));
    let pattern = doc! {"$regex": joined, "$options": "i"};
    if list.exclude {
        doc! {"$not": pattern}
    } else {
        pattern
    }
}

fn literal(settings: &Settings) -> Document {
    let filter = &settings.filter;
    let operator = |list: &List| if list.exclude { "$nin" } else { "$in" };
    let mut wanted = Vec::new();
    if !filter.databases.is_empty() {
        let names = filter.databases.entries.clone();
        wanted.push(Bson::from(doc! {"ns.db": {operator(&filter.databases): names}}));
    }
    if !filter.collections.is_empty() {
        let names: Vec<Document> = filter
            .collections
            .entries
            .iter()
            .filter_map(|name| name.split_once('.'))
            .map(|(database, collection)| doc! {"db": database, "coll": collection})
            .collect();
        wanted.push(Bson::from(doc! {"ns": {operator(&filter.collections): names}}));
    }
    let about = doc! {"operationType": {"$in": ["invalidate", "dropDatabase"]}};
    doc! {"$or": [about, {"$and": wanted}]}
}
