//! One file, written by a helper of its own: for what a process leaves behind when it goes.
use super::client::start;
use super::framing::{self, IncomingOctets};
use super::{HelperReport, HelperRequest};
use crate::stderr;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The file is waited for this long, so that it is there when the job has ended. The helper goes on
/// without this process.
const PATIENCE: Duration = Duration::from_secs(2);

/// Has a file written into a folder, which is made if it is not there.
pub fn deliver(helper: &Path, dir: &Path, name: String, octets: Vec<u8>) {
    if let Err(e) = try_to(helper, dir, name, octets) {
        stderr::write_line_once(&format!(
            "{}: {e}; the trace of a rank is not written",
            dir.display()
        ));
    }
}

fn try_to(helper: &Path, dir: &Path, name: String, octets: Vec<u8>) -> io::Result<()> {
    let mut socket = start(dir, helper, Arc::default())?;
    socket.set_write_timeout(Some(PATIENCE))?;
    framing::send(&socket, &HelperRequest::File { name, octets })?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let (mut incoming, mut octets) = (IncomingOctets::default(), [0; 4096]);
    loop {
        let length = match socket.read(&mut octets) {
            Ok(0) => return Err(io::Error::other("the process that writes it ended")),
            Ok(length) => length,
            // It goes on, but nobody waits.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        incoming.add(&octets[..length]);
        while let Some(report) = incoming.next()? {
            match report {
                HelperReport::Written { problem: None, .. } => return Ok(()),
                HelperReport::Written {
                    problem: Some(problem),
                    ..
                } => {
                    return Err(io::Error::other(problem));
                }
                HelperReport::Unusable(problem) => return Err(io::Error::other(problem)),
                _ => {}
            }
        }
    }
}
