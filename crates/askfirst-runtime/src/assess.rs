//! The first step of a call: pin the tool's definition, get the tool's assessment, prepare the presentation.
//!
//! A tool that panics here blocks the call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use askfirst::ports::Presenter;
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalContext, ApprovalRequest, Assessment, Judgement, Policy, Shown, ToolError, Toolset, judge,
};
use askfirst_config::{find_closest, section_that_offers};
use serde_json::Value;

/// How to treat a tool name without a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Block the call.
    Blocked,
    /// The tool is elsewhere, so the policy alone decides.
    Silent,
    /// Block the call, unless the policy names the tool or the name is that of a gateway tool. Such a tool is in another
    /// program, so a call here is judged and then fails.
    Unnamed,
}

/// A call that was judged but not submitted.
pub struct JudgedCall<'a> {
    /// The call, with its paths resolved.
    pub call: &'a ApprovalContext,
    /// The tool's own assessment.
    pub assessment: &'a Assessment,
    /// The verdict and its reasons.
    pub judgement: &'a Judgement<'a>,
}

/// Judges a call without submitting it. askfirst asks no one, runs nothing and logs nothing.
pub fn decide<T>(
    call: ApprovalContext,
    toolset: &dyn Toolset,
    policy: &Policy,
    unknown: Unknown,
    read: impl FnOnce(JudgedCall<'_>) -> T,
) -> T {
    let (call, assessment) = look(call, toolset, policy, unknown);
    let judgement = judged(&call, &assessment, policy);
    read(JudgedCall { call: &call, assessment: &assessment, judgement: &judgement })
}

/// Prepares a call and gets the tool's assessment. A tool that panics at any point blocks the call.
pub(crate) fn look(
    mut call: ApprovalContext,
    toolset: &dyn Toolset,
    policy: &Policy,
    unknown: Unknown,
) -> (Arc<ApprovalContext>, Assessment) {
    let looked = catch_unwind(AssertUnwindSafe(|| {
        make_ready(&mut call, toolset, policy);
        assess(&call, toolset, policy, unknown)
    }));
    (Arc::new(call), looked.unwrap_or_else(|_| Assessment::blocked(FAILED)))
}

const FAILED: &str = "the tool failed to assess the call";

/// Pins the tool's definition, and resolves the links in paths that a rule tests.
fn make_ready(call: &mut ApprovalContext, toolset: &dyn Toolset, policy: &Policy) {
    call.definition = toolset.pinned(&call.tool_name).map(|pinned| pinned.digest);
    let texts: Vec<String> = policy.paths_to_resolve(call).into_iter().map(str::to_owned).collect();
    call.resolved.clear();
    if !texts.is_empty() {
        let place = |text: &str| {
            let told = toolset.approval().and_then(|tools| tools.place_of(call, text));
            told.or_else(|| plain_place(call, text, policy.folder()))
        };
        let followed = texts.into_iter().filter_map(|text| Some((follow(&place(&text)?)?, text)));
        let followed: Vec<_> = followed.collect();
        call.resolved = followed.into_iter().map(|(path, text)| (text, path)).collect();
    }
}

/// Checks whether a tool can take the call. A check of the arguments that panics does not count.
pub(crate) fn check_args(
    call: &ApprovalContext,
    toolset: &dyn Toolset,
    unknown: Unknown,
) -> Result<(), ToolError> {
    if unknown == Unknown::Unnamed && call.definition.is_none() {
        return Err(ToolError::Unknown(short(&call.tool_name)));
    }
    let checked = catch_unwind(AssertUnwindSafe(|| toolset.check_args(call)));
    checked.unwrap_or(Ok(())).map_err(|mismatch| ToolError::BadArgs(short(&mismatch.to_string())))
}

/// Fails if the tool's definition changed after the call was judged: it may no longer be the tool that was shown.
pub(crate) fn check_definition(call: &ApprovalContext, toolset: &dyn Toolset) -> Result<(), ToolError> {
    let now = toolset.pinned(&call.tool_name).map(|pinned| pinned.digest);
    let changed = || ToolError::Stale("the tool's definition changed meanwhile".to_owned());
    (now == call.definition).then_some(()).ok_or_else(changed)
}

/// Returns the tool's own assessment of a call.
fn assess(call: &ApprovalContext, toolset: &dyn Toolset, policy: &Policy, unknown: Unknown) -> Assessment {
    let name = call.tool_name.as_str();
    let is_untrusted = policy.untrusted_tools().contains(name);
    let is_named = || !is_untrusted && (name.starts_with("mcp__") || policy.names(name));
    let blocked = match unknown {
        Unknown::Blocked => call.definition.is_none(),
        Unknown::Silent => false,
        Unknown::Unnamed => call.definition.is_none() && !is_named(),
    };
    if blocked && is_untrusted {
        return Assessment::blocked("the project's config is not trusted; hint: run `askfirst trust`");
    }
    if blocked {
        return Assessment::blocked(no_such_tool(name, toolset, policy));
    }
    let view = || toolset.approval().map_or_else(Assessment::silent, |tools| tools.check_approval(call));
    let mut assessment = catch_unwind(AssertUnwindSafe(view)).unwrap_or_else(|_| Assessment::blocked(FAILED));
    let risk = toolset.pinned(&call.tool_name).map(|pinned| pinned.risk);
    assessment.risk = assessment.risk.max(risk.unwrap_or_default());
    assessment
}

/// Returns the reason for an unknown name, with the tool that was probably meant, or with the missing section.
fn no_such_tool(name: &str, toolset: &dyn Toolset, policy: &Policy) -> String {
    let tools = toolset.tools();
    let known = tools.iter().map(|tool| tool.name.as_str());
    let close = find_closest(name, known.chain(policy.untrusted_tools().iter().map(String::as_str)));
    let hint = match (section_that_offers(name), close) {
        (Some(section), _) => format!("; hint: the config offers it with a section `{section}`"),
        (None, Some(close)) => format!("; hint: did you mean `{close}`?"),
        (None, None) => String::new(),
    };
    format!("there is no tool `{}`{hint}", short(name))
}

/// Shortens a text of the agent for an error message. A long text is cut, and its length is added.
fn short(name: &str) -> String {
    const MOST: usize = 100;
    match name.chars().count() {
        0..=MOST => name.to_owned(),
        all => format!("{}… ({all} characters)", name.chars().take(MOST).collect::<String>()),
    }
}

/// Runs the judge. If a decision point of the user panics, the call is denied.
#[must_use]
pub(crate) fn judged<'a>(
    call: &'a ApprovalContext,
    assessment: &'a Assessment,
    policy: &'a Policy,
) -> Judgement<'a> {
    static FAILED: LazyLock<Assessment> =
        LazyLock::new(|| Assessment::blocked("the override failed to assess the call"));
    catch_unwind(AssertUnwindSafe(|| judge(call, assessment, policy)))
        .unwrap_or_else(|_| judge(call, &FAILED, policy))
}

