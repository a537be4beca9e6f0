//! The debs, in a root of their own.
use super::clean_root::CleanRoot;
use super::tools::{contents, output_of, packed};
use super::unit_line::UnitLine;
use crate::common::epochs::{AT_ONCE, FORCED, TREE, ways};
use crate::common::job::TestJobOutput;
use crate::common::killed::KilledAtEnd;
use crate::common::machine_share::MachinePart;
use crate::common::mpirun::mpirun;
use crate::common::until::until_so;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files without which a package is of no use.
const HELD: [(&str, &[&str]); 3] = [
    (
        "heddle_",
        &[
            "/usr/bin/heddle",
            "/etc/heddle/inventory.yaml",
            "/etc/heddle/controller.env",
            "/etc/heddle/agent.env",
            "/usr/lib/sysusers.d/heddle.conf",
            "/usr/lib/tmpfiles.d/heddle.conf",
            "/usr/share/man/man1/heddle.1.gz",
            "/usr/share/bash-completion/completions/heddle",
            "/usr/share/zsh/vendor-completions/_heddle",
            "/usr/share/fish/vendor_completions.d/heddle.fish",
        ],
    ),
    (
        "heddle-mpi_",
        &[
            "/usr/lib/heddle/libheddle.so",
            "/usr/lib/heddle/libheddle-abi.so",
            "/usr/lib/heddle/heddle-helper",
            "/usr/lib/heddle/map-openmpi",
            "/usr/share/heddle/modulefiles/heddle",
            "/usr/share/heddle/slurm/heddle-task-prolog",
        ],
    ),
    (
        "heddle-lab_",
        &[
            "/usr/lib/heddle/libheddle-idle.so",
            "/usr/share/heddle/topologies/demo.yaml",
        ],
    ),
];

#[test]
fn the_debs_are_installed_used_and_purged_without_a_rest() {
    let _share = MachinePart::Half.take();
    let debs = packed("deb");
    each_holds_its_parts(&debs);
    let root = CleanRoot::open();
    install(&root, &debs);
    the_controllers_user_owns_its_files(&root);
    a_controller_runs_as_its_unit_says(&root);
    jobs_follow_an_epoch(&root);
    root.run("dpkg --purge heddle-lab heddle-mpi heddle");
    assert_eq!(root.left(), Vec::<String>::new(), "left by a purge");
}

fn each_holds_its_parts(debs: &[PathBuf]) {
    assert_eq!(debs.len(), HELD.len(), "{debs:?}");
    for (name, wanted) in HELD {
        let deb = debs
            .iter()
            .find(|deb| deb.file_name().unwrap().to_str().unwrap().starts_with(name))
            .expect(name);
        let there = contents(&["dpkg-deb", "-c"], deb);
        for file in wanted {
            assert!(there.iter().any(|path| path == file), "{name}: {file}");
        }
    }
}

fn install(root: &CleanRoot, debs: &[PathBuf]) {
    let mut line = "apt-get install -y --no-install-recommends".to_owned();
    for deb in debs {
        let inside = Path::new("/tmp").join(deb.file_name().unwrap());
        fs::copy(deb, root.path(inside.to_str().unwrap())).unwrap();
        line += &format!(" {}", inside.display());
    }
    root.run(&line);
}

fn the_controllers_user_owns_its_files(root: &CleanRoot) {
    assert!(root.run("heddle --version").starts_with("heddle 0."));
    assert_eq!(owner("/srv/heddle", root), "heddle:heddle:755\n");
    assert_eq!(
        owner("/etc/heddle/inventory.yaml", root),
        "root:heddle:640\n"
    );
}

fn owner(path: &str, root: &CleanRoot) -> String {
    root.run(&format!("stat -c %U:%G:%a {path}"))
}

/// As systemd starts it: the tokens' unit, and then the controller's command line under its user with
/// its credentials, on the example configuration.
fn a_controller_runs_as_its_unit_says(root: &CleanRoot) {
    let tokens = UnitLine::read(root, "heddle-tokens.service");
    output_of(&mut tokens.command(root, &[]));
    root.run("install -d -o heddle -g heddle /var/lib/heddle /run/heddle-credentials");
    for (credential, token) in [("heddle-token", "api"), ("heddle-agent-token", "agent")] {
        assert_eq!(
            root.run(&format!("stat -c %U:%a:%s /etc/heddle/{token}.token")),
            "root:600:64\n"
        );
        root.run(&format!(
            "install -o heddle -m 400 /etc/heddle/{token}.token /run/heddle-credentials/{credential}"
        ));
    }
    let unit = UnitLine::read(root, "heddle-controller.service");
    let mut command = unit.command(
        root,
        &[
            ("HEDDLE_LISTEN", "127.0.0.1:0"),
            ("STATE_DIRECTORY", "/var/lib/heddle"),
            ("CREDENTIALS_DIRECTORY", "/run/heddle-credentials"),
        ],
    );
    let log = tempfile::NamedTempFile::new().unwrap();
    command.stderr(log.reopen().unwrap());
    let mut controller = KilledAtEnd(command.spawn().unwrap());
    let output = || fs::read_to_string(log.path()).unwrap();
    until_so("the controller of the unit listens", || {
        let ended = controller.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}: {}", output());
        output().contains("API on http://127.0.0.1:")
    });
    // The example's switch does not exist.
    until_so("it asks the example's switch", || {
        output().contains("leaf1")
    });
    assert!(root.path("/var/lib/heddle/journal").is_file());
    output_of(Command::new("kill").arg(controller.id().to_string()));
    assert!(controller.wait().unwrap().success(), "{}", output());
}

/// Jobs of each MPI, loaded as the module file says.
fn jobs_follow_an_epoch(root: &CleanRoot) {
    let module = fs::read_to_string(root.path("/usr/share/heddle/modulefiles/heddle")).unwrap();
    let (preload, dir) = (
        value("prepend-path LD_PRELOAD", &module),
        value("setenv HEDDLE_DIR", &module),
    );
    assert_eq!(preload, "/usr/lib/heddle/libheddle.so");
    fs::write(root.path("/tmp/tree.yaml"), TREE).unwrap();
    fs::copy("shim/tests/host.sh", root.path("/tmp/host.sh")).unwrap();
    root.run(&format!(
        "setpriv --reuid heddle --regid heddle --init-groups heddle publish --topology /tmp/tree.yaml --dir {dir}"
    ));
    let idle = Path::new("/usr/lib/heddle/libheddle-idle.so");
    for mpi in ["openmpi", "mpich"] {
        if !root.path(&format!("/usr/bin/mpirun.{mpi}")).exists() {
            // Only in a root that holds nothing but what the packages depend on.
            assert!(root.is_bare(), "mpirun.{mpi}: see scripts/packages");
            continue;
        }
        let mut job = mpirun(mpi, 4, idle);
        job.arg("/tmp/host.sh")
            .arg(format!("/usr/lib/heddle/bench-{mpi}"))
            .args("--collective both --size 5000 --iterations 4 --check".split(' '))
            .env("SHIM", format!("{preload}:{}", idle.display()))
            .env("HEDDLE_DIR", &dir)
            .envs([AT_ONCE, FORCED]);
        let done = root.inside(&job).output().unwrap();
        TestJobOutput::new(&done, &format!("an installed library under {mpi}"));
    }
    assert_eq!(ways(&root.path(&dir)), ["allgather ring", "alltoall aapc"]);
}

fn value(start: &str, module: &str) -> String {
    let line = module.lines().find_map(|line| line.strip_prefix(start));
    line.expect(start).trim().to_owned()
}
