//! `lattice connectors …`.

use anyhow::{Result, bail};
use reqwest::Method;
use serde_json::{Value, json};

use super::{print_json, status};
use crate::{
    arguments::{Connectors, Global},
    client::Server,
    documents::{self, Document},
};
use lattice_server::path_segment;

pub(super) async fn run(server: &Server, global: &Global, command: Connectors) -> Result<()> {
    match command {
        Connectors::List => status::run(server, global, None, false).await,
        Connectors::Get { name } => {
            let path = format!("/api/v1/connectors/{}", path_segment(&name));
            print_json(&server.get(&path).await?)
        }
        Connectors::Create { file } => {
            let Document { name, config } = single(&file)?;
            let body = json!({ "name": name, "config": config });
            let created = server.ask(Method::POST, "/connectors", Some(&body)).await?;
            said(global, &created, &format!("created {name}"))
        }
        Connectors::Update { name, file } => {
            let document = single(&file)?;
            if document.name != name {
                bail!("the file holds connector \"{}\", not \"{name}\"", document.name);
            }
            // An update of what is not there is a mistake; `apply` creates.
            server.get(&format!("/connectors/{}", path_segment(&name))).await?;
            let path = format!("/connectors/{}/config", path_segment(&name));
            let updated =
                server.ask(Method::PUT, &path, Some(&Value::Object(document.config))).await?;
            said(global, &updated, &format!("updated {name}"))
        }
        Connectors::Delete { name } => {
            act(server, global, Method::DELETE, &name, "", "deleted").await
        }
        Connectors::Pause { name } => {
            act(server, global, Method::PUT, &name, "/pause", "paused").await
        }
        Connectors::Resume { name } => {
            act(server, global, Method::PUT, &name, "/resume", "resumed").await
        }
        Connectors::Stop { name } => {
            act(server, global, Method::PUT, &name, "/stop", "stopped").await
        }
        Connectors::Restart { name, only_failed } => {
            let path = format!("/restart?includeTasks=true&onlyFailed={only_failed}");
            act(server, global, Method::POST, &name, &path, "restarted").await
        }
        Connectors::Offsets { name, reset } => {
            let path = format!("/connectors/{}/offsets", path_segment(&name));
            let method = if reset { Method::DELETE } else { Method::GET };
            print_json(&server.ask(method, &path, None).await?)
        }
    }
}

fn single(file: &std::path::Path) -> Result<Document> {
    let mut documents = documents::read(file)?;
    match documents.len() {
        1 => Ok(documents.remove(0)),
        count => bail!("{} holds {count} connectors: use lattice apply", file.display()),
    }
}

fn said(global: &Global, answer: &Value, line: &str) -> Result<()> {
    if global.json {
        return print_json(answer);
    }
    println!("{line}");
    Ok(())
}

async fn act(
    server: &Server,
    global: &Global,
    method: Method,
    name: &str,
    path: &str,
    done: &str,
) -> Result<()> {
    let path = format!("/connectors/{}{path}", path_segment(name));
    server.ask(method, &path, None).await?;
    said(global, &json!({ "name": name, "done": done }), &format!("{done} {name}"))
}
