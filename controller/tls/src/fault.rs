//! Why a TLS connection to the controller fails, in words for operators.
use inventory::sanitize;
use rustls::{CertificateError, InvalidMessage};
use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;

/// The fault of a controller's certificate, or of the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsFault {
    /// No known authority signed the certificate.
    UnknownIssuer,
    /// The certificate is for other names, those in the list.
    OtherName(Vec<String>),
    /// The certificate's time is over.
    Expired,
    /// The certificate's time has not begun.
    NotYetValid,
    /// The server shows an authority's own certificate.
    IsAuthority,
    /// The server speaks no TLS.
    NoTls,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsFault::UnknownIssuer => {
                "its certificate is not by an authority of --ca FILE, or without --ca by no public \
                 one; give the file with the authority that signed it"
            }
            TlsFault::OtherName(names) if names.is_empty() => {
                "its certificate is for another name; use the name in it, or make one for this name"
            }
            TlsFault::OtherName(names) => {
                let names = sanitize::visible(&names.join(", "));
                return write!(
                    f,
                    "its certificate is for another name: use one of {names}, or make a \
                     certificate for this name"
                );
            }
            TlsFault::Expired => {
                "its certificate has expired; make a new one and reload the controller, or check \
                 this machine's clock"
            }
            TlsFault::NotYetValid => {
                "its certificate is not valid yet; check the clocks of both machines"
            }
            TlsFault::IsAuthority => {
                "its certificate is an authority's own (CA:TRUE), which no server may show; have \
                 the authority sign one for the server, as docs/tls.md shows"
            }
            TlsFault::NoTls => "it speaks no TLS: connect with http://",
        })
    }
}

/// The reason why no answer came, with a way out, if it is a known one.
#[must_use]
pub fn explained(error: &ureq::Error) -> Option<String> {
    let fault = named_by(error).map(|fault| fault.to_string());
    let known = fault.or_else(|| unanswered(error).map(str::to_owned));
    known.or_else(|| match error {
        // The system's own words: for a name that nobody knows it has no number.
        ureq::Error::Io(cause) => {
            let words = sanitize::visible(&cause.to_string());
            Some(format!("{words}; is the address right?"))
        }
        _ => None,
    })
}

/// The reason why no connection came about.
fn unanswered(error: &ureq::Error) -> Option<&'static str> {
    let kind = match error {
        ureq::Error::Io(cause) => cause.kind(),
        ureq::Error::HostNotFound => {
            return Some("no host has this name; is the address right?");
        }
        ureq::Error::Timeout(_) => ErrorKind::TimedOut,
        _ => return None,
    };
    Some(match kind {
        ErrorKind::ConnectionRefused => {
            "nothing listens there; is the controller up, and the address right?"
        }
        ErrorKind::TimedOut => {
            "no answer; is its host up, and does a firewall let this port through?"
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "this machine has no route there; is the address right?"
        }
        _ => return None,
    })
}

/// The fault of a failed connection, if certificates or the address are at fault.
#[must_use]
pub fn named_by(error: &ureq::Error) -> Option<TlsFault> {
    let refused: &rustls::Error = match error {
        ureq::Error::Rustls(error) => error,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref()?,
        _ => return None,
    };
    let certificate = match refused {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            return Some(TlsFault::NoTls);
        }
        _ => return None,
    };
    Some(match certificate {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFault::UnknownIssuer,
        CertificateError::NotValidForName => TlsFault::OtherName(Vec::new()),
        CertificateError::NotValidForNameContext { presented, .. } => {
            TlsFault::OtherName(presented.iter().map(|name| plain_name(name)).collect())
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsFault::NotYetValid
        }
        CertificateError::Other(other) => match other.0.downcast_ref()? {
            webpki::Error::CaUsedAsEndEntity => TlsFault::IsAuthority,
            _ => return None,
        },
        _ => return None,
    })
}

/// `::1` for `IpAddress(0::1)`, `head` for `DnsName("head")`, as rustls writes names.
fn plain_name(shown: &str) -> String {
    let inner = shown.split_once('(').map_or(shown, |(_, rest)| rest);
    let name = inner.trim_end_matches(')').trim_matches('"');
    let address = name.parse::<IpAddr>();
    address.map_or_else(|_| name.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::{TlsFault, explained, plain_name};
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_connection_that_does_not_come_about_is_reported_with_a_way_out() {
        for (error, expected) in [
            (
                Error::from(ErrorKind::ConnectionRefused).into(),
                "nothing listens there; ",
            ),
            (Error::from(ErrorKind::TimedOut).into(), "no answer; "),
            (
                Error::from(ErrorKind::HostUnreachable).into(),
                "this machine has no route there; ",
            ),
            (ureq::Error::HostNotFound, "no host has this name; "),
            (
                Error::other("failed to lookup address information").into(),
                "failed to lookup address information; ",
            ),
        ] {
            let reason = explained(&error).unwrap_or_default();
            assert!(
                reason.starts_with(expected) && reason.ends_with('?'),
                "{reason}"
            );
        }
        assert_eq!(explained(&ureq::Error::TooManyRedirects), None);
    }

    #[test]
    fn names_are_shown_as_people_write_them() {
        let shown = [
            "DnsName(\"head\")",
            "IpAddress(0::1)",
            "IpAddress(10.0.0.1)",
            "head",
        ];
        let names = shown.map(plain_name);
        assert_eq!(names, ["head", "::1", "10.0.0.1", "head"]);
    }

    #[test]
    fn each_fault_says_what_to_do() {
        let named = TlsFault::OtherName(vec!["head\u{1b}".into(), "10.0.0.1".into()]).to_string();
        assert!(
            named.contains("use one of head") && !named.contains('\u{1b}'),
            "{named}"
        );
        for fault in [
            TlsFault::UnknownIssuer,
            TlsFault::OtherName(Vec::new()),
            TlsFault::Expired,
            TlsFault::NotYetValid,
            TlsFault::IsAuthority,
        ] {
            assert!(fault.to_string().contains("; "), "{fault}");
        }
    }
}
