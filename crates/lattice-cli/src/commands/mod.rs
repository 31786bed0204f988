//! The commands, one file each kind.

mod apply;
mod connectors;
mod deploy;
mod docs;
mod status;
mod takeover;
mod topics;

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::Result;
use clap::CommandFactory as _;
use serde_json::Value;

use crate::{
    arguments::{Arguments, Command, Global, Schemas},
    client::Server,
    serve, table,
};
use lattice_server::path_segment;

/// Runs what was asked for.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let global = arguments.global;
    let server = Server::new(&global)?;
    match arguments.command {
        Command::Serve(options) => return serve::run(*options).await,
        Command::Connectors(command) => connectors::run(&server, &global, command).await?,
        Command::Status { name, watch } => {
            status::run(&server, &global, name.as_deref(), watch).await?;
        }
        Command::Topics(command) => topics::run(&server, &global, command).await?,
        Command::Tail { topic, from, limit } => {
            topics::tail(&server, &global, &topic, from.as_deref(), limit).await?;
        }
        Command::Schemas(command) => schemas(&server, &global, command).await?,
        Command::Workers => workers(&server, &global).await?,
        Command::Groups => groups(&server, &global).await?,
        Command::Plugins => plugins(&server, &global).await?,
        Command::Apply { files, dry_run } => {
            apply::apply(&server, &global, &files, dry_run).await?;
        }
        Command::Check { files } => return apply::check(&server, &global, &files).await,
        Command::Takeover(moving) => {
            takeover::run(&server, &global, &moving, takeover::Way::Here).await?;
        }
        Command::Handback(moving) => {
            takeover::run(&server, &global, &moving, takeover::Way::Back).await?;
        }
        Command::Cost { config, rate, zones } => deploy::cost(&global, &config, rate, zones)?,
        Command::Eject { folder, config } => deploy::eject(&config, &folder)?,
        Command::Completion { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "lattice", &mut std::io::stdout());
        }
        Command::Docs { folder } => docs::write(&folder)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints JSON for programs.
fn print_json(value: &Value) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// A member's text, or nothing.
fn text(value: &Value, member: &str) -> String {
    match &value[member] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

async fn schemas(server: &Server, global: &Global, command: Schemas) -> Result<()> {
    match command {
        Schemas::List => {
            let subjects = server.get("/registry/subjects").await?;
            if global.json {
                return print_json(&subjects);
            }
            for subject in subjects.as_array().into_iter().flatten() {
                println!("{}", subject.as_str().unwrap_or_default());
            }
        }
        Schemas::Show { subject, version } => {
            let path = format!(
                "/registry/subjects/{}/versions/{}",
                path_segment(&subject),
                path_segment(&version)
            );
            let found = server.get(&path).await?;
            if global.json {
                return print_json(&found);
            }
            println!(
                "subject {subject}, version {}, id {}",
                text(&found, "version"),
                text(&found, "id")
            );
            let schema: Value = serde_json::from_str(&text(&found, "schema"))?;
            print_json(&schema)?;
        }
    }
    Ok(())
}

async fn plugins(server: &Server, global: &Global) -> Result<()> {
    let plugins = server.get("/connector-plugins").await?;
    if global.json {
        return print_json(&plugins);
    }
    let row = |plugin: &Value| {
        ["alias", "type", "version", "class"].map(|member| text(plugin, member)).to_vec()
    };
    let rows: Vec<_> = plugins.as_array().into_iter().flatten().map(row).collect();
    println!("{}", table::render(&["ALIAS", "TYPE", "VERSION", "CLASS"], &rows));
    Ok(())
}

async fn groups(server: &Server, global: &Global) -> Result<()> {
    let told = server.get("/api/v1/groups").await?;
    if global.json {
        return print_json(&told);
    }
    let row = |group: &Value| {
        let partitions = group["partitions"].as_array().into_iter().flatten();
        let topics: BTreeSet<&str> =
            partitions.filter_map(|partition| partition["topic"].as_str()).collect();
        let topics: Vec<&str> = topics.into_iter().collect();
        vec![text(group, "group"), group["behind"].to_string(), topics.join(" ")]
    };
    let rows: Vec<_> = told.as_array().into_iter().flatten().map(row).collect();
    println!("{}", table::render(&["GROUP", "LAG", "TOPICS"], &rows));
    Ok(())
}

async fn workers(server: &Server, global: &Global) -> Result<()> {
    let told = server.get("/api/v1/workers").await?;
    if global.json {
        return print_json(&told);
    }
    let row = |worker: &Value| {
        let leases = worker["leases"].as_array().map_or(0, Vec::len).to_string();
        let tasks = worker["tasks"].as_array().into_iter().flatten();
        let tasks: Vec<&str> = tasks.filter_map(Value::as_str).collect();
        let leader = if worker["leader"] == true { "leader" } else { "" };
        let id = text(worker, "worker_id");
        vec![id, leader.to_owned(), text(worker, "version"), leases, tasks.join(" ")]
    };
    let rows: Vec<_> = told["workers"].as_array().into_iter().flatten().map(row).collect();
    println!("{}", table::render(&["WORKER", "", "VERSION", "LEASES", "TASKS"], &rows));
    if let Some(reason) = told["fenced"].as_str() {
        println!("This worker runs nothing: {reason}");
    }
    Ok(())
}
