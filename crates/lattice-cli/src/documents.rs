//! Connectors as code: JSON and YAML files.

use std::{io::Read as _, path::Path};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A connector from a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Document {
    /// Its name.
    pub(crate) name: String,
    /// Its configuration, values as texts.
    pub(crate) config: Map<String, Value>,
}

/// All connectors of a file: one, a list, or several YAML documents. Each is
/// `{name, config}`, or a flat configuration with `name` in it.
pub(crate) fn read(path: &Path) -> Result<Vec<Document>> {
    let shown = path.display();
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("read standard input")?;
        text
    } else {
        std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?
    };
    let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    parse(&text, json).with_context(|| format!("{shown}"))
}

fn parse(text: &str, json: bool) -> Result<Vec<Document>> {
    let values: Vec<Value> = if json {
        vec![serde_json::from_str(text).context("not JSON")?]
    } else {
        // YAML holds JSON too, and tells where it goes wrong.
        serde_yaml_ng::Deserializer::from_str(text)
            .map(|document| <Value as Deserialize>::deserialize(document).context("not YAML"))
            .collect::<Result<_>>()?
    };
    let mut documents = Vec::new();
    for value in values {
        match value {
            Value::Array(list) => {
                for item in list {
                    documents.push(document(item)?);
                }
            }
            Value::Null => {}
            other => documents.push(document(other)?),
        }
    }
    if documents.is_empty() {
        bail!("there is no connector in it: expected {{\"name\": …, \"config\": {{…}}}}");
    }
    Ok(documents)
}

fn document(value: Value) -> Result<Document> {
    let Value::Object(mut object) = value else {
        bail!("expected {{\"name\": …, \"config\": {{…}}}}, got {value}");
    };
    let config = match object.remove("config") {
        Some(Value::Object(config)) => config,
        Some(other) => bail!("\"config\" must be an object, got {other}"),
        None if object.contains_key("connector.class") => object.clone(),
        None => bail!("no \"config\" in it: expected {{\"name\": …, \"config\": {{…}}}}"),
    };
    let name = object.get("name").or_else(|| config.get("name")).and_then(Value::as_str);
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
        bail!("a connector has no \"name\"");
    };
    let name = name.to_owned();
    let mut texts = Map::new();
    for (key, value) in config {
        let text = match value {
            Value::String(text) => text,
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            Value::Array(items) => list(&key, &items)?,
            Value::Object(_) => bail!("connector {name}: \"{key}\" must be a text, not an object"),
        };
        texts.insert(key, Value::String(text));
    }
    Ok(Document { name, config: texts })
}

fn list(key: &str, items: &[Value]) -> Result<String> {
    let mut texts = Vec::new();
    for item in items {
        match item {
            Value::String(text) => texts.push(text.clone()),
            Value::Number(_) | Value::Bool(_) => texts.push(item.to_string()),
            _ => bail!("\"{key}\" must be a list of texts, got {item}"),
        }
    }
    Ok(texts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_connector_is_read_in_every_form() {
        let expected = json!({"connector.class": "postgres", "tasks.max": "1"});
        for (text, is_json) in [
            (r#"{"name":"a","config":{"connector.class":"postgres","tasks.max":1}}"#, true),
            ("name: a\nconfig:\n  connector.class: postgres\n  tasks.max: 1\n", false),
            ("- name: a\n  config: {connector.class: postgres, tasks.max: 1}\n", false),
        ] {
            let documents = parse(text, is_json).unwrap();
            assert_eq!(documents[0].name, "a");
            assert_eq!(Value::Object(documents[0].config.clone()), expected, "{text}");
        }
        let two =
            parse("name: a\nconfig: {x: y}\n---\nname: b\nconfig: {x: [p, q]}\n", false).unwrap();
        assert_eq!(two[1].config["x"], "p,q");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, is_json, reason) in [
            ("{", true, "not JSON"),
            ("a: [", false, "not YAML"),
            (r#"{"name":"a"}"#, true, "no \"config\""),
            (r#"{"config":{}}"#, true, "no \"name\""),
            (r#"{"name":"a","config":{"k":{}}}"#, true, "\"k\" must be a text"),
            ("", false, "no connector in it"),
        ] {
            let error = format!("{:#}", parse(text, is_json).unwrap_err());
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
