//! The files that a purge removes from a shared directory, without a package around it.
use super::clean_root::CleanRoot;
use directory::layout::{CURRENT, EPOCHS, JOBS, LEARNED, LOCK, ROLLBACK, TUNING};
use std::fs;

const SHARED: &str = "/srv/heddle";
const SCRIPT: &str = "/tmp/heddle.postrm";

/// Every name of heddle, and a file of somebody else.
fn used(root: &CleanRoot) {
    root.run("mkdir -p /var/lib/heddle");
    let place = root.path(SHARED);
    for folder in [EPOCHS, JOBS] {
        fs::create_dir_all(place.join(folder)).unwrap();
        fs::write(place.join(folder).join("one"), "1").unwrap();
    }
    for file in [LOCK, CURRENT, TUNING, LEARNED, ROLLBACK, "current.new"] {
        fs::write(place.join(file), "1").unwrap();
    }
    fs::write(place.join("mine"), "1").unwrap();
}

fn names(root: &CleanRoot) -> Vec<String> {
    let entries = fs::read_dir(root.path(SHARED)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_purge_takes_heddles_own_files_from_a_local_disk_and_nothing_from_another_machines() {
    let root = CleanRoot::open();
    fs::copy("share/packages/debian/heddle.postrm", root.path(SCRIPT)).unwrap();
    // A type that the script cannot know as local stands for a network's, mounted above the directory.
    root.run("mount -t ramfs elsewhere /srv");
    used(&root);
    let before = names(&root).len();
    root.run(&format!("sh {SCRIPT} purge"));
    assert_eq!(names(&root).len(), before, "{:?}", names(&root));
    root.run("umount /srv");
    used(&root);
    root.run(&format!("sh {SCRIPT} purge"));
    assert_eq!(names(&root), ["mine"]);
    fs::remove_file(root.path(SHARED).join("mine")).unwrap();
    used(&root);
    fs::remove_file(root.path(SHARED).join("mine")).unwrap();
    root.run(&format!("sh {SCRIPT} purge"));
    assert!(!root.path(SHARED).exists());
}