/// Returns the absolute path for a path argument, for a tool that resolves paths like its process does.
///
/// For a relative path, the process must be in the folder of the rules, and the call must name no folder. Otherwise the
/// result is `None`.
fn plain_place(call: &ApprovalContext, text: &str, rules: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(text);
    if text.is_empty() || text.contains('\0') || text.starts_with('~') {
        return None;
    }
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let named =
        [&call.args, &call.metadata].iter().any(|map| map.get("cwd").is_some_and(|cwd| !cwd.is_null()));
    let here = std::env::current_dir().ok().filter(|_| !named)?;
    let same = |rules: &Path| {
        rules == here
            || rules.canonicalize().is_ok_and(|rules| here.canonicalize().is_ok_and(|here| rules == here))
    };
    rules.is_none_or(same).then(|| here.join(path))
}

/// Resolves every link of a path, as far as the path exists. Returns `None` if the target is uncertain.
fn follow(path: &Path) -> Option<String> {
    let mut missing: Vec<std::ffi::OsString> = Vec::new();
    let mut head = path;
    loop {
        // Links such as `/proc/self/cwd` have a different target in each process.
        if is_led_by_magic(head) {
            return None;
        }
        match head.canonicalize() {
            Ok(found) => {
                let whole = missing.iter().rev().fold(found, |path, name| path.join(name));
                return whole.to_str().map(str::to_owned);
            }
            // A dangling link could get a target later. A missing part must not contain `..` either.
            Err(_) if head.symlink_metadata().is_ok() => return None,
            Err(_) => match head.components().next_back()? {
                Component::Normal(name) => missing.push(name.to_owned()),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            },
        }
        head = head.parent()?;
    }
}

#[cfg(target_os = "linux")]
fn is_led_by_magic(path: &Path) -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::NO_MAGICLINKS);
    openat2(CWD, path, flags, Mode::empty(), resolve).is_err_and(|e| e == rustix::io::Errno::LOOP)
}

#[cfg(not(target_os = "linux"))]
fn is_led_by_magic(_: &Path) -> bool {
    false
}

/// Presents a call with its tool, when a person will be asked.
pub(crate) struct Present {
    toolset: Arc<dyn Toolset>,
    call: Arc<ApprovalContext>,
}

impl Present {
    pub(crate) fn new(toolset: Arc<dyn Toolset>, call: Arc<ApprovalContext>) -> Self {
        Self { toolset, call }
    }
}

impl Presenter for Present {
    fn present(&self, request: &ApprovalRequest) -> Shown {
        self.toolset.approval().map(|tools| tools.present(&self.call, request)).unwrap_or_default()
    }
}

/// A running tool. If it panics, only its own call fails.
pub(crate) struct CaughtUnwind<'a>(pub(crate) BoxFuture<'a, Result<Value, ToolError>>);

impl Future for CaughtUnwind<'_> {
    type Output = Result<Value, ToolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(ToolError::Failed("the tool panicked".to_owned()))))
    }
}

#[cfg(test)]
#[path = "assess/tests.rs"]
mod tests;
