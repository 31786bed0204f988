//! `lattice docs FOLDER`: the reference of all configuration keys, from the tables that drive
//! parsing and validation.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result};
use lattice_core::{
    config::{Effect, Key, KeyType},
    connector::Descriptor,
};
use lattice_log::client_keys::{self, Effect as ClientEffect};

use crate::plugins;

pub(super) fn write(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    for descriptor in plugins::plugins().descriptors() {
        let path = folder.join(format!("{}.md", descriptor.alias));
        fs::write(&path, page(descriptor)).with_context(|| format!("write {}", path.display()))?;
    }
    let path = folder.join("converters.md");
    let mut text = String::from("# Converters and events\n\nKeys that every connector takes.\n");
    table(&mut text, &lattice_codec::keys().iter().collect::<Vec<_>>());
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    let path = folder.join("kafka-clients.md");
    fs::write(&path, clients()).with_context(|| format!("write {}", path.display()))?;
    let path = folder.join("transforms.md");
    fs::write(&path, transforms()).with_context(|| format!("write {}", path.display()))
}

fn clients() -> String {
    let mut text = String::from(
        "# Settings of Kafka's clients\n\nIn a connector behind `producer.override.`, `consumer.override.` or \
         `admin.override.`, where `connector.client.config.override.policy` of the worker (All, None, Principal) lets \
         them; in the file of `--worker-config` behind `producer.`, `consumer.` or `admin.`, for all connectors that say \
         nothing else. A value of the wrong form is an error; what has no effect, and every other name, is told by a \
         warning. On Kafka a connector that names a connection of its own (`bootstrap.servers`, `security.*`, `sasl.*`, \
         `ssl.*`) is refused.\n\n| setting | of | what it does |\n|---|---|---|\n",
    );
    for key in client_keys::KEYS {
        let clients: Vec<String> =
            key.clients.iter().map(|client| format!("{client:?}").to_lowercase()).collect();
        let effect = match key.effect {
            ClientEffect::Used(what) => what.to_owned(),
            ClientEffect::Always(values, why) => {
                format!("*Always `{}`: {why}.*", values.first().copied().unwrap_or_default())
            }
            ClientEffect::Idle(why) => format!("*No effect: {why}.*"),
            ClientEffect::Connection => "The worker's own connection.".to_owned(),
        };
        // Writing to a String cannot fail.
        writeln!(text, "| `{}` | {} | {effect} |", key.name, clients.join(", ")).ok();
    }
    text.push_str(
        "\n## The worker's own connection\n\nWithout a prefix, in the file of `--command-config` or `--worker-config`: \
         `security.*`, `sasl.*`, `ssl.*` and\n\n",
    );
    for name in client_keys::OF_THE_WORKER {
        writeln!(text, "- `{name}`").ok();
    }
    text
}

fn transforms() -> String {
    let mut text = String::from(
        "# Transformations and predicates\n\nKeys stand behind `transforms.<alias>.` or `predicates.<alias>.`. \
         A transformation also has `type`, `predicate` and `negate`, a predicate `type`.\n",
    );
    let mut section = |class: &str, doc: &str, keys: &[Key]| {
        // Writing to a String cannot fail.
        write!(text, "\n## {class}\n\n{doc}\n").ok();
        if !keys.is_empty() {
            table(&mut text, &keys.iter().collect::<Vec<_>>());
        }
    };
    for class in lattice_transform::transforms() {
        section(class.class, class.doc, class.keys);
    }
    for class in lattice_transform::predicates() {
        section(class.class, class.doc, class.keys);
    }
    text
}

fn page(descriptor: &Descriptor) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\nClass `{}`, alias `{}`.\n",
        descriptor.title, descriptor.doc, descriptor.class, descriptor.alias
    );
    let keys: Vec<&Key> = descriptor.keys().collect();
    let mut groups: Vec<&str> = Vec::new();
    for key in &keys {
        if !groups.contains(&key.group) {
            groups.push(key.group);
        }
    }
    for group in groups {
        // Writing to a String cannot fail.
        write!(text, "\n## {group}\n").ok();
        let of_group: Vec<&Key> = keys.iter().copied().filter(|key| key.group == group).collect();
        table(&mut text, &of_group);
    }
    text
}

fn table(text: &mut String, keys: &[&Key]) {
    text.push_str("\n| key | type | default | what it does |\n|---|---|---|---|\n");
    for key in keys {
        let default = match (key.default, key.required) {
            (_, true) => "**required**".to_owned(),
            (Some(""), _) | (None, _) => String::new(),
            (Some(_), _) if key.kind == KeyType::Password => String::new(),
            (Some(default), _) => format!("`{}`", default.replace('|', "\\|")),
        };
        let effect = match key.effect {
            Effect::Used => String::new(),
            Effect::Ignored(why) => format!(" *Accepted without effect: {why}.*"),
        };
        let doc = key.doc.replace('|', "\\|").replace('\n', " ");
        let kind = key.kind.as_str().to_ascii_lowercase();
        writeln!(text, "| `{}` | {kind} | {default} | {doc}{effect} |", key.name).ok();
    }
}
