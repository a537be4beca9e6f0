//! An authority of the site's own, and the controller's certificate by it.
//!
//! Guarantee: a new key is readable by its owner only, from its first octet on; a file that is replaced
//! keeps its owner, group and mode; the authority's key signs and serves nothing; an authority that is
//! there already is kept, signs only if its two halves belong together, and is outlived by nothing that
//! it signed.
use inventory::Millis;
use inventory::unreadable::reason;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::ServerName;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use x509_parser::pem::parse_x509_pem;
use x509_parser::time::ASN1Time;

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
    #[error("{path}: {}; no certificate was made", reason(cause))]
    File {
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
    /// An authority that is there cannot sign.
    #[error(
        "{path}: {problem}; no certificate was made: put the authority's own {CA} and {CA_KEY} \
         there, or remove both to begin a new authority, whose {CA} agents and viewers then need"
    )]
    Authority {
        /// The authority's certificate or key.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// A name that no machine can have.
    #[error(
        "name \"{0}\": expected an IP address or a name of the DNS, such as 10.0.0.5 or \
         head.example.org; no certificate was made"
    )]
    Name(String),
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
pub fn make(
    folder: &Path,
    names: &[String],
    days: u32,
    now: Millis,
) -> Result<CertificateFiles, CertificateError> {
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(CertificateError::Name(name.clone()));
    }
    fs::create_dir_all(folder).map_err(|cause| CertificateError::File {
        path: folder.to_owned(),
        cause,
    })?;
    let signing = signing_authority(folder, now)?;
    let own = KeyPair::generate().map_err(|cause| content(KEY, cause))?;
    let mut params =
        CertificateParams::new(names).map_err(|cause| content(&names.join(", "), cause))?;
    let first = names.first().map_or("heddle controller", String::as_str);
    params.distinguished_name.push(DnType::CommonName, first);
    limit(&mut params, now, days);
    params.not_after = params.not_after.min(signing.until.to_datetime());
    let until = params.not_after.unix_timestamp();
    // rustls, and so heddle's own clients, refuse an authority's certificate as a server's.
    params.is_ca = IsCa::ExplicitNoCa;
    // TLS 1.3 demands this usage where any is stated (RFC 8446, 4.4.2.2).
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Required of what an authority signs for others (RFC 5280, 4.2.1.1).
    params.use_authority_key_identifier_extension = true;
    let cert = params
        .signed_by(&own, &signing.issuer)
        .map_err(|cause| content(&names.join(", "), cause))?;
    write(&folder.join(KEY), &own.serialize_pem(), 0o600)?;
    write(&folder.join(CERT), &cert.pem(), 0o644)?;
    Ok(CertificateFiles {
        ca: folder.join(CA),
        cert: folder.join(CERT),
        key: folder.join(KEY),
        is_new_authority: signing.is_new,
        names: names.to_vec(),
        until: date(until).to_string(),
    })
}

/// True of an address and of a name of the DNS, also with `*` as its first label.
fn is_name(name: &str) -> bool {
    let name = name.strip_prefix("*.").unwrap_or(name);
    ServerName::try_from(name).is_ok()
}

fn content(what: &str, cause: rcgen::Error) -> CertificateError {
    CertificateError::Content {
        what: what.to_owned(),
        cause,
    }
}

/// The authority that signs.
struct SigningAuthority {
    issuer: Issuer<'static, KeyPair>,
    until: ASN1Time,
    is_new: bool,
}

/// The authority of the folder; a new one if it has none.
fn signing_authority(folder: &Path, now: Millis) -> Result<SigningAuthority, CertificateError> {
    let (cert, key) = (folder.join(CA), folder.join(CA_KEY));
    match (cert.exists(), key.exists()) {
        (true, true) => kept_authority(&cert, &key, now),
        (true, false) => Err(CertificateError::Half(key)),
        (false, true) => Err(CertificateError::Half(cert)),
        (false, false) => {
            let pair = KeyPair::generate().map_err(|cause| content(CA_KEY, cause))?;
            let params = authority(now);
            let until = ASN1Time::new(params.not_after);
            let made = params
                .self_signed(&pair)
                .map_err(|cause| content(CA, cause))?;
            write(&key, &pair.serialize_pem(), 0o600)?;
            write(&cert, &made.pem(), 0o644)?;
            Ok(SigningAuthority {
                issuer: Issuer::new(params, pair),
                until,
                is_new: true,
            })
        }
    }
}

