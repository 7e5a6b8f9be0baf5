//! Property tests with random configs: a process reaches nothing that the file tools would refuse, and without asking
//! nothing that they would ask about. An explicit profile never adds access.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::Access;
use askfirst::record::CommitRecord;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, Because, Digest, Effects, EffectsPolicy, RunBasis, View,
};
use askfirst_config::{
    Config, NetworkAccess, OSProfile as Narrower, PathApproval, PathConfig, PathMode, Settings, ShellConfig,
};
use askfirst_files::{ChangeGuard, FileTools, KeptChanges, PlannedChange, RootView};
use askfirst_sandbox::{Denial, Network, OSProfile};
use proptest::prelude::*;
use serde_json::json;

use super::super::{DerivedProfile, HardLinks, ProtectedNames, derive_os_sandbox_profile};

const FOLDERS: [&str; 6] = ["a", "a/b", "a/b/c", "a/.git/hooks", "d", "d/e"];
const FILES: [&str; 9] = [
    "a/f",
    "a/.env",
    "a/b/f",
    "a/b/.env",
    "a/b/c/f",
    "a/.git/hooks/f",
    "a/.git/config",
    "d/f",
    "d/e/.bashrc",
];

fn approval() -> impl Strategy<Value = Approval> {
    prop::sample::select(vec![
        Approval::None,
        Approval::None,
        Approval::Required,
        Approval::Human,
        Approval::Deny,
    ])
}

fn root() -> impl Strategy<Value = (usize, bool, Approval, Approval)> {
    (0..FOLDERS.len(), any::<bool>(), approval(), approval())
}

prop_compose! {
    fn layer()(
        roots in prop::collection::vec(root(), 0..4),
        never_read in prop::sample::subsequence(vec![".env", "b/c", "/d/e", "*.x"], 0..3),
        never_write in prop::sample::subsequence(vec!["f", "a/b/**"], 0..2),
        network in prop::option::of(any::<bool>()),
        read in prop::option::of(prop::collection::vec(0..FOLDERS.len(), 0..3)),
        write in prop::option::of(prop::collection::vec(0..FOLDERS.len(), 0..3)),
        no_network in prop::option::of(any::<bool>()),
    ) -> Layer {
        Layer { roots, never_read, never_write, network, narrower: (read, write, no_network) }
    }
}

#[derive(Debug, Clone)]
struct Layer {
    roots: Vec<(usize, bool, Approval, Approval)>,
    never_read: Vec<&'static str>,
    never_write: Vec<&'static str>,
    network: Option<bool>,
    narrower: (Option<Vec<usize>>, Option<Vec<usize>>, Option<bool>),
}

impl Layer {
    fn settings(&self, base: &Path) -> Settings {
        let mut settings = Settings::default();
        let mut paths: BTreeMap<String, PathConfig> = BTreeMap::new();
        for (folder, writable, read, write) in &self.roots {
            paths.insert(
                format!("r{folder}"),
                PathConfig {
                    root: base.join(FOLDERS[*folder]),
                    mode: if *writable { PathMode::Rw } else { PathMode::Ro },
                    suffixes: Vec::new(),
                    max_file_bytes: None,
                    products: Vec::new(),
                    approval: PathApproval { read: *read, write: *write, attach: *read },
                    origin: Because::built_in("sandbox.paths", "a root"),
                },
            );
        }
        settings.sandbox.paths = paths;
        settings.sandbox.never_read = self.never_read.iter().map(|rule| (*rule).to_owned()).collect();
        settings.sandbox.never_write = self.never_write.iter().map(|rule| (*rule).to_owned()).collect();
        if let Some(network) = self.network {
            let access = if network { NetworkAccess::None } else { NetworkAccess::Deny };
            settings.shell = Some(ShellConfig { network: access, ..ShellConfig::default() });
            let origin = askfirst_config::Origin { value: network.to_string(), from: "x".to_owned() };
            settings.origins.insert("shell.network".to_owned(), origin);
        }
        settings
    }

    fn narrower(&self, base: &Path) -> Narrower {
        let paths = |folders: &Option<Vec<usize>>| {
            folders.as_ref().map(|folders| folders.iter().map(|folder| base.join(FOLDERS[*folder])).collect())
        };
        Narrower { read: paths(&self.narrower.0), write: paths(&self.narrower.1), network: self.narrower.2 }
    }
}

fn innermost<'a>(grants: impl Iterator<Item = &'a askfirst_sandbox::Grant>, path: &Path) -> usize {
    grants
        .filter(|grant| path.starts_with(&grant.path))
        .map(|grant| grant.path.components().count())
        .max()
        .unwrap_or(0)
}

fn reads(profile: &OSProfile, path: &Path) -> bool {
    innermost(profile.readable.iter().chain(&profile.writable), path) > 0
        && !profile.denied.iter().any(|denied| path.starts_with(&denied.path) && denied.what == Denial::All)
}

fn writes(profile: &OSProfile, path: &Path) -> bool {
    reads(profile, path)
        && innermost(profile.writable.iter(), path) > innermost(profile.readable.iter(), path)
        && !profile.denied.iter().any(|denied| path.starts_with(&denied.path))
}

fn derive(config: &Config, access: Access) -> DerivedProfile {
    let roots: Vec<PathBuf> = config.main.sandbox.paths.values().map(|path| path.root.clone()).collect();
    let (protected, links) = (ProtectedNames::new(config).unwrap(), HardLinks::search(&roots).unwrap());
    derive_os_sandbox_profile(config, access, &protected, &links).unwrap()
}

