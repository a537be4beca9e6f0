//! The rights and programs that the lab needs, each with the command that provides it.
use crate::error::{LabError, LabResult};
use std::path::Path;

/// Checks rights and programs. Missing parts of the kernel (veth, bridge, tbf) show at their first
/// use, in an error that names them.
pub(crate) fn check() -> LabResult<()> {
    need_root()?;
    for (program, package) in [("snmpd", "snmpd"), ("lldpd", "lldpd")] {
        if find(program).is_none() {
            return Err(LabError::Missing(format!(
                "lab: {program} is not installed; run: apt-get install {package}"
            )));
        }
    }
    Ok(())
}

/// Only root makes network namespaces, enters them, and sees whether a node of a lab runs.
///
/// # Errors
/// [`LabError::Missing`] for any other user.
pub fn need_root() -> LabResult<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(LabError::Missing(
        "a lab needs root, for network namespaces; run the same command with sudo".into(),
    ))
}

/// A program on the search path or in the folders of daemons.
pub(crate) fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(Into::into))
        .map(|d| d.join(program))
        .find(|p: &std::path::PathBuf| Path::is_file(p))
}
