//! The platform on AWS: what it costs, and its OpenTofu modules.

use std::path::Path;

use anyhow::{Context, Result};
use lattice_deploy::{Settings, cost, modules, variables};
use serde_json::json;

use super::print_json;
use crate::{arguments::Global, log::told, table};

/// `lattice cost`.
pub(super) fn cost(global: &Global, config: &Path, rate: f64, zones: usize) -> Result<()> {
    let estimate = cost::estimate(&settings(config)?, rate, zones);
    if global.json {
        let line = |line: &cost::Line| json!({"what": line.what, "amount": line.amount, "dollars": line.dollars});
        let lines: Vec<_> = estimate.lines.iter().map(line).collect();
        return print_json(
            &json!({"lines": lines, "dollars": estimate.total(), "basis": estimate.basis}),
        );
    }
    let row = |line: &cost::Line| {
        vec![line.what.clone(), line.amount.clone(), format!("{:.2}", line.dollars)]
    };
    let mut rows: Vec<_> = estimate.lines.iter().map(row).collect();
    rows.push(vec!["together".to_owned(), String::new(), format!("{:.2}", estimate.total())]);
    println!("{}\n{}", table::render(&["WHAT", "AMOUNT", "USD/MONTH"], &rows), estimate.basis);
    Ok(())
}

/// `lattice eject`.
pub(super) fn eject(config: &Path, folder: &Path) -> Result<()> {
    let settings = settings(config)?;
    modules::write(folder).map_err(told)?;
    let file = folder.join("terraform.tfvars.json");
    let text = serde_json::to_string_pretty(&variables(&settings))?;
    std::fs::write(&file, text + "\n").with_context(|| format!("write {}", file.display()))?;
    println!(
        "{} holds the modules, {} your settings. Still yours to give: cluster_id, images.lattice, and secrets \
         (variables.tf says what each is). docs/deploy-aws.md says what is missing to run them",
        folder.display(),
        file.display()
    );
    Ok(())
}

/// The settings, complete and without a fault.
fn settings(file: &Path) -> Result<Settings> {
    let text = std::fs::read_to_string(file).with_context(|| {
        format!("read the platform's settings {} (give another file with --config)", file.display())
    })?;
    let settings = Settings::parse(&text, &file.display().to_string()).map_err(told)?;
    settings.check().map_err(told)?;
    Ok(settings)
}
