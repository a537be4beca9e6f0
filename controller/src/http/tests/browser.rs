//! A real browser: Chromium without a window, driven over WebDriver (W3C, 2018), which is JSON over
//! HTTP.
use super::LIMIT;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// These keep Chromium from the network and from the user's own settings. Through the pipe it ends
/// with its driver, however the driver ends.
const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--window-size=1280,900",
];

/// A browser with one page.
pub(super) struct HeadlessBrowser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

impl Drop for HeadlessBrowser {
    fn drop(&mut self) {
        let _ = self.driver.kill(); // It may have ended already.
        let _ = self.driver.wait();
    }
}

impl HeadlessBrowser {
    pub(super) async fn start() -> HeadlessBrowser {
        // The driver takes one port for both families, which another program may have in one of them.
        let (driver, port) = (0..5).find_map(|_| driver()).expect("the driver's port");
        let profile = tempfile::tempdir().unwrap();
        let mut browser = HeadlessBrowser {
            driver,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            session: String::new(),
            _profile: profile,
        };
        let mut options: Vec<String> = OPTIONS.map(str::to_owned).into();
        options.push(format!(
            "--user-data-dir={}",
            browser._profile.path().display()
        ));
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": options},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session = browser.ask("POST", "/session", &wanted).await;
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = format!("{method} {}{path}", self.session);
        let text = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let (head, body) = exchange(self.address, &request, &text).await;
        assert!(head.contains(" 200 "), "{path}: {head}\n{body}");
        let mut body: Value = serde_json::from_str(&body).unwrap();
        body["value"].take()
    }

    pub(super) async fn open(&self, url: &str) {
        self.ask("POST", "/url", &json!({"url": url})).await;
    }

    /// The value of an expression in the page.
    pub(super) async fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression}");
        self.ask(
            "POST",
            "/execute/sync",
            &json!({"script": script, "args": []}),
        )
        .await
    }

    /// Waits until an expression is true in the page.
    pub(super) async fn until(&self, expression: &str) {
        let end = Instant::now() + LIMIT;
        while self.value(&format!("Boolean({expression})")).await != json!(true) {
            let page = self.value("document.body.innerText.slice(0, 2000)").await;
            assert!(
                Instant::now() < end,
                "{expression}: {page}\n{:#?}",
                self.log().await
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Types a text into the form, and sends it.
    pub(super) async fn enter(&self, text: &str) {
        let fill = format!(
            "(document.querySelector('#token').value = {}, document.querySelector('#login').requestSubmit())",
            json!(text)
        );
        self.value(&fill).await;
    }

    /// The browser's complaints: refused loads, errors of the script.
    pub(super) async fn log(&self) -> Vec<String> {
        let entries = self
            .ask("POST", "/se/log", &json!({"type": "browser"}))
            .await;
        let messages = entries.as_array().unwrap().iter();
        messages
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Writes what the page looks like into the folder that PAGE_PICTURES names, for people.
    pub(super) async fn picture(&self, name: &str) {
        if let Some(folder) = std::env::var_os("PAGE_PICTURES") {
            let picture = self.ask("GET", "/screenshot", &Value::Null).await;
            std::fs::write(
                std::path::Path::new(&folder).join(name),
                picture.as_str().unwrap(),
            )
            .unwrap();
        }
    }
}

/// A driver with its port; none if it found no port.
fn driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromium-driver of scripts/packages tests");
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse::<u16>().ok()
    });
    if port.is_none() {
        let _ = driver.kill(); // It may have ended already.
        let _ = driver.wait();
    }
    port.map(|port| (driver, port))
}

/// Head and body of an answer. The driver keeps connections open, so the body's length counts.
async fn exchange(address: SocketAddr, request: &str, body: &str) -> (String, String) {
    let mut stream = tokio::io::BufReader::new(TcpStream::connect(address).await.unwrap());
    let length = body.len();
    let sent = format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(sent.as_bytes()).await.unwrap();
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        assert_ne!(stream.read_line(&mut head).await.unwrap(), 0, "{head}");
        let (name, value) = head[start..].split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}
