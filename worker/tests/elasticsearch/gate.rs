//! A gate in front of the node, with what the node of the tests has not: TLS, accounts and rights.

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer},
};
use tokio_util::task::AbortOnDropHandle;

use crate::proxy::{forward, head, reply};

/// An authority of its own, whose certificate is in a file.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(issuer.as_ref().pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    /// The file for `VITRINA_ELASTICSEARCH_CA`.
    pub fn file(&self) -> &str {
        self.file.path().to_str().unwrap()
    }

    /// A listener for a server of this name.
    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Who may pass, and what is answered in place of the node.
#[derive(Default)]
pub struct Rules {
    /// Headers of accounts.
    pub accounts: Vec<&'static str>,
    /// Answers by path.
    pub answers: BTreeMap<&'static str, Value>,
}

/// A gate on a port of its own, for as long as it lives.
pub struct Gate {
    pub port: u16,
    connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Gate {
    /// Starts a gate whose certificate is for this name.
    pub async fn start(node: &str, authority: &Authority, name: &str, rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (acceptor, node, rules) = (authority.acceptor(name), node.to_owned(), Arc::new(rules));
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, node, rules) = (acceptor.clone(), node.clone(), rules.clone());
                tokio::spawn(async move { serve(stream, acceptor, &node, &rules).await });
            }
        });
        Self { port, connections, _task: AbortOnDropHandle::new(task) }
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Serves a connection until either side ends it.
async fn serve(stream: TcpStream, acceptor: TlsAcceptor, node: &str, rules: &Rules) -> Option<()> {
    let mut stream = BufReader::new(acceptor.accept(stream).await.ok()?);
    loop {
        let (mut request, length) = head(&mut stream).await?;
        request.body.resize(length, 0);
        stream.read_exact(&mut request.body).await.ok()?;
        let known = request.authorization.as_deref().is_some_and(|account| rules.accounts.contains(&account));
        let answer = match rules.answers.get(request.path.as_str()) {
            _ if !known => {
                let reason = "unable to authenticate user for REST request";
                let error = json!({"error": {"type": "security_exception", "reason": reason}, "status": 401});
                (401, error.to_string().into_bytes())
            }
            Some(answer) => (200, answer.to_string().into_bytes()),
            None => forward(node, &request).await?,
        };
        reply(&mut stream, answer, None).await?;
    }
}
