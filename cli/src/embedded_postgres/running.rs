//! The address of an embedded server that another process keeps running.

use std::path::Path;

use super::cluster::OWNER;
use super::files::read_password;
use super::home::noted_elsewhere;
use super::pid_file::PidFile;
use super::postmaster::Postmaster;
use super::{APP, DATABASE, EmbeddedResult, url};

#[derive(Debug, Clone)]
pub struct Running {
    /// As the owner, who may do everything.
    pub admin_url: String,
    pub app_url: String,
}

/// The server of this data directory, if one is running. Starts and changes nothing.
pub fn running(data_dir: &Path) -> EmbeddedResult<Option<Running>> {
    let Ok(data_dir) = data_dir.canonicalize() else { return Ok(None) };
    let directory = noted_elsewhere(&data_dir).unwrap_or(data_dir);
    let cluster = directory.join("postgres");
    let ready = PidFile::read(&cluster).filter(|file| file.ready && Postmaster::lives(&cluster));
    let Some(server) = ready else { return Ok(None) };
    let owner = read_password(&directory.join("owner.password"))?;
    let app = read_password(&directory.join("app.password"))?;
    Ok(owner.zip(app).map(|(owner, app)| Running {
        admin_url: url(OWNER, &owner, server.port, DATABASE),
        app_url: url(APP, &app, server.port, DATABASE),
    }))
}
