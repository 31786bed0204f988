//! What the registry says about itself.

use serde_json::json;

use super::forms::Json;
use crate::parsed::TYPES;

pub(super) async fn info() -> Json {
    Json(json!({
        "name": "Lattice",
        "description": "The schema registry of a Lattice worker.",
        "version": env!("CARGO_PKG_VERSION"),
        "builtOn": "",
    }))
}

pub(super) async fn ui() -> Json {
    let features = json!({
        "readOnly": false, "breadcrumbs": true, "roleManagement": false, "settings": false,
    });
    Json(json!({ "auth": { "type": "none", "obacEnabled": false }, "features": features }))
}

pub(super) async fn me() -> Json {
    Json(json!({
        "username": "", "displayName": "", "admin": false, "developer": false, "viewer": false,
    }))
}

pub(super) async fn types() -> Json {
    Json(TYPES.iter().map(|name| json!({ "name": name })).collect())
}
