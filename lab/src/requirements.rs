//! What a machine must have for the lab, and the one command that gives it.
use crate::error::{LabError, LabResult};
use std::path::Path;

/// Rights and programs. The kernel's own parts (veth, bridge, tbf) are named where they are first
/// used.
pub(crate) fn check() -> LabResult<()> {
    if !nix::unistd::geteuid().is_root() {
        return Err(LabError::Missing(
            "lab: root is needed to make network namespaces; run: sudo heddle lab ...".into(),
        ));
    }
    for (program, package) in [("snmpd", "snmpd"), ("lldpd", "lldpd")] {
        if find(program).is_none() {
            return Err(LabError::Missing(format!(
                "lab: {program} is not installed; run: apt-get install {package}"
            )));
        }
    }
    Ok(())
}

/// A program on the search path, or where daemons lie.
pub(crate) fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(Into::into))
        .map(|d| d.join(program))
        .find(|p: &std::path::PathBuf| Path::is_file(p))
}
