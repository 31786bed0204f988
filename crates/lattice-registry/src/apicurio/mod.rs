//! Apicurio's core API, version 3, over an [`EmbeddedRegistry`]: the same schemas as Confluent's.
//!
//! An artifact is a subject; one of another group than `default` is the subject `group:artifact`.
//! Version names are numbers; a version that is soft deleted is in the state `DISABLED`.

mod artifacts;
mod forms;
mod groups;
mod ids;
mod problem;
mod rules;
mod search;
mod system;
mod versions;

use std::sync::Arc;

use axum::{Router, extract::State, routing::get};
use serde::Deserialize;

use crate::EmbeddedRegistry;
use problem::Problem;

type Registry = State<Arc<EmbeddedRegistry>>;
type Answer = std::result::Result<forms::Json, Problem>;

/// The routes, to be nested wherever the server wants them.
pub fn apicurio_routes(registry: Arc<EmbeddedRegistry>) -> Router {
    const ARTIFACT: &str = "/groups/{group}/artifacts/{artifact}";
    let of = |rest: &str| format!("{ARTIFACT}{rest}");
    let ids = |rest: &str| format!("/ids/{rest}");
    Router::new()
        .route("/groups", get(groups::list).post(groups::create))
        .route("/groups/{group}", get(groups::one).put(groups::change).delete(groups::delete))
        .route("/groups/{group}/rules", rules::all())
        .route("/groups/{group}/rules/{rule}", rules::one())
        .route(
            "/groups/{group}/artifacts",
            get(artifacts::list).post(artifacts::create).delete(artifacts::delete_all),
        )
        .route(ARTIFACT, get(artifacts::one).put(artifacts::change).delete(artifacts::delete))
        .route(&of("/rules"), rules::all())
        .route(&of("/rules/{rule}"), rules::one())
        .route(&of("/versions"), get(versions::list).post(versions::create))
        .route(&of("/versions/{version}"), get(versions::one).delete(versions::delete))
        .route(&of("/versions/{version}/content"), get(versions::content))
        .route(&of("/versions/{version}/references"), get(versions::references))
        .route(&of("/versions/{version}/state"), get(versions::state).put(versions::change_state))
        .route(&of("/versions/{version}/comments"), get(versions::comments))
        .route(&of("/branches"), get(versions::branches))
        .route(&of("/branches/{branch}"), get(versions::branch))
        .route(&of("/branches/{branch}/versions"), get(versions::of_branch))
        .route(&ids("globalIds/{id}"), get(ids::by_global_id))
        .route(&ids("globalIds/{id}/references"), get(ids::references_of_global_id))
        .route(&ids("contentIds/{id}"), get(ids::by_content_id))
        .route(&ids("contentIds/{id}/references"), get(ids::references_of_content_id))
        .route(&ids("contentHashes/{hash}"), get(ids::by_hash))
        .route(&ids("contentHashes/{hash}/references"), get(ids::references_of_hash))
        .route("/search/groups", get(groups::list))
        .route("/search/artifacts", get(search::artifacts).post(search::artifacts_by_content))
        .route("/search/versions", get(search::versions).post(search::versions_by_content))
        .route("/admin/rules", rules::all())
        .route("/admin/rules/{rule}", rules::one())
        .route("/admin/config/artifactTypes", get(system::types))
        .route("/system/info", get(system::info))
        .route("/system/uiConfig", get(system::ui))
        .route("/users/me", get(system::me))
        .with_state(registry)
        .method_not_allowed_fallback(problem::wrong_method)
}

/// A version's place in a path.
#[derive(Deserialize)]
struct VersionPath {
    group: String,
    artifact: String,
    version: String,
}

/// An artifact's place in a path.
#[derive(Deserialize)]
struct ArtifactPath {
    group: String,
    artifact: String,
}

impl ArtifactPath {
    fn subject(&self) -> String {
        forms::subject_of(Some(&self.group), &self.artifact)
    }
}

/// Which part of a list is wanted.
#[derive(Deserialize)]
#[serde(default)]
struct Page {
    offset: usize,
    limit: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { offset: 0, limit: 20 }
    }
}

impl Page {
    fn of<T>(&self, items: Vec<T>) -> Vec<T> {
        items.into_iter().skip(self.offset).take(self.limit).collect()
    }
}