fn world() -> (tempfile::TempDir, PathBuf) {
    let held = tempfile::tempdir().unwrap();
    let base = held.path().canonicalize().unwrap();
    for folder in FOLDERS {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    for file in FILES {
        std::fs::write(base.join(file), "x").unwrap();
    }
    (held, base)
}

/// Leaves all decisions to the rules of the config, which this test compares.
struct NoEffects;

impl ChangeGuard for NoEffects {
    fn effects(&self, _: &RootView<'_>, _: &[PlannedChange<'_>]) -> Result<(Effects, EffectsPolicy), String> {
        let effects = Effects { digest: Digest::of(""), changes: Vec::new(), facts: Vec::new() };
        let (basis, accepted) = (RunBasis::Approval, Vec::new());
        let policy = EffectsPolicy { basis, asks_about_removals: false, undo_obstacle: None, accepted };
        Ok((effects, policy))
    }

    fn keep(&self, _: &[PlannedChange<'_>], _: &str, _: &str) -> Result<Box<dyn KeptChanges>, String> {
        Err("this test changes nothing".to_owned())
    }

    fn mark_logged(&self, _: &[CommitRecord]) {}
}

/// Returns the assessment of a call by the file tools.
fn view(tools: &FileTools, tool: &str, path: &Path) -> View {
    let mut args = json!({ "path": path.to_str().unwrap() });
    if tool == "write_file" {
        args["content"] = json!("y");
    }
    let aware: &dyn ApprovalAware = tools;
    aware.check_approval(&ApprovalContext::new(tool, args.as_object().unwrap().clone())).view
}

fn allows(view: &View, access: Access) -> bool {
    match (view, access) {
        (View::Harmless, _) | (View::NeedsApproval(_), Access::Approved) => true,
        (View::NeedsApproval(request), Access::Standing | Access::Remembered) => {
            request.approval < Approval::Human
        }
        (View::NeedsApproval(_), Access::WithoutAsking | Access::Rehearsal)
        | (View::Blocked(_) | View::Silent, _) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    // invariant: 4
    #[test]
    fn profile_never_exceeds_the_file_tools(main in layer(), floors in prop::collection::vec(layer(), 0..3)) {
        let (_held, base) = world();
        let mut config = Config::alone(main.settings(&base), &base);
        config.floors = floors.iter().map(|floor| floor.settings(&base)).collect();
        let tools = FileTools::new(&config, Arc::new(NoEffects)).unwrap();
        for access in [Access::WithoutAsking, Access::Standing, Access::Remembered, Access::Approved] {
            let plain = derive(&config, access).profile;
            for path in FILES.map(|file| base.join(file)) {
                let (read, write) = (view(&tools, "read_file", &path), view(&tools, "write_file", &path));
                prop_assert!(!reads(&plain, &path) || allows(&read, access), "{path:?} {read:?} {plain:?}");
                prop_assert!(!writes(&plain, &path) || allows(&write, access), "{path:?} {write:?} {plain:?}");
                // The profile must not pass by granting nothing. A root inside a denied path is denied too.
                let inside = plain.denied.iter().any(|denied| path.starts_with(&denied.path));
                prop_assert!(!allows(&read, access) || inside || reads(&plain, &path), "{path:?} {read:?} {plain:?}");
            }
            let network = std::iter::once(&main).all(|layer| layer.network == Some(true))
                && floors.iter().all(|layer| layer.network != Some(false));
            prop_assert_eq!(plain.network == Network::Shared, network);

            let mut narrowed = config.clone();
            narrowed.main.sandbox.os_profile = Some(main.narrower(&base));
            for (floor, layer) in narrowed.floors.iter_mut().zip(&floors) {
                floor.sandbox.os_profile = Some(layer.narrower(&base));
            }
            let explicit = derive(&narrowed, access).profile;
            prop_assert!(explicit.network <= plain.network);
            for path in FILES.iter().chain(&FOLDERS).map(|name| base.join(name)) {
                prop_assert!(!reads(&explicit, &path) || reads(&plain, &path), "{path:?} {explicit:?}");
                prop_assert!(!writes(&explicit, &path) || writes(&plain, &path), "{path:?} {explicit:?}");
                for layer in std::iter::once(&main).chain(&floors) {
                    let within = |folders: &Option<Vec<usize>>| folders.as_ref().is_none_or(|folders| {
                        folders.iter().any(|folder| path.starts_with(base.join(FOLDERS[*folder])))
                    });
                    prop_assert!(!reads(&explicit, &path) || within(&layer.narrower.0));
                    prop_assert!(!writes(&explicit, &path) || within(&layer.narrower.1));
                }
            }
        }
    }
}

// invariant: 4
#[test]
fn os_profile_grants_nothing_inside_protected_paths() {
    let (_held, base) = world();
    let whole = (0, true, Approval::None, Approval::None);
    let inside = (Some(vec![2]), None, None);
    for (never_read, never_write) in [(vec!["a/b"], vec![]), (vec![], vec!["a/b"])] {
        let denied = if never_read.is_empty() { Denial::Write } else { Denial::All };
        let layer =
            Layer { roots: vec![whole], never_read, never_write, network: None, narrower: inside.clone() };
        let mut config = Config::alone(layer.settings(&base), &base);
        config.main.sandbox.os_profile = Some(layer.narrower(&base));
        let profile = derive(&config, Access::Approved).profile;
        let path = base.join("a/b/c/f");
        assert!(!writes(&profile, &path), "{profile:?}");
        assert_eq!(reads(&profile, &path), denied == Denial::Write, "{profile:?}");
    }
}
