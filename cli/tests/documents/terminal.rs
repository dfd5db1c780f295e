//! A person's terminals: one shell for a document's commands, and others for what goes on until Ctrl-C.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::{NamedTempFile, TempDir, TempPath};

use crate::{markdown::repository, output, ports::Ports};

/// No command of a document takes longer, unless it is broken.
const SOON: Duration = Duration::from_secs(120);

/// A directory of its own, with terminals in it.
pub struct Desk {
    // In this order they end: what goes on needs nothing of the shell, and the directory is removed last.
    staying: Vec<Process>,
    shell: Shell,
    ports: Ports,
    place: PathBuf,
    _directory: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self::at("", Ports::free(), directory())
    }

    /// Beside a copy of the examples' service.
    pub fn beside_the_service() -> Self {
        let (ports, directory) = (Ports::free(), directory());
        copy(&repository("examples/service"), &directory.path().join("service"), &ports);
        Self::at("", ports, directory)
    }

    /// In a copy of one of the examples.
    pub fn in_example(name: &str) -> Self {
        let (ports, directory) = (Ports::free(), directory());
        copy(&repository("examples"), &directory.path().join("examples"), &ports);
        Self::at(&format!("examples/{name}"), ports, directory)
    }

    fn at(place: &str, ports: Ports, directory: TempDir) -> Self {
        let place = directory.path().join(place);
        let shell = Shell::open(bash(&place, &ports));
        Self { staying: Vec::new(), shell, ports, place, _directory: directory }
    }

    /// Writes a file that a document shows.
    pub fn write(&self, name: &str, text: &str) {
        assert!(!name.contains('/'), "{name} is not a file of the working directory");
        fs::write(self.place.join(name), self.ports.typed(text)).unwrap();
    }

    /// Types a command, and waits for its end.
    pub fn run(&mut self, command: &str) -> Ended {
        let (output, code) = self.shell.run(&self.ports.typed(command));
        let complaints = fs::read(&self.shell.complaints).unwrap();
        let written = |text: &str| self.ports.written(text);
        Ended { output: written(&output), complaints: written(&String::from_utf8_lossy(&complaints)), code }
    }

    /// Starts a command in a terminal of its own, and waits until it has printed what is shown of it.
    pub fn start(&mut self, command: &str, shown: &str) {
        let mut bash = bash(&self.place, &self.ports);
        let mut process = Process::spawn(bash.arg("-c").arg(format!("exec 2>&1; exec {}", self.ports.typed(command))));
        let deadline = Instant::now() + SOON;
        let mut printed = String::new();
        while !output::begins(shown, &self.ports.written(&printed)) {
            match process.line(deadline) {
                Ok(line) => printed.push_str(&line),
                Err(reason) => panic!("{command}: {reason}; expected\n{shown}\nand got\n{printed}"),
            }
        }
        self.staying.insert(0, process);
    }
}

/// The embedded server's account must be able to enter it, also if we are root.
fn directory() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o711)).tempdir().unwrap()
}

/// Copies files as they are in a new clone: without what somebody who followed a document there has left behind.
fn copy(from: &Path, to: &Path, ports: &Ports) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if name == ".vitrina" || name == "__pycache__" || path.extension().is_some_and(|it| it == "log") {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name), ports);
        } else {
            fs::write(to.join(name), ports.typed(&fs::read_to_string(&path).unwrap())).unwrap();
        }
    }
}

/// What a command left behind.
pub struct Ended {
    /// Standard output.
    pub output: String,
    /// Standard error: progress and errors.
    pub complaints: String,
    pub code: i32,
}

impl Ended {
    /// Whether a document shows it rightly: what was printed, alone or with the errors after it.
    pub fn agrees(&self, shown: &str) -> bool {
        output::agrees(shown, &self.output) || output::agrees(shown, &self.everything())
    }

    pub fn everything(&self) -> String {
        format!("{}{}", self.output, self.complaints)
    }
}

/// A shell in which nothing of our own settings is left.
fn bash(place: &Path, ports: &Ports) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_vitrina"));
    let mut path = OsString::from(program.parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut bash = Command::new("bash");
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("VITRINA_")) {
        bash.env_remove(name);
    }
    for name in ["DATABASE_URL", "ELASTICSEARCH_URL", "BASH_ENV"] {
        bash.env_remove(name);
    }
    bash.arg("--norc").current_dir(place).env("PATH", path).env("VITRINA_ADDR", ports.api());
    bash
}

/// A process with everything that it starts, ended with us.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut line = Vec::new();
            while reader.by_ref().read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Self { child, lines }
    }

    /// The next line of output.
    fn line(&mut self, deadline: Instant) -> Result<String, &'static str> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => "not in time",
            RecvTimeoutError::Disconnected => "it ended too early",
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        drop(self.child.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(40);
        let mut signal = Signal::TERM;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill_process_group(group, signal);
            thread::sleep(Duration::from_millis(50));
            if Instant::now() > deadline {
                signal = Signal::KILL;
            }
        }
    }
}

/// A shell that takes one command after the other.
struct Shell {
    process: Process,
    input: ChildStdin,
    complaints: TempPath,
}

impl Shell {
    fn open(mut bash: Command) -> Self {
        let mut process = Process::spawn(bash.arg("-s"));
        let input = process.child.stdin.take().unwrap();
        Self { process, input, complaints: NamedTempFile::new().unwrap().into_temp_path() }
    }

    /// Variables that a command sets are there for the next one.
    fn run(&mut self, command: &str) -> (String, i32) {
        const END: &str = "--- ended with ";
        let complaints = self.complaints.display();
        writeln!(self.input, "{{ {command}\n}} </dev/null 2>{complaints}\nprintf '\\n{END}%d\\n' $?").unwrap();
        let deadline = Instant::now() + SOON;
        let mut printed = String::new();
        loop {
            let line = self.process.line(deadline);
            let line = line.unwrap_or_else(|reason| panic!("{command}: {reason}; it printed\n{printed}"));
            if let Some(code) = line.strip_prefix(END) {
                return (printed, code.trim().parse().unwrap());
            }
            printed.push_str(&line);
        }
    }
}
