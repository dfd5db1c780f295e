//! HTTPS, as a proxy in front of the API offers it.

use std::{net::SocketAddr, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::support::{Deployment, genres, text};

/// An authority of our own, and an acceptor whose certificate it signed for `localhost`.
fn authority() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// Takes the encryption off in front of an API, and returns the port.
async fn proxy(acceptor: TlsAcceptor, api: SocketAddr) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut outer = acceptor.accept(stream).await?;
                let mut inner = TcpStream::connect(api).await?;
                tokio::io::copy_bidirectional(&mut outer, &mut inner).await
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_work_over_https_where_the_authority_is_known() {
    let here = Deployment::start().await;
    here.apply(&genres());
    let (authority, acceptor) = authority();
    let port = proxy(acceptor, here.addr).await;
    let file = here.file("authority.pem", &authority);
    let url = format!("https://localhost:{port}");

    let told = here.vitrina(&["run", "genres", "--wait", "--url", &url]).env("SSL_CERT_FILE", &file).output().unwrap();
    assert!(told.status.success(), "{}", text(&told));
    assert!(text(&told).contains("5 rows read, 5 written"), "{}", text(&told));

    for (variable, url, reason) in [
        ("VITRINA_LOG", url.clone(), "UnknownIssuer"),
        ("SSL_CERT_FILE", format!("https://127.0.0.1:{port}"), "not valid for name"),
    ] {
        let refused = here.vitrina(&["ls", "--url", &url]).env(variable, &file).output().unwrap();
        let told = text(&refused);
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains(&format!("the certificate of {url} is not trusted")), "{told}");
        assert!(told.contains(reason) && told.contains("name its file in SSL_CERT_FILE"), "{told}");
    }
}
