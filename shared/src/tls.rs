//! Why no encrypted connection to a server came about.

use std::{error::Error, io};

use tokio_rustls::rustls::{self, InvalidMessage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsRefusal {
    /// It does not trust the server's certificate, or there is none.
    Certificate,
    NotTls,
}

/// The refusal of the TLS library among the causes of an error, if there is one.
pub fn refusal(error: &(dyn Error + 'static)) -> Option<TlsRefusal> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return of_library(found);
        }
        // `source` of an I/O error skips the error that it wraps.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

fn of_library(error: &rustls::Error) -> Option<TlsRefusal> {
    use rustls::Error::{InvalidCertificate, InvalidMessage as Message, NoCertificatesPresented};
    if matches!(error, InvalidCertificate(_) | NoCertificatesPresented) {
        return Some(TlsRefusal::Certificate);
    }
    matches!(error, Message(InvalidMessage::InvalidContentType)).then_some(TlsRefusal::NotTls)
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::CertificateError;

    use super::*;

    #[test]
    fn a_refusal_is_found_within_wrapped_errors() {
        let untrusted = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, untrusted));
        assert_eq!(refusal(&wrapped), Some(TlsRefusal::Certificate));
        let plain = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(refusal(&plain), Some(TlsRefusal::NotTls));
        assert_eq!(refusal(&io::Error::from(io::ErrorKind::ConnectionRefused)), None);
    }
}
