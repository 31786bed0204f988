//! `cargo x dist`: what is published, packed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{
    command::{self, tool},
    place,
};

const MAIN: &str = "lattice-platform-cli";
const MAIN_LIMIT: u64 = 20_000;
const PLATFORM_LIMIT: u64 = 30_000_000;

/// `cargo x dist npm BINARIES`: the packages for npm, into `target/npm`.
///
/// The folder holds a binary for each platform: `linux-x64/lattice` and so on.
pub(crate) fn npm(binaries: &Path) -> Result<()> {
    let out = place::target().join("npm");
    if out.try_exists().with_context(|| format!("look for {}", out.display()))? {
        fs::remove_dir_all(&out).with_context(|| format!("empty {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("make {}", out.display()))?;
    let source = place::root().join("npm").join(MAIN);
    let manifest = manifest(&source)?;
    for platform in platforms(&manifest)? {
        let folder = out.join(&platform);
        lay_out(&folder, &platform, &manifest, &binaries.join(&platform).join("lattice"))?;
        pack(&folder, &out, &format!("{MAIN}-{platform}"), PLATFORM_LIMIT)?;
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    pack(&source, &out, MAIN, MAIN_LIMIT)
}

/// The main package's manifest, which must be of the version that is built.
fn manifest(source: &Path) -> Result<Value> {
    let file = source.join("package.json");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let manifest: Value =
        serde_json::from_str(&text).with_context(|| format!("parse {}", file.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let pinned = manifest["optionalDependencies"].as_object().into_iter().flatten();
    let mut versions = pinned.map(|(_, version)| version).chain([&manifest["version"]]);
    let other = versions.find(|found| *found != version).cloned();
    drop(versions);
    if let Some(other) = other {
        bail!("{} says {other}, the workspace's version is {version}", file.display());
    }
    Ok(manifest)
}

fn platforms(manifest: &Value) -> Result<Vec<String>> {
    let names = manifest["optionalDependencies"].as_object().context("no optionalDependencies")?;
    let platform = |name: &String| {
        let platform = name.strip_prefix(MAIN).and_then(|rest| rest.strip_prefix('-'));
        platform.map(str::to_owned).with_context(|| format!("{name} is none of our packages"))
    };
    names.keys().map(platform).collect()
}

/// A platform's package: the binary, and which machines it is for.
fn lay_out(folder: &Path, platform: &str, main: &Value, binary: &Path) -> Result<()> {
    let (os, cpu) = platform.split_once('-').with_context(|| format!("platform {platform}"))?;
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("make {}", bin.display()))?;
    let target = bin.join("lattice");
    fs::copy(binary, &target)
        .with_context(|| format!("copy the binary for {platform}, {}", binary.display()))?;
    command::run(Command::new("chmod").arg("755").arg(&target))?;
    let manifest = json!({
        "name": format!("{MAIN}-{platform}"),
        "version": main["version"],
        "description": format!("The binary of {MAIN} for {platform}"),
        "license": main["license"],
        "repository": main["repository"],
        "os": [os],
        "cpu": [cpu],
        "files": ["bin"],
        "publishConfig": main["publishConfig"],
    });
    fs::write(folder.join("package.json"), serde_json::to_string_pretty(&manifest)? + "\n")
        .with_context(|| format!("write the manifest for {platform}"))
}

fn pack(folder: &Path, out: &Path, name: &str, limit: u64) -> Result<()> {
    command::capture(tool("npm").arg("pack").arg(folder).arg("--pack-destination").arg(out))?;
    let file: PathBuf = out.join(format!("{name}-{}.tgz", env!("CARGO_PKG_VERSION")));
    let size = fs::metadata(&file).with_context(|| format!("look at {}", file.display()))?.len();
    println!("{} ({size} bytes)", file.display());
    if size > limit {
        bail!("{name} has {size} bytes packed, {limit} are allowed");
    }
    Ok(())
}

/// The packages tried as users install them, on stand-ins for the binaries.
pub(crate) fn tried() -> Result<Command> {
    let binaries = place::target().join("npm-stand-ins");
    let source = place::root().join("npm").join(MAIN);
    for platform in platforms(&manifest(&source)?)? {
        let folder = binaries.join(&platform);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        fs::copy(place::root().join("npm/test/stand-in.sh"), folder.join("lattice"))
            .with_context(|| format!("write the stand-in for {platform}"))?;
    }
    npm(&binaries)?;
    let mut node = tool("node");
    node.args([
        "--test",
        "--test-reporter=tap",
        "--test-timeout=120000",
        "npm/test/install.test.mjs",
    ])
    .env("PACKAGES", place::target().join("npm"));
    Ok(node)
}
