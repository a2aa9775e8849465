//! A host that speaks HTTP as git does (gitprotocol-http(5), git-http-backend(1)), slowly and with faults.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::Dice;

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The answer comes in small parts.
    Slow,
    /// The connection ends before the request is looked at.
    Lost,
    /// There is no answer, and the connection stays.
    Silent,
    /// The request is done, and the connection ends before the answer.
    Unanswered,
    /// The request is done, and the connection ends in the middle of the answer.
    CutShort,
    /// The host says that it is too busy: status, kind and text.
    Busy(&'static str, &'static str, &'static str),
}

/// How a host fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// In every way but silence, and slowly.
    Slow,
    /// By saying that it is too busy, in texts and in pages.
    Busy,
    /// By saying nothing.
    Silence,
}

/// What hosts and the proxies in front of them say when they are too busy: pages for people, which git does not show, and
/// texts, which it shows as words of the host.
const BUSY: [Fault; 7] = [
    Fault::Busy(
        "502 Bad Gateway",
        "text/html",
        "<html><h1>502 Bad Gateway</h1></html>\n",
    ),
    Fault::Busy(
        "503 Service Unavailable",
        "text/plain",
        "error: busy, denied for now\n",
    ),
    Fault::Busy(
        "504 Gateway Timeout",
        "text/html",
        "<html>not found: the time</html>\n",
    ),
    Fault::Busy("429 Too Many Requests", "text/plain", "remote error: slow down\n"),
    Fault::Busy(
        "429 Too Many Requests",
        "text/html; charset=utf-8",
        "<html>later</html>\n",
    ),
    Fault::Busy(
        "500 Internal Server Error",
        "text/plain",
        "fatal: repository not found in time\n",
    ),
    Fault::Busy("408 Request Timeout", "text/plain", "access denied: too slow\n"),
];

impl Fault {
    /// Returns that of the request with this number: some are lost, in another way each time.
    fn of(manner: Manner, number: u64) -> Self {
        let busy = |turn: u64| BUSY[usize::try_from(turn).unwrap_or(0) % BUSY.len()];
        match (manner, number % 7, number / 7 % 4) {
            (Manner::Slow, 3, 0) => Self::Unanswered,
            (Manner::Slow, 3, 1) => Self::Lost,
            (Manner::Slow, 3, 2) => Self::CutShort,
            (Manner::Slow, 3, _) => busy(number / 28),
            (Manner::Slow, 0 | 5, _) => Self::Slow,
            (Manner::Busy, 3, _) => busy(number / 7),
            // At no regular interval: the requests of a worker that begins again and again have one.
            (Manner::Silence, ..) if number % 8 == Dice(number / 8).roll(8) => Self::Silent,
            _ => Self::None,
        }
    }
}

/// What is known of all requests.
struct Host {
    git: PathBuf,
    root: PathBuf,
    manner: Manner,
    seed: u64,
    requests: AtomicU64,
    faults: AtomicU64,
    ends: AtomicBool,
}

/// A host that serves the repositories below a directory until it goes out of scope.
pub(super) struct Served {
    host: Arc<Host>,
    address: SocketAddr,
}

/// A request.
#[derive(Default)]
struct Request {
    method: String,
    path: String,
    query: String,
    /// The variables of git-http-backend(1) that its headers make.
    variables: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// The headers that git sends and git-http-backend(1) wants to know.
const HEADERS: [(&str, &str); 4] = [
    ("content-type", "CONTENT_TYPE"),
    ("content-length", "CONTENT_LENGTH"),
    ("content-encoding", "HTTP_CONTENT_ENCODING"),
    ("git-protocol", "GIT_PROTOCOL"),
];

impl Request {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..Self::default()
        };
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let (name, value) = (name.to_ascii_lowercase(), value.trim());
            if name == "content-length" {
                length = value.parse().unwrap_or(0);
            }
            if let Some((_, variable)) = HEADERS.iter().find(|(header, _)| *header == name) {
                request.variables.push((variable, value.to_owned()));
            }
        }
        reader.take(length).read_to_end(&mut request.body)?;
        Ok(request)
    }
}

impl Host {
    /// Does what a request asks for; returns the answer.
    fn answer(&self, request: &Request) -> io::Result<Vec<u8>> {
        let mut child = Command::new(&self.git)
            .arg("http-backend")
            .env_clear()
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REMOTE_USER", "anybody")
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .envs(request.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().unwrap();
        let output = thread::scope(|scope| {
            scope.spawn(move || input.write_all(&request.body));
            child.wait_with_output()
        })?;
        let status = output.stdout.strip_prefix(b"Status: ");
        let status = status.map_or(&b"200 OK"[..], |rest| {
            rest.split(|byte| *byte == b'\r').next().unwrap_or(rest)
        });
        let head = [b"HTTP/1.1 ", status, b"\r\nConnection: close\r\n"].concat();
        let begin = output.stdout.windows(4).position(|four| four == b"\r\n\r\n");
        let length = output.stdout.len() - begin.map_or(0, |begin| begin + 4);
        let length = format!("Content-Length: {length}\r\n");
        Ok([&head, length.as_bytes(), &output.stdout].concat())
    }

    /// Serves one request, with or without a fault.
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = Request::read(&stream)?;
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut dice = Dice(self.seed.wrapping_mul(1_000_003).wrapping_add(number));
        let fault = Fault::of(self.manner, self.seed.wrapping_add(number));
        if !matches!(fault, Fault::None | Fault::Slow) {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(dice.roll(100)));
        match fault {
            Fault::Lost => return Ok(()),
            // Until whoever asked goes away.
            Fault::Silent => return stream.read(&mut [0]).map(|_| ()),
            Fault::Busy(status, kind, text) => {
                let length = text.len();
                return stream.write_all(
                    format!(
                        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{text}"
                    )
                    .as_bytes(),
                );
            }
            _ => {}
        }
        let answer = self.answer(&request)?;
        match fault {
            Fault::Unanswered => Ok(()),
            Fault::CutShort => stream.write_all(&answer[..answer.len() - answer.len() / 4]),
            Fault::Slow => answer.chunks(answer.len() / 8 + 1).try_for_each(|part| {
                thread::sleep(Duration::from_millis(30));
                stream.write_all(part)?;
                stream.flush()
            }),
            _ => stream.write_all(&answer),
        }
    }
}

impl Served {
    /// Serves the repositories below `root` with this git, and fails in this manner; the delays depend on the seed.
    pub(super) fn new(git: &Path, root: &Path, manner: Manner, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let host = Arc::new(Host {
            git: git.to_owned(),
            root: root.to_owned(),
            manner,
            seed,
            requests: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        });
        let serving = Arc::clone(&host);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.ends.load(Ordering::Relaxed) {
                    return;
                }
                let host = Arc::clone(&serving);
                // Who goes away while it is answered is no concern of the host's.
                thread::spawn(move || host.serve(stream));
            }
        });
        Self { host, address }
    }

    /// Returns the address of a repository.
    pub(super) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// Returns how many requests had a fault.
    pub(super) fn faults(&self) -> u64 {
        self.host.faults.load(Ordering::Relaxed)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.host.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}
