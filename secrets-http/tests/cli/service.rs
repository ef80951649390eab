//! Test service with scripted responses.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::home::Home;

/// Scripted response: a status, header lines that each end with a line break, and a body.
type Response = (u16, String, String);

/// Test service with scripted responses on this machine. It runs until the test process ends.
pub(crate) struct Scripted {
    /// Address of the service.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Scripted {
    /// Starts a service. `answer` is called with the request as `METHOD path`, and with the number
    /// of earlier requests with the same method and path. It returns a status and a JSON body, or
    /// the status 307 and a location.
    pub(crate) fn start(
        answer: impl Fn(&str, usize) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self::start_with_headers(move |request, number| {
            let (status, body) = answer(request, number);
            let location =
                if status == 307 { format!("location: {body}\r\n") } else { String::new() };
            (status, location, body)
        })
    }

    /// Starts a service like [`Scripted::start`]. `answer` also returns header lines, each with a
    /// line break at its end.
    pub(crate) fn start_with_headers(
        answer: impl Fn(&str, usize) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &kept, &*answer));
            }
        });
        Self { url, requests }
    }

    /// Creates a test user (`Home`) whose settings name this service, a token, a project and an
    /// environment.
    pub(crate) fn home(&self) -> Home {
        Home::new()
            .with("SECRETS_URL", &self.url)
            .with("SECRETS_TOKEN", "kvc_token")
            .with("SECRETS_PROJECT", "web")
            .with("SECRETS_ENVIRONMENT", "staging")
    }

    /// Returns the requests that were received, each as `METHOD path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|(_, text)| request_of(text)).collect()
    }

    /// Returns the times at which the request `METHOD path` was received.
    pub(crate) fn times(&self, request: &str) -> Vec<Instant> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .filter(|(_, text)| text.starts_with(&format!("{request} ")))
            .map(|(time, _)| *time)
            .collect()
    }

    /// Returns all requests that were received, with their headers and bodies.
    pub(crate) fn received(&self) -> String {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(_, text)| text.as_str()).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    requests: &Mutex<Vec<(Instant, String)>>,
    answer: &dyn Fn(&str, usize) -> Response,
) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let Some(text) = read(&mut stream) else { return };
    let request = request_of(&text);
    let number = {
        let mut requests = requests.lock().unwrap();
        let earlier = |(_, text): &&(Instant, String)| text.starts_with(&format!("{request} "));
        let number = requests.iter().filter(earlier).count();
        requests.push((Instant::now(), text));
        number
    };
    let (status, headers, body) = answer(&request, number);
    let head = format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes());
}

/// Returns the start of the text of a request, as `METHOD path`.
fn request_of(text: &str) -> String {
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Reads a request from a connection; `None` if the connection ends before the end of the request.
/// The length of the body is in the header `content-length`.
fn read(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut chunk).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let expected = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .unwrap_or(0);
            if body.len() >= expected {
                return Some(text.into_owned());
            }
        }
    }
}
