//! The OpenTofu modules, embedded.

use std::path::Path;

use lattice_core::{Error, Result};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../deploy/tofu"]
struct Files;

/// Names of all files, sorted.
#[must_use]
pub fn names() -> Vec<String> {
    // The tests need the stub provider, and what an engine left in the folder is nobody's.
    let ours = |name: &String| !name.starts_with("tests/") && !name.contains(".terraform");
    let mut names: Vec<String> = Files::iter().map(|name| name.into_owned()).filter(ours).collect();
    names.sort();
    names
}

/// Writes all files below a folder, over what is there.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> Result<()> {
    for name in names() {
        let Some(file) = Files::get(&name) else { continue };
        let path = folder.join(&name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, &file.data)).map_err(
            |error| {
                Error::config(format!("write {}", path.display()))
                    .with_source(error)
                    .with_remedy("give a folder that can be written")
            },
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_are_written_without_their_tests() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let there = |name: &str| folder.path().join(name).is_file();
        assert!(there("main.tf") && there("modules/kafka/main.tf"));
        assert!(!there("tests/kafka.tftest.hcl"), "tests need the stub provider");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let error = write(Path::new("/dev/null/x")).unwrap_err().chain();
        assert!(error.contains("/dev/null/x") && error.contains("remedy"), "{error}");
    }
}
