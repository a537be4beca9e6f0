//! Why a TLS connection to the controller fails, in words for operators.
use crate::sanitize;
use std::fmt;

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

#[cfg(test)]
mod tests {
    use super::TlsFault;

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
