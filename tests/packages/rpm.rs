//! The rpms: what they hold, what they ask for, and what rpm says of them.
use super::tools::{contents, output_of, packed};
use std::path::PathBuf;
use std::process::Command;

fn asked(query: &str, package: &PathBuf) -> String {
    output_of(Command::new("rpm").args(["-qp", query]).arg(package))
}

#[test]
fn the_rpms_are_whole_hold_their_parts_and_need_no_mpi() {
    let rpms = packed("rpm");
    assert_eq!(rpms.len(), 3, "{rpms:?}");
    for rpm in &rpms {
        output_of(Command::new("rpm").args(["-K", "--nosignature"]).arg(rpm));
    }
    let named = |name: &str| {
        rpms.iter()
            .find(|rpm| asked("--qf=%{NAME}", rpm) == name)
            .expect(name)
    };
    for (name, wanted) in [
        ("heddle", "/usr/bin/heddle"),
        ("heddle", "/usr/lib/systemd/system/heddle-tokens.service"),
        ("heddle", "/usr/share/man/man1/heddle.1"),
        ("heddle-mpi", "/usr/lib/heddle/libheddle-openmpi.so"),
        ("heddle-mpi", "/usr/lib/heddle/libheddle-mpich.so"),
        ("heddle-mpi", "/usr/lib/heddle/libheddle-abi.so"),
        ("heddle-mpi", "/usr/lib/heddle/map-mpich"),
        ("heddle-lab", "/usr/lib/heddle/libheddle-idle.so"),
    ] {
        let there = contents(&["rpm", "-qpl"], named(name));
        assert!(there.iter().any(|path| path == wanted), "{name}: {wanted}");
    }
    let kept = asked("--configfiles", named("heddle"));
    assert!(kept.contains("/etc/heddle/inventory.yaml\n"), "{kept}");
    let needs = asked("--requires", named("heddle-mpi"));
    assert!(needs.contains("libc.so.6"), "{needs}");
    // A host need not have both MPIs, and a backend finds the one of its process.
    assert!(!needs.contains("mpi"), "{needs}");
    // The lab has its library beside the runtime's, and both packages are whole.
    assert!(asked("--requires", named("heddle-lab")).contains("heddle-mpi = "));
}
