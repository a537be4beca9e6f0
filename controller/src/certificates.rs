//! An authority of the site's own, and the controller's certificate by it.
//!
//! Guarantee: keys are readable by their owner only, from their first octet on; the authority's key
//! signs and serves nothing; an authority that is there already is kept. Deviations: the authority's
//! certificate is not parsed when it signs again. Its name is the same for every site, so the key is
//! enough.
use inventory::Millis;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const CA: &str = "ca.pem";
const CA_KEY: &str = "ca.key";
const CERT: &str = "controller.pem";
const KEY: &str = "controller.key";

/// The authority's name.
const NAME: &str = "heddle authority";
/// The authority is valid for ten years.
const AUTHORITY_DAYS: u32 = 3_653;
/// Clocks differ: a certificate is valid from a day before it was made.
const EARLIER: i64 = 1;
/// The longest validity of the controller's certificate.
pub const MOST_DAYS: u32 = 3_650;

/// Files that were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The authority, for agents and viewers.
    pub ca: PathBuf,
    /// The controller's certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// True if the authority is new.
    pub is_new_authority: bool,
    /// The names and addresses in the controller's certificate.
    pub names: Vec<String>,
    /// The day on which the controller's certificate ends, as `2027-11-23`.
    pub until: String,
}

/// The reason why no certificate was made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{path}: {cause}; no certificate was made")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// Only one half of an authority is there.
    #[error(
        "{0}: missing beside the other half of the authority; no certificate was made: put it \
         back, or remove both halves to begin a new authority, whose {CA} agents and viewers then \
         need"
    )]
    Half(PathBuf),
    /// A name or a key cannot be used.
    #[error("{what}: {cause}; no certificate was made")]
    Content {
        /// The name, or the key's file.
        what: String,
        /// The reason.
        cause: rcgen::Error,
    },
}

/// Makes the controller's certificate for these names and addresses, and an authority if the folder
/// has none.
///
/// # Errors
/// [`CertificateError`].
pub fn make(
    folder: &Path,
    names: &[String],
    days: u32,
    now: Millis,
) -> Result<CertificateFiles, CertificateError> {
    let place = |name: &str| folder.join(name);
    fs::create_dir_all(folder).map_err(|cause| CertificateError::File {
        path: folder.to_owned(),
        cause,
    })?;
    let (key, is_new_authority) = authority_key(folder, now)?;
    let issuer = Issuer::new(authority(now), key);
    let own = KeyPair::generate().map_err(|cause| content(KEY, cause))?;
    let mut params =
        CertificateParams::new(names).map_err(|cause| content(&names.join(", "), cause))?;
    let first = names.first().map_or("heddle controller", String::as_str);
    params.distinguished_name.push(DnType::CommonName, first);
    limit(&mut params, now, days);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let cert = params
        .signed_by(&own, &issuer)
        .map_err(|cause| content(&names.join(", "), cause))?;
    write(&place(KEY), &own.serialize_pem(), 0o600)?;
    write(&place(CERT), &cert.pem(), 0o644)?;
    Ok(CertificateFiles {
        ca: place(CA),
        cert: place(CERT),
        key: place(KEY),
        is_new_authority,
        names: names.to_vec(),
        until: day(now, days.into()).to_string(),
    })
}

fn content(what: &str, cause: rcgen::Error) -> CertificateError {
    CertificateError::Content {
        what: what.to_owned(),
        cause,
    }
}

/// The authority's key, and whether it is new.
fn authority_key(folder: &Path, now: Millis) -> Result<(KeyPair, bool), CertificateError> {
    let (cert, key) = (folder.join(CA), folder.join(CA_KEY));
    match (cert.exists(), key.exists()) {
        (true, true) => {
            let text = fs::read_to_string(&key).map_err(|cause| CertificateError::File {
                path: key.clone(),
                cause,
            })?;
            let pair = KeyPair::from_pem(&text);
            let pair = pair.map_err(|cause| content(&key.display().to_string(), cause))?;
            Ok((pair, false))
        }
        (true, false) => Err(CertificateError::Half(key)),
        (false, true) => Err(CertificateError::Half(cert)),
        (false, false) => {
            let pair = KeyPair::generate().map_err(|cause| content(CA_KEY, cause))?;
            let made = authority(now).self_signed(&pair);
            let made = made.map_err(|cause| content(CA, cause))?;
            write(&key, &pair.serialize_pem(), 0o600)?;
            write(&cert, &made.pem(), 0o644)?;
            Ok((pair, true))
        }
    }
}

fn authority(now: Millis) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, NAME);
    // It signs certificates of servers, and no other authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    limit(&mut params, now, AUTHORITY_DAYS);
    params
}

/// Bounds the validity.
fn limit(params: &mut CertificateParams, now: Millis, days: u32) {
    let at = |date: Date| date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8);
    params.not_before = at(day(now, -EARLIER));
    params.not_after = at(day(now, days.into()));
}

/// The day so many days from now.
fn day(now: Millis, days: i64) -> Date {
    let now = i64::try_from(now.0).unwrap_or_default();
    let now = Timestamp::from_millisecond(now).unwrap_or_default();
    let today = now.to_zoned(TimeZone::UTC).date();
    today.saturating_add(Span::new().days(days))
}

/// Writes a file whole. A key has its mode before it has its content.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    let new = path.with_extension("new");
    let failed = |cause| CertificateError::File {
        path: path.to_owned(),
        cause,
    };
    let _ = fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(&new);
    opened
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&new, path))
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::TlsCertificate;
    use std::os::unix::fs::PermissionsExt;

    const NOW: Millis = Millis(1_795_400_000_000);

    #[test]
    fn the_authority_stays_and_the_certificate_is_renewed() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["head", "10.0.0.1", "::1"].map(str::to_owned);
        let made = make(dir.path(), &names, 365, NOW).unwrap();
        assert!(made.is_new_authority);
        assert_eq!(made.until, "2027-11-23");
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let first = (read(&made.ca), read(&made.cert));
        for (file, mode) in [(CA, 0o644), (CA_KEY, 0o600), (CERT, 0o644), (KEY, 0o600)] {
            let path = dir.path().join(file);
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{file}");
        }
        TlsCertificate::read(&made.cert, &made.key).unwrap();
        let again = make(dir.path(), &names, 365, NOW).unwrap();
        assert!(!again.is_new_authority);
        assert_eq!(read(&again.ca), first.0);
        assert_ne!(read(&again.cert), first.1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "no rest");
    }

    #[test]
    fn half_an_authority_and_names_that_are_none_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let bad = make(dir.path(), &["höst".to_owned()], 1, NOW).unwrap_err();
        assert!(bad.to_string().starts_with("höst: "), "{bad}");
        fs::remove_file(dir.path().join(CA_KEY)).unwrap();
        let half = make(dir.path(), &["h".to_owned()], 1, NOW).unwrap_err();
        assert!(
            half.to_string().contains("ca.key: missing beside"),
            "{half}"
        );
        fs::write(dir.path().join(CA_KEY), "nonsense").unwrap();
        let key = make(dir.path(), &["h".to_owned()], 1, NOW).unwrap_err();
        assert!(!key.to_string().contains("nonsense"), "{key}");
    }
}
