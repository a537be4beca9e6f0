//! The authorities that certify a controller.
use inventory::unreadable::reason;
use std::path::Path;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Reads the certificates of a PEM file.
///
/// # Errors
/// The problem with the file. The text does not name it.
pub fn read(file: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem = std::fs::read(file).map_err(|e| reason(&e))?;
    let parsed: Result<Vec<PemItem<'static>>, ureq::Error> = parse_pem(&pem).collect();
    let items = parsed.map_err(|_| "not well-formed; expected certificates as PEM")?;
    let certificates: Vec<_> = items
        .into_iter()
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        Err("no certificate in it; expected certificates as PEM".to_owned())
    } else {
        Ok(certificates)
    }
}

/// The settings of a connection that trusts these authorities; the public ones if there are none.
#[must_use]
pub fn trusting(authorities: &[Certificate<'static>]) -> TlsConfig {
    let tls = TlsConfig::builder();
    match authorities {
        [] => tls.build(),
        some => tls.root_certs(RootCerts::from(some.to_vec())).build(),
    }
}