/// An authority that is there, if its certificate and its key belong together and it has not ended.
fn kept_authority(
    cert: &Path,
    key: &Path,
    now: Millis,
) -> Result<SigningAuthority, CertificateError> {
    let (text, key_text) = (read_file(cert)?, read_file(key)?);
    let pair = KeyPair::from_pem(&key_text)
        .map_err(|_| unusable_authority("no private key in it; expected PEM".to_owned(), key))?;
    let (_, block) = parse_x509_pem(text.as_bytes()).map_err(|_| no_certificate(cert))?;
    let parsed = block.parse_x509().map_err(|_| no_certificate(cert))?;
    let until = parsed.validity().not_after;
    if parsed.public_key().subject_public_key.data != pair.public_key_raw() {
        return Err(unusable_authority(
            format!("is not the certificate of the key in {}", key.display()),
            cert,
        ));
    }
    if !parsed.is_ca() {
        return Err(unusable_authority(
            "is not an authority's, but a server's".to_owned(),
            cert,
        ));
    }
    if i128::from(until.timestamp()) * 1_000 <= i128::from(now.0) {
        let end = date(until.timestamp());
        return Err(unusable_authority(
            format!("the authority ended on {end}"),
            cert,
        ));
    }
    let issuer = Issuer::from_ca_cert_pem(&text, pair)
        .map_err(|cause| content(&cert.display().to_string(), cause))?;
    Ok(SigningAuthority {
        issuer,
        until,
        is_new: false,
    })
}

fn read_file(path: &Path) -> Result<String, CertificateError> {
    fs::read_to_string(path).map_err(|cause| CertificateError::File {
        path: path.to_owned(),
        cause,
    })
}

fn unusable_authority(problem: String, file: &Path) -> CertificateError {
    CertificateError::Authority {
        path: file.to_owned(),
        problem,
    }
}

fn no_certificate(cert: &Path) -> CertificateError {
    unusable_authority(
        "holds no certificate in PEM that can be read".to_owned(),
        cert,
    )
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
    [params.not_before, params.not_after] = [-EARLIER, days.into()].map(|days| {
        let date = day(now, days);
        date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8)
    });
}

/// The day so many days from now.
fn day(now: Millis, days: i64) -> Date {
    let millis = i64::try_from(now.0).unwrap_or_default();
    let now = Timestamp::from_millisecond(millis).unwrap_or_default();
    let today = now.to_zoned(TimeZone::UTC).date();
    today.saturating_add(Span::new().days(days))
}

/// The day of a time in seconds.
fn date(seconds: i64) -> Date {
    let time = Timestamp::from_second(seconds).unwrap_or_default();
    time.to_zoned(TimeZone::UTC).date()
}

/// Writes a file whole. It has its owner and its mode before it has its content: those of the file that
/// it replaces, which the operator may have given to the controller's user.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(&new);
    let written = opened
        .and_then(|mut file| {
            take_over(path, &file)?;
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new); // It may not have been made.
    }
    written.map_err(|cause| CertificateError::File {
        path: path.to_owned(),
        cause,
    })
}

