//! Data folders that cannot serve.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use lattice_core::{ErrorKind, error::Error};
use lattice_log::{EmbeddedLog, EmbeddedOptions};

fn refusal(path: &std::path::Path) -> Error {
    EmbeddedLog::open(EmbeddedOptions::new(path)).err().expect("the folder cannot serve")
}

/// The superuser may write anywhere, so a folder is made read-only by what it stands on.
#[test]
fn a_folder_that_cannot_be_written_is_refused_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("file");
    fs::write(&file, b"x").expect("a file can be written");
    let error = refusal(&file.join("data"));
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.chain().contains("cannot write in data folder"), "{}", error.chain());
    assert!(error.remedy().is_some());
    let proc = refusal(std::path::Path::new("/proc/lattice"));
    assert_eq!(proc.kind(), ErrorKind::Config);
}

#[test]
fn a_read_only_folder_is_refused_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let closed = fs::Permissions::from_mode(0o555);
    fs::set_permissions(folder.path(), closed).expect("rights can be set");
    let superuser = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if superuser {
        // Rights mean nothing to the superuser: the log serves.
        assert!(EmbeddedLog::open(EmbeddedOptions::new(folder.path())).is_ok());
    } else {
        let error = refusal(folder.path());
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.chain().contains("cannot write in data folder"), "{}", error.chain());
    }
}
