//! Asks another kernel: a node program runs there and answers requests.
//!
//! Requests and answers are files of JSON in a folder that both sides see, `N.request` and
//! `N.answer`; over a pipe or a serial line go only their numbers, a line each, and `ready` at the
//! start. A serial line alone would not do: that of user-mode Linux stalls on long input.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::KernelError;
use crate::exchange::{Exchanges, Request, Response};

/// What a node program says when it can be asked.
pub const READY: &str = "ready";
/// How long a node program may take to end when nobody asks any more.
const ENDING: Duration = Duration::from_secs(20);

/// A node program that runs.
#[derive(Debug)]
pub struct Served {
    process: Child,
    folder: TempDir,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

impl Served {
    /// Starts a node program with a folder, and waits until it can be asked. What it says besides
    /// goes to `console` in the folder.
    pub fn start(command: Command, folder: TempDir) -> Result<Served, KernelError> {
        let what = format!("cannot start {}", command.get_program().display());
        let mut served = Served::spawn(command, folder).map_err(KernelError::system(what))?;
        served.await_line(READY).map_err(|_| served.last_words())?;
        Ok(served)
    }

    fn spawn(mut command: Command, folder: TempDir) -> io::Result<Served> {
        let console = fs::File::create(folder.path().join("console"))?;
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(console);
        let mut process = pipes.spawn()?;
        let requests = process.stdin.take();
        let answers = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Served { process, folder, requests, answers: BufReader::new(answers), asked: 0 })
    }

    /// Asks. A program that could not be asked is of no more use.
    pub fn ask(&mut self, request: &Request) -> Result<Response, KernelError> {
        self.asked += 1;
        self.send(request).map_err(|_| self.last_words())
    }

    fn send(&mut self, request: &Request) -> io::Result<Response> {
        let number = self.asked.to_string();
        fs::write(request_path(self.folder.path(), &number), serde_json::to_vec(request)?)?;
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(requests, "{number}")?;
        requests.flush()?;
        self.await_line(&number)?;
        let path = answer_path(self.folder.path(), &number);
        let response = serde_json::from_slice(&fs::read(&path)?)?;
        fs::remove_file(path)?;
        Ok(response)
    }

    /// Waits until the program says this.
    fn await_line(&mut self, awaited: &str) -> io::Result<()> {
        let mut line = String::new();
        while line.trim() != awaited {
            line.clear();
            if self.answers.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn last_words(&self) -> KernelError {
        let text = fs::read(self.folder.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        // What a kernel says of itself when its init is gone helps nobody.
        let said = text.lines().take_while(|line| !line.starts_with("Kernel panic"));
        let lines: Vec<&str> = said.collect::<Vec<_>>().into_iter().rev().take(5).collect();
        KernelError::Node(lines.into_iter().rev().collect::<Vec<_>>().join("; "))
    }
}

impl Drop for Served {
    /// A program that gets no more requests ends; a kernel that does not is ended.
    fn drop(&mut self) {
        drop(self.requests.take());
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if start.elapsed() > ENDING {
                // It is gone, or not ours to end.
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Answers requests until there are no more.
///
/// # Errors
/// If the folder or the line cannot be read or written.
pub fn serve(
    folder: &Path,
    requests: impl BufRead,
    mut line: impl Write,
    answer: impl Fn(&Request) -> Result<Exchanges, KernelError>,
) -> io::Result<()> {
    writeln!(line, "{READY}")?;
    line.flush()?;
    for number in requests.lines() {
        let number = number?;
        let path = request_path(folder, &number);
        let request = serde_json::from_slice(&fs::read(&path)?)?;
        let response: Response = answer(&request).map_err(Into::into);
        let mut file = fs::File::create(answer_path(folder, &number))?;
        file.write_all(&serde_json::to_vec(&response)?)?;
        file.sync_all()?;
        fs::remove_file(path)?;
        writeln!(line, "{number}")?;
        line.flush()?;
    }
    Ok(())
}

fn request_path(folder: &Path, number: &str) -> PathBuf {
    folder.join(format!("{number}.request"))
}

fn answer_path(folder: &Path, number: &str) -> PathBuf {
    folder.join(format!("{number}.answer"))
}
