//! Addresses that documents write. Commands and files get free ones instead, and output is compared as if it had the written ones.

use std::net::TcpListener;

/// The free ports of one desk.
pub struct Ports {
    api: u16,
    /// Of the service that the examples talk to.
    service: u16,
}

impl Ports {
    pub fn free() -> Self {
        // Both are held at the same time, so they are two.
        let held = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [api, service] = held.map(|listener| listener.local_addr().unwrap().port());
        Self { api, service }
    }

    /// Where the API listens.
    pub fn api(&self) -> String {
        format!("127.0.0.1:{}", self.api)
    }

    /// What a document writes, and what stands for it.
    fn pairs(&self) -> [(&'static str, String); 3] {
        [
            ("127.0.0.1:8080", self.api()),
            ("127.0.0.1:9100", format!("127.0.0.1:{}", self.service)),
            ("--port 9100", format!("--port {}", self.service)),
        ]
    }

    /// A text of a document, as it is typed.
    pub fn typed(&self, text: &str) -> String {
        self.pairs().iter().fold(text.to_owned(), |text, (written, real)| text.replace(written, real))
    }

    /// What was printed, as a document writes it.
    pub fn written(&self, text: &str) -> String {
        self.pairs().iter().fold(text.to_owned(), |text, (written, real)| text.replace(real, written))
    }
}

#[test]
fn what_is_typed_has_free_ports_and_what_is_printed_those_of_the_document() {
    let ports = Ports { api: 40_001, service: 40_002 };
    let text = "curl 127.0.0.1:8080/docs 127.0.0.1:9100 --port 9100";
    let typed = ports.typed(text);
    assert_eq!(typed, "curl 127.0.0.1:40001/docs 127.0.0.1:40002 --port 40002");
    assert_eq!(ports.written(&typed), text);
}
