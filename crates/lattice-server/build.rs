//! The console is optional: without a build of `web/` the folder is made, so that embedding finds it.

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");
    println!("cargo::rerun-if-changed={folder}");
    if let Err(error) = std::fs::create_dir_all(folder) {
        println!("cargo::warning=cannot make {folder}: {error}");
    }
}
