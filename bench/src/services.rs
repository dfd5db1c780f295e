//! A real API and a real worker, as processes of their own.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use tokio::process::{Child, Command};

use crate::{Outcome, settings::Setup};

const PATIENCE: Duration = Duration::from_secs(20);

pub struct Program {
    file: PathBuf,
    out: PathBuf,
    /// The services' own account, without its owner's rights.
    database_url: String,
    owner_url: String,
}

impl Program {
    pub fn find(setup: &Setup) -> Outcome<Self> {
        let beside = || std::env::current_exe().map(|path| path.with_file_name("vitrina"));
        let file = fs::canonicalize(setup.program.clone().map_or_else(beside, Ok)?)?;
        fs::create_dir_all(&setup.out)?;
        Ok(Self {
            file,
            out: fs::canonicalize(&setup.out)?,
            database_url: setup.database_url.replace("postgres@", "vitrina_app@"),
            owner_url: setup.database_url.clone(),
        })
    }

    /// Runs a command of the program to its end, as the database's owner.
    pub async fn run(&self, arguments: &[&str]) -> Outcome<()> {
        let status = self.command(arguments, "setup")?.env("DATABASE_URL", &self.owner_url).status().await?;
        if status.success() { Ok(()) } else { Err(format!("vitrina {} failed", arguments.join(" ")).into()) }
    }

    pub async fn start_api(&self) -> Outcome<Service> {
        self.start("api", "VITRINA_ADDR", "/ready", &[]).await
    }

    /// Starts a worker that looks at the queue by itself only once a minute.
    pub async fn start_worker(&self) -> Outcome<Service> {
        self.start_worker_with(&[]).await
    }

    /// The same with further settings.
    pub async fn start_worker_with(&self, settings: &[(&str, &str)]) -> Outcome<Service> {
        self.start("worker", "VITRINA_METRICS_ADDR", "/health", settings).await
    }

    async fn start(
        &self,
        command: &str,
        address_variable: &str,
        probe: &str,
        settings: &[(&str, &str)],
    ) -> Outcome<Service> {
        // Free a moment ago; if another program takes it in between, this run fails and the next one works.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = self
            .command(&[command], command)?
            .env("DATABASE_URL", &self.database_url)
            .env(address_variable, &address)
            .env("VITRINA_POLL_SECONDS", "60")
            .envs(std::env::var("VITRINA_TEST_ELASTICSEARCH_URL").map(|url| ("ELASTICSEARCH_URL", url)))
            .envs(settings.iter().copied())
            .kill_on_drop(true)
            .spawn()?;
        let service = Service { url: format!("http://{address}"), child };
        service.wait_for(probe).await?;
        Ok(service)
    }

    fn command(&self, arguments: &[&str], log: &str) -> Outcome<Command> {
        let log = File::create(self.out.join(format!("{log}.log")))?;
        let mut command = Command::new(&self.file);
        command
            .args(arguments)
            // Not the workspace, whose `.env` would be read.
            .current_dir(&self.out)
            .env("VITRINA_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Ok(command)
    }
}

/// A service that is running; it ends with this value.
pub struct Service {
    pub url: String,
    child: Child,
}

impl Service {
    async fn wait_for(&self, probe: &str) -> Outcome<()> {
        let url = format!("{}{probe}", self.url);
        let ready = async {
            loop {
                if reqwest::get(&url).await.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.map_err(|_| format!("{url} does not answer").into())
    }

    /// The most memory that the process has ever held, in mebibytes.
    pub fn peak_memory(&self) -> Outcome<f64> {
        peak_memory_of(&self.id()?.to_string())
    }

    /// The same of each process that it has started and that is running.
    pub fn peak_memory_of_children(&self) -> Outcome<Vec<f64>> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id()?))?;
        let children = tasks.map(|task| Ok(fs::read_to_string(task?.path().join("children"))?));
        let children = children.collect::<Outcome<String>>()?;
        children.split_whitespace().map(peak_memory_of).collect()
    }

    fn id(&self) -> Outcome<u32> {
        self.child.id().ok_or_else(|| "the service has ended".into())
    }
}

fn peak_memory_of(pid: &str) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes / 1024.0)
}
