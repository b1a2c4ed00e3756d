//! The binary: what it says when it is ready, and of what it cannot use.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

fn stub_api(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stub-api"));
    command.args(["--listen", "127.0.0.1:0"]).args(arguments);
    command
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_tells_its_address_and_serves_files() {
    let path = file("served.yaml", "kind: Node\nmetadata: {name: node-a}\n");
    let mut command = stub_api(&[path.to_str().unwrap()]);
    let mut server = Server(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut stream = TcpStream::connect(line.trim().strip_prefix("ready ").unwrap()).unwrap();
    let request = "GET /api/v1/nodes/node-a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("node-a"), "{answer}");
}

#[test]
fn what_it_cannot_use_is_said_with_its_file() {
    let broken = file("broken.yaml", "kind: Node\n---\n{");
    let nameless = file("nameless.yaml", "kind: Service\n");
    let events = file("events.yaml", "- restart: {}\n");
    let (broken, nameless, events) =
        (broken.to_str().unwrap(), nameless.to_str().unwrap(), events.to_str().unwrap());
    for (arguments, words) in [
        (vec![broken], "broken.yaml: "),
        (vec![nameless], "nameless.yaml: a Service without metadata.name"),
        (vec!["--events", events], "events.yaml: event 1: \"restart\""),
        (vec!["no-such-file"], "no-such-file: "),
    ] {
        let output = stub_api(&arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with("stub-api: ") && message.contains(words), "{message}");
    }
}
