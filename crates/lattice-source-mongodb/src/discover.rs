//! Which collections there are.

use futures_util::TryStreamExt;
use lattice_core::{Result, config::ConfigIssue, connector::TableInfo};
use mongodb::{
    bson::doc,
    results::{CollectionSpecification, CollectionType},
};

use crate::{
    client::Deployment,
    config::{Scope, Settings},
    error::explain,
    row,
};

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its database.
    pub database: String,
    /// Its name.
    pub collection: String,
    /// The server keeps documents as they were before a change.
    pub pre_images: bool,
}

impl Found {
    /// `database.collection`
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.database, self.collection)
    }
}

/// The collections that changes can be captured of, whatever the lists say, by name.
///
/// Errors: the server's.
pub async fn all(deployment: &Deployment, settings: &Settings) -> Result<Vec<Found>> {
    let client = &deployment.client;
    let names = match &settings.scope {
        Scope::Database(name) | Scope::Collection(name, _) => vec![name.clone()],
        Scope::Deployment => {
            let listed = client.list_database_names().authorized_databases(true).await;
            listed.map_err(|error| explain("list the databases", &error))?
        }
    };
    let mut found = Vec::new();
    for database in names.into_iter().filter(|name| settings.filter.allows_database(name)) {
        let what = format!("list the collections of database {database}");
        let cursor = client.database(&database).list_collections().await;
        let cursor = cursor.map_err(|error| explain(&what, &error))?;
        let listed: Vec<CollectionSpecification> =
            cursor.try_collect().await.map_err(|error| explain(&what, &error))?;
        for collection in listed {
            let wanted = match &settings.scope {
                Scope::Collection(_, only) => *only == collection.name,
                _ => true,
            };
            let real = matches!(collection.collection_type, CollectionType::Collection);
            if real && wanted && !collection.name.starts_with("system.") {
                let images = collection.options.change_stream_pre_and_post_images;
                found.push(Found {
                    database: database.clone(),
                    collection: collection.name,
                    pre_images: images.is_some_and(|images| images.enabled),
                });
            }
        }
    }
    found.sort_by_key(Found::name);
    Ok(found)
}

/// What pickers show.
///
/// Errors: the server's.
pub async fn table_infos(deployment: &Deployment, settings: &Settings) -> Result<Vec<TableInfo>> {
    let mut infos = Vec::new();
    for found in all(deployment, settings).await? {
        let captured = settings.filter.allows(&found.database, &found.collection);
        let mut issues = Vec::new();
        if captured && settings.pre_image && !found.pre_images {
            issues.push(missing_images(&found));
        }
        let collection = deployment
            .client
            .database(&found.database)
            .collection::<mongodb::bson::RawDocumentBuf>(&found.collection);
        infos.push(TableInfo {
            name: found.name(),
            columns: row::columns()
                .into_iter()
                .map(|column| {
                    let kind = if &*column.name == "id" { "_id" } else { "document" };
                    (column.name.to_string(), column.schema, kind.to_owned())
                })
                .collect(),
            key: vec!["id".to_owned()],
            rows: collection.estimated_document_count().await.ok(),
            bytes: None,
            captured,
            issues,
        });
    }
    Ok(infos)
}

/// The collection has no images and the configuration wants them.
pub(crate) fn missing_images(found: &Found) -> ConfigIssue {
    let message = format!(
        "collection {} does not keep documents as they were before a change: \"before\" would be null",
        found.name()
    );
    ConfigIssue::warning("capture.mode", message).remedy(&format!(
        "db.getSiblingDB(\"{}\").runCommand({})",
        found.database,
        doc! {"collMod": &found.collection, "changeStreamPreAndPostImages": {"enabled": true}}
    ))
}
