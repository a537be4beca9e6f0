//! HTTPS: TLS 1.2 and 1.3 by rustls.
use super::HttpError;
use inventory::unreadable;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The first octet of a TLS connection: a record of type handshake(22) (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;
/// The answer to a client that speaks HTTP without TLS.
const PLAIN: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n\
    this is an HTTPS port: connect with https://\n";

/// A certificate with its key, read from files. It can be read again.
#[derive(Clone)]
pub struct TlsCertificate {
    cert: PathBuf,
    key: PathBuf,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl TlsCertificate {
    /// Reads a chain of certificates, the server's first, and its key; both PEM.
    ///
    /// # Errors
    /// [`HttpError::Tls`] with the file and the problem, never its content.
    pub fn read(cert: &Path, key: &Path) -> Result<TlsCertificate, HttpError> {
        let config = Arc::new(RwLock::new(config(cert, key)?));
        Ok(TlsCertificate {
            cert: cert.to_owned(),
            key: key.to_owned(),
            config,
        })
    }

    /// True if the server's certificate is an authority's, which rustls and so heddle's own viewers
    /// and agents refuse as a server's.
    pub(crate) fn is_authority(&self) -> bool {
        let first = CertificateDer::from_pem_file(&self.cert).ok();
        first.is_some_and(|der| {
            let parsed = x509_parser::parse_x509_certificate(&der);
            parsed.is_ok_and(|(_, certificate)| certificate.is_ca())
        })
    }

    /// Reads the files again. New connections get the new certificate. If the files cannot be used,
    /// the former certificate stays.
    pub fn reload(&self) -> Result<(), HttpError> {
        let new = config(&self.cert, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, HttpError> {
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| unusable(cert, words(&e)))?;
    if chain.is_empty() {
        return Err(unusable(
            cert,
            "no certificate in it; expected PEM".to_owned(),
        ));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unusable(key, words(&e)))?;
    if let Some(warning) = agent::secrets::exposure_warning(key) {
        tracing::warn!("{warning}");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| unusable(cert, e.to_string()))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|e| unusable(key, unfit(&e, cert)))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn unusable(path: &Path, problem: String) -> HttpError {
    HttpError::Tls {
        path: path.to_owned(),
        problem,
    }
}

/// The problem with a PEM file. The error's own text is not used, because it could quote the file.
fn words(error: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error;
    match error {
        Error::Io(e) => unreadable::reason(e),
        Error::NoItemsFound => "no item of that kind in it; expected PEM".to_owned(),
        _ => "not well-formed PEM".to_owned(),
    }
}

/// The problem with a key beside this certificate.
fn unfit(error: &rustls::Error, cert: &Path) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("not the key of the certificate in {}", cert.display())
        }
        other => other.to_string(),
    }
}

/// Takes a connection through the handshake.
pub(super) async fn handshake(
    tls: &TlsCertificate,
    mut stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [HANDSHAKE];
    stream.peek(&mut first).await?;
    if first != [HANDSHAKE] {
        stream.write_all(PLAIN).await?;
        stream.shutdown().await?;
        // The rest of the input is read, because the system would otherwise cut the answer off.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        return Err(io::Error::other("the client does not speak TLS"));
    }
    tls.acceptor().accept(stream).await
}
