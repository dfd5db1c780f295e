//! A service that a pipeline of the scene calls: it says something about every name, and does not accept one of two keys.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

/// The keys that callers may have: the first one is refused.
pub const KEYS: &str = "a-key-that-is-refused,a-key-that-is-accepted";

/// Starts it. It ends with the test.
pub fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop(answer(&stream));
        }
    });
    addr
}

fn answer(mut stream: &TcpStream) -> std::io::Result<()> {
    let head = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let head: String = head.collect();
    let (status, body) = match head.contains("refused") {
        true => ("401 Unauthorized", "{}"),
        false => ("200 OK", r#"{"text": "a genre"}"#),
    };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
