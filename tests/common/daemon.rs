//! A `heddle controller` under test.
use super::HEDDLE;
use super::killed::KilledAtEnd;
use super::until::{LIMIT, until_or_why};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Killed when dropped.
pub(crate) struct ControllerProcess {
    child: KilledAtEnd,
    /// The address of its API.
    pub(crate) api: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl ControllerProcess {
    /// Starts it on a free port of loopback, and waits until its API is there.
    pub(crate) fn start(inventory: &Path, dir: &Path, more: &[&str]) -> ControllerProcess {
        let mut command = Command::new(HEDDLE);
        command
            .args(["controller", "--listen", "127.0.0.1:0"])
            .args(more)
            .arg("--inventory")
            .arg(inventory)
            .arg("--dir")
            .arg(dir);
        ControllerProcess::run(command)
    }

    /// The same with a command that the test makes.
    pub(crate) fn run(mut command: Command) -> ControllerProcess {
        let mut child = KilledAtEnd(command.stderr(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let api = loop {
            let line = keep(&mut lines, &log)
                .unwrap_or_else(|| panic!("the controller ended: {}", log.lock().unwrap()));
            if let Some((_, address)) = line
                .split_once("API on ")
                .and_then(|(_, url)| url.split_once("://"))
            {
                break address.trim().parse().unwrap();
            }
        };
        let kept = Arc::clone(&log);
        let reader = Some(std::thread::spawn(move || {
            while keep(&mut lines, &kept).is_some() {}
        }));
        ControllerProcess {
            child,
            api,
            log,
            reader,
        }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The answer to a request: head and body.
    pub(crate) fn get(&self, path: &str, header: &str) -> String {
        self.ask(&format!("GET {path}"), header, "")
    }

    /// The same with a body.
    pub(crate) fn ask(&self, request: &str, header: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.api).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: \
                        {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Waits until the snapshot holds a text.
    pub(crate) fn wait_for(&self, part: &str) {
        wait(part, || self.get("/v1/snapshot", ""));
    }

    /// Waits until it has logged a text.
    pub(crate) fn wait_for_log(&self, part: &str) {
        wait(part, || self.log.lock().unwrap().clone());
    }

    pub(crate) fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .arg(signal)
                .arg(self.child.id().to_string())
                .status()
                .unwrap()
                .success()
        );
    }

    /// Stops it as its operator would, and gives what it logged.
    pub(crate) fn stop(mut self) -> String {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success());
        self.reader.take().unwrap().join().unwrap();
        self.log.lock().unwrap().clone()
    }
}

fn keep(lines: &mut BufReader<ChildStderr>, log: &Mutex<String>) -> Option<String> {
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|n| *n > 0)?;
    log.lock().unwrap().push_str(&line);
    Some(line)
}

/// Waits until `look` shows a text.
pub(crate) fn wait(part: &str, look: impl Fn() -> String) {
    until_or_why(part, LIMIT, || {
        let seen = look();
        if seen.contains(part) {
            Ok(())
        } else {
            Err(seen)
        }
    });
}

/// The report of a host that hears the switch s0 by LLDP.
pub(crate) fn lldp_report(host: &str, port: u8) -> String {
    format!(
        r#"{{"host":"{host}","slots":1,"nics":[{{"name":"eth0","mac":"02:00:00:00:00:0{port}","addresses":[],"rate":1000000000,"up":true,"in_octets":0,"out_octets":0}}],
        "heard":[{{"nic":"eth0","at":5,"said":{{"neighbour":{{"protocol":"lldp","chassis":{{"text":"s0"}},"port":{{"text":"swp{port}"}},"port_descr":"","name":"s0","capabilities":null}}}}}}],"paths":[]}}"#
    )
}
