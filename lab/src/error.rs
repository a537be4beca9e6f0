//! Errors of the lab.
use std::io;

/// A lab that could not be built, found or changed. The text names object, problem and the command
/// that helps.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The topology file is refused.
    #[error(transparent)]
    File(#[from] inventory::topology_file::InputFileError),
    /// A right or a program is missing. The text ends with the command that provides it.
    #[error("{0}")]
    Missing(String),
    /// The lab, node or cable does not exist, or its state does not allow the request.
    #[error("{0}")]
    Refused(String),
    /// The kernel refused.
    #[error("{place}: {cause}")]
    Kernel {
        /// The object, and the step that failed.
        place: String,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// A node or the spanning tree was not ready in time.
    #[error("{0}")]
    NotReady(String),
}

/// A result of the lab.
pub type LabResult<T> = std::result::Result<T, LabError>;

/// Adds the object and the step to an error of the kernel.
pub(crate) trait KernelErrorContext<T> {
    /// Adds `place` to an error.
    fn during(self, place: impl FnOnce() -> String) -> LabResult<T>;
}

impl<T> KernelErrorContext<T> for io::Result<T> {
    fn during(self, place: impl FnOnce() -> String) -> LabResult<T> {
        self.map_err(|cause| LabError::Kernel {
            place: place(),
            cause,
        })
    }
}

impl<T> KernelErrorContext<T> for nix::Result<T> {
    fn during(self, place: impl FnOnce() -> String) -> LabResult<T> {
        self.map_err(|errno| LabError::Kernel {
            place: place(),
            cause: errno.into(),
        })
    }
}

impl<T> KernelErrorContext<T> for std::result::Result<T, rtnetlink::Error> {
    fn during(self, place: impl FnOnce() -> String) -> LabResult<T> {
        self.map_err(|error| {
            let cause = match &error {
                rtnetlink::Error::NetlinkError(message) => message.to_io(),
                other => io::Error::other(other.to_string()),
            };
            LabError::Kernel {
                place: place(),
                cause,
            }
        })
    }
}
