//! Background commands. They belong to the session and end with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use askfirst::ports::{Launch, LaunchFailed, Launcher, Listener, ProcessOutput, Stream};
use askfirst::toolset::CallerThread;
use askfirst::{Invocation, ToolError};
use askfirst_sandbox::CaptureBuffer;
use serde_json::{Value, json};

use crate::blocking::offload;
use crate::launcher::joined;
use crate::tools::finished::result_of;

/// The maximum number of commands that run at once.
const MAX_RUNNING: usize = 32;
/// How long to wait for a stopped command to end, including the check of the files that it created.
const GRACE: Duration = Duration::from_secs(30);

type JobResult = Result<ProcessOutput, LaunchFailed>;

/// One background command.
#[derive(Clone)]
enum Job {
    /// It is running. This is its output so far.
    Running(Arc<JobOutput>),
    /// It has ended.
    Over(Arc<JobResult>),
}

/// The output of a job so far, cut to the same size as the final output, and the way to end the job.
struct JobOutput {
    kept: Mutex<(CaptureBuffer, CaptureBuffer)>,
    ending: Mutex<StopRequest>,
}

#[derive(Default)]
struct StopRequest {
    /// Whether the job must end, even if it has not started yet.
    wanted: bool,
    by: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl JobOutput {
    fn new(kept: usize) -> Self {
        Self {
            kept: Mutex::new((CaptureBuffer::new(kept), CaptureBuffer::new(kept))),
            ending: Mutex::default(),
        }
    }

    fn ending(&self) -> MutexGuard<'_, StopRequest> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut ending = self.ending();
        ending.wanted = true;
        ending.by.iter().for_each(|end| end());
    }

    fn so_far(&self) -> Value {
        let (stdout, stderr) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (stdout, stderr) = (stdout.finish(), stderr.finish());
        let left_out = stdout.dropped + stderr.dropped;
        let text = |captured| String::from_utf8_lossy(&joined(captured)).into_owned();
        let state = if self.ending().wanted { "stopping" } else { "running" };
        let mut told = json!({"state": state, "stdout": text(stdout), "stderr": text(stderr)});
        if let Some(told) = told.as_object_mut().filter(|_| left_out > 0) {
            told.insert("left_out_bytes".to_owned(), left_out.into());
        }
        told
    }
}

impl Listener for JobOutput {
    fn wrote(&self, stream: Stream, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match stream {
            Stream::Stdout => kept.0.push(bytes),
            Stream::Stderr => kept.1.push(bytes),
        }
    }

    fn starts(&self, end: &Arc<dyn Fn() + Send + Sync>) {
        let mut ending = self.ending();
        if ending.wanted {
            end();
        }
        ending.by = Some(Arc::clone(end));
    }
}

#[derive(Default)]
struct JobList {
    jobs: Mutex<BTreeMap<String, Job>>,
    changed: Condvar,
}

/// The background commands of a session.
#[derive(Default)]
pub(super) struct Jobs {
    shared: Arc<JobList>,
    next: AtomicU64,
}

impl Jobs {
    /// Starts a job and returns its id.
    pub(super) fn start(
        &self,
        launcher: Arc<dyn Launcher>,
        launch: Launch,
        invocation: Invocation,
    ) -> Result<String, ToolError> {
        let output = Arc::new(JobOutput::new(launch.output));
        let id = format!("job-{}", self.next.fetch_add(1, Ordering::Relaxed) + 1);
        {
            let mut jobs = self.shared.lock();
            if jobs.values().filter(|job| matches!(job, Job::Running(_))).count() >= MAX_RUNNING {
                return Err(ToolError::Failed(format!(
                    "{MAX_RUNNING} commands are already running in the background"
                )));
            }
            jobs.insert(id.clone(), Job::Running(Arc::clone(&output)));
        }
        let shared = Arc::clone(&self.shared);
        let key = id.clone();
        let work = move || {
            let listener: Arc<dyn Listener> = output;
            let ended = launcher.launch_heard(&launch, &listener);
            if let Ok(finished) = &ended {
                invocation.report_sandbox(finished.walled.clone());
            }
            shared.lock().insert(key, Job::Over(Arc::new(ended)));
            shared.changed.notify_all();
        };
        match std::thread::Builder::new().name("askfirst-job".to_owned()).spawn(work) {
            Ok(_) => Ok(id),
            Err(_) => {
                self.shared.lock().remove(&id);
                Err(ToolError::Failed("cannot start a thread for this call".to_owned()))
            }
        }
    }

    /// Returns the output or the result of a job, after waiting at most `wait` for its end.
    pub(super) async fn output(
        &self,
        thread: CallerThread,
        id: &str,
        wait: Duration,
    ) -> Result<Value, ToolError> {
        let shared = Arc::clone(&self.shared);
        let id = id.to_owned();
        let waited = if wait.is_zero() {
            Some(shared.wait(&id, wait))
        } else {
            offload(thread, move || shared.wait(&id, wait)).await
        };
        told(waited.flatten())
    }

    /// Ends a job and returns its result.
    pub(super) async fn stop(&self, thread: CallerThread, id: &str) -> Result<Value, ToolError> {
        let shared = Arc::clone(&self.shared);
        let id = id.to_owned();
        let stopped = offload(thread, move || shared.stop(&id)).await;
        told(stopped.flatten())
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let running: Vec<String> = self.shared.lock().keys().cloned().collect();
        // End all of them first, then wait, so that they end in parallel.
        running.iter().for_each(|id| self.shared.end(id));
        let until = Instant::now() + GRACE;
        for id in running {
            self.shared.wait(&id, until.saturating_duration_since(Instant::now()));
        }
    }
}

impl JobList {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at most `wait` for the end of a job, and returns its state. Returns `None` if there is no such job.
    fn wait(&self, id: &str, wait: Duration) -> Option<Job> {
        let until = Instant::now() + wait;
        let mut jobs = self.lock();
        loop {
            let job = jobs.get(id)?.clone();
            let left = until.saturating_duration_since(Instant::now());
            if matches!(job, Job::Over(_)) || left.is_zero() {
                return Some(job);
            }
            jobs = self.changed.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends a job if it is running, without waiting.
    fn end(&self, id: &str) {
        let job = self.lock().get(id).cloned();
        if let Some(Job::Running(output)) = job {
            output.end();
        }
    }

    fn stop(&self, id: &str) -> Option<Job> {
        self.end(id);
        self.wait(id, GRACE)
    }
}

fn told(job: Option<Job>) -> Result<Value, ToolError> {
    match job {
        None => Err(ToolError::BadArgs("this session has no such job".to_owned())),
        Some(Job::Running(output)) => Ok(output.so_far()),
        Some(Job::Over(ended)) => match &*ended {
            Ok(finished) => result_of(finished),
            Err(e) => Err(ToolError::Failed(e.to_string())),
        },
    }
}