/// Gives a file the owner, group and mode of the one at this path, if there is one.
fn take_over(path: &Path, file: &File) -> io::Result<()> {
    let before = match fs::metadata(path) {
        Ok(before) => before,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let now = file.metadata()?;
    if (before.uid(), before.gid()) != (now.uid(), now.gid()) {
        fchown(file, Some(before.uid()), Some(before.gid()))?;
    }
    file.set_permissions(before.permissions())
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
        let first = (
            fs::read_to_string(&made.ca).unwrap(),
            fs::read_to_string(&made.cert).unwrap(),
        );
        for (file, mode) in [(CA, 0o644), (CA_KEY, 0o600), (CERT, 0o644), (KEY, 0o600)] {
            let path = dir.path().join(file);
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{file}");
        }
        TlsCertificate::read(&made.cert, &made.key).unwrap();
        let again = make(dir.path(), &names, 365, NOW).unwrap();
        assert!(!again.is_new_authority);
        assert_eq!(fs::read_to_string(&again.ca).unwrap(), first.0);
        assert_ne!(fs::read_to_string(&again.cert).unwrap(), first.1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "no rest");
    }

    #[test]
    fn a_renewed_key_stays_readable_for_whom_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["head".to_owned()];
        let made = make(dir.path(), &names, 365, NOW).unwrap();
        fs::set_permissions(&made.key, fs::Permissions::from_mode(0o640)).unwrap();
        // Root alone may give a file away.
        let _ = std::os::unix::fs::chown(&made.key, Some(1), Some(2));
        let before = (
            owner_and_mode(&made.key),
            fs::read_to_string(&made.key).unwrap(),
        );
        make(dir.path(), &names, 365, NOW).unwrap();
        assert_eq!(owner_and_mode(&made.key), before.0);
        assert_ne!(fs::read_to_string(&made.key).unwrap(), before.1);
    }

    fn owner_and_mode(file: &Path) -> (u32, u32, u32) {
        let found = fs::metadata(file).unwrap();
        (found.uid(), found.gid(), found.mode())
    }

    #[test]
    fn an_authority_signs_only_with_its_own_key_and_only_while_it_is_valid() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = ["head".to_owned()];
        let made = make(dir.path(), &names, 1, NOW).unwrap();
        let elsewhere = make(other.path(), &names, 1, NOW).unwrap();
        fs::copy(&elsewhere.ca, &made.ca).unwrap();
        let text = refused_authority(NOW, dir.path(), &names);
        for part in ["ca.pem: ", "key in ", "ca.key; no certificate was made: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        fs::write(&made.ca, "nonsense").unwrap();
        assert!(
            refused_authority(NOW, dir.path(), &names).contains("ca.pem: holds no certificate")
        );
        fs::copy(&made.cert, &made.ca).unwrap();
        fs::copy(&made.key, dir.path().join(CA_KEY)).unwrap();
        assert!(refused_authority(NOW, dir.path(), &names).contains("ca.pem: is not an authority"));
        // A site's own authority, with another name, that ends before the certificate would.
        let pair = KeyPair::generate().unwrap();
        let mut params = authority(NOW);
        params.distinguished_name.push(DnType::CommonName, "a site");
        limit(&mut params, NOW, 100);
        fs::write(&made.ca, params.self_signed(&pair).unwrap().pem()).unwrap();
        fs::write(dir.path().join(CA_KEY), pair.serialize_pem()).unwrap();
        let capped = make(dir.path(), &names, 825, NOW).unwrap();
        assert_eq!(capped.until, day(NOW, 100).to_string());
        let cert = fs::read(&capped.cert).unwrap();
        let (_, block) = parse_x509_pem(&cert).unwrap();
        let cert = block.parse_x509().unwrap();
        assert_eq!(cert.issuer().to_string(), "CN=a site");
        assert_eq!(date(cert.validity().not_after.timestamp()), day(NOW, 100));
        let later = Millis(NOW.0 + 101 * 86_400_000);
        assert!(refused_authority(later, dir.path(), &names).contains("the authority ended on "));
    }

    fn refused_authority(now: Millis, folder: &Path, names: &[String]) -> String {
        make(folder, names, 825, now).unwrap_err().to_string()
    }

    #[test]
    fn half_an_authority_and_names_that_are_none_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["höst", "", "a b", "10.0.0.5/24"] {
            let bad = make(dir.path(), &[name.to_owned()], 1, NOW).unwrap_err();
            assert!(
                matches!(&bad, CertificateError::Name(n) if n == name),
                "{bad}"
            );
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let good = [
            "h",
            "h_1.example.org",
            "*.example.org",
            "10.0.0.5",
            "fd00::1",
        ];
        make(dir.path(), &good.map(str::to_owned), 1, NOW).unwrap();
        fs::remove_file(dir.path().join(CA_KEY)).unwrap();
        let half = make(dir.path(), &["h".to_owned()], 1, NOW).unwrap_err();
        assert!(
            half.to_string().contains("ca.key: missing beside"),
            "{half}"
        );
        fs::write(dir.path().join(CA_KEY), "nonsense").unwrap();
        let key = refused_authority(NOW, dir.path(), &["h".to_owned()]);
        assert!(
            key.contains("ca.key: no private key in it; ") && !key.contains("nonsense"),
            "{key}"
        );
    }
}
