//! `vitrina probe`, against servers that answer one request each.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Output},
    thread,
};

fn probe(url: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vitrina")).args(["probe", url]).current_dir("/").output().unwrap()
}

/// The address of a server that answers its first request so.
fn answering(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ready", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 4096]).unwrap();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 7\r\nConnection: close\r\n\r\nbecause");
        client.write_all(answer.as_bytes()).unwrap();
    });
    url
}

#[test]
fn a_service_that_is_well_ends_it_with_0_and_no_word() {
    let output = probe(&answering("200 OK"));
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_service_that_is_not_ends_it_with_1_and_its_reason() {
    let output = probe(&answering("503 Service Unavailable"));
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("503") && said.contains("because"), "{said}");
}

#[test]
fn an_address_without_a_server_ends_it_with_1_and_the_address() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let output = probe(&format!("http://127.0.0.1:{port}/ready"));
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&port.to_string()), "{said}");
}
