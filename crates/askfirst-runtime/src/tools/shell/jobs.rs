//! Commands that were started and not waited for. They belong to the session, and end with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use askfirst::ports::{Finished, Launch, LaunchFailed, Launcher};
use askfirst::{Invocation, ToolError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::offload::offload;
use crate::tools::finished::result_of;

/// So many may run at once.
const MAX_RUNNING: usize = 32;
/// By this variable the processes of a job are found again.
const MARK: &str = "ASKFIRST_JOB";
/// How long one that is stopped may take to end.
const GRACE: Duration = Duration::from_secs(5);

type Ended = Result<Finished, LaunchFailed>;

#[derive(Default)]
struct Shared {
    /// How each ended; nothing while it runs.
    jobs: Mutex<BTreeMap<String, Option<Arc<Ended>>>>,
    changed: Condvar,
}

/// The jobs of a session.
#[derive(Default)]
pub(super) struct Jobs {
    shared: Arc<Shared>,
    next: AtomicU64,
}

impl Jobs {
    /// Starts one and gives its id.
    pub(super) fn start(
        &self,
        launcher: Arc<dyn Launcher>,
        mut launch: Launch,
        invocation: Invocation,
    ) -> Result<String, ToolError> {
        let id = format!("job-{}", self.next.fetch_add(1, Ordering::Relaxed) + 1);
        {
            let mut jobs = self.shared.lock();
            if jobs.values().filter(|ended| ended.is_none()).count() >= MAX_RUNNING {
                return Err(ToolError::Failed(format!(
                    "{MAX_RUNNING} commands run in the background already"
                )));
            }
            jobs.insert(id.clone(), None);
        }
        launch.env.push((MARK.into(), mark(&id).into()));
        let shared = Arc::clone(&self.shared);
        let key = id.clone();
        let work = move || {
            let ended = launcher.launch(&launch);
            if let Ok(finished) = &ended {
                invocation.ran_behind(finished.walled.clone());
            }
            shared.lock().insert(key, Some(Arc::new(ended)));
            shared.changed.notify_all();
        };
        match std::thread::Builder::new().name("askfirst-job".to_owned()).spawn(work) {
            Ok(_) => Ok(id),
            Err(_) => {
                self.shared.lock().remove(&id);
                Err(ToolError::Failed("no thread could be started for it".to_owned()))
            }
        }
    }

    /// What became of one, waiting for its end for a while.
    pub(super) async fn output(&self, id: &str, wait: Duration) -> Result<Value, ToolError> {
        let shared = Arc::clone(&self.shared);
        let id = id.to_owned();
        let waited = if wait.is_zero() {
            Some(shared.wait(&id, wait))
        } else {
            offload(move || shared.wait(&id, wait)).await
        };
        told(waited.flatten())
    }

    /// Ends one and says how it ended.
    pub(super) async fn stop(&self, id: &str) -> Result<Value, ToolError> {
        let shared = Arc::clone(&self.shared);
        let id = id.to_owned();
        let stopped = offload(move || shared.stop(&id)).await;
        told(stopped.flatten())
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let running: Vec<String> = self
            .shared
            .lock()
            .iter()
            .filter(|(_, ended)| ended.is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for id in running {
            self.shared.stop(&id);
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<Arc<Ended>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How one ended, waiting for a while; nothing within if it still runs, nothing at all if there is none.
    fn wait(&self, id: &str, wait: Duration) -> Option<Option<Arc<Ended>>> {
        let until = Instant::now() + wait;
        let mut jobs = self.lock();
        loop {
            let ended = jobs.get(id)?.clone();
            let left = until.saturating_duration_since(Instant::now());
            if ended.is_some() || left.is_zero() {
                return Some(ended);
            }
            jobs = self.changed.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn stop(&self, id: &str) -> Option<Option<Arc<Ended>>> {
        let until = Instant::now() + GRACE;
        loop {
            let ended = self.wait(id, Duration::from_millis(20))?;
            if ended.is_some() || Instant::now() > until {
                return Some(ended);
            }
            kill_marked(&mark(id));
        }
    }
}

fn told(ended: Option<Option<Arc<Ended>>>) -> Result<Value, ToolError> {
    match ended {
        None => Err(ToolError::BadArgs("there is no such job in this session".to_owned())),
        Some(None) => Ok(json!({"state": "running"})),
        Some(Some(ended)) => match &*ended {
            Ok(finished) => result_of(finished),
            Err(e) => Err(ToolError::Failed(e.to_string())),
        },
    }
}

/// What tells a job's processes from those of every other session.
fn mark(id: &str) -> String {
    format!("{}-{id}", std::process::id())
}

/// Ends every process that has the mark in its environment. When the first of them has ended, the launcher ends the rest.
fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return };
    for entry in entries.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
        let marked = environ.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes());
        if let Some(pid) = Pid::from_raw(number).filter(|_| marked) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
