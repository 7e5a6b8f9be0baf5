//! Tests of protected names and hard links, with real folders.

mod by_links;
mod cached;
mod git;
mod outside;
mod properties;
mod searched;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use askfirst::ports::Access;
use askfirst::{Approval, Because};
use askfirst_config::{Config, PathApproval, PathConfig, PathMode, Settings};
use askfirst_sandbox::Denial;
use rustix::fs::{Mode, OFlags};

use super::quarantine::{PointerFilter, quarantine_round};
use super::{
    HardLinks, ProtectedNames, QuarantineReport, QuarantineScope, SandboxError, derive_os_sandbox_profile,
    quarantine,
};

struct World {
    held: tempfile::TempDir,
    config: Config,
}

/// Creates a folder with one root `w` that needs no approval.
fn world() -> World {
    let held = tempfile::tempdir().unwrap();
    let base = held.path().canonicalize().unwrap();
    fs::create_dir(base.join("w")).unwrap();
    let mut settings = Settings::default();
    settings.sandbox.never_read = vec![".env".to_owned()];
    settings.sandbox.paths.insert(
        "w".to_owned(),
        PathConfig {
            root: base.join("w"),
            mode: PathMode::Rw,
            suffixes: Vec::new(),
            max_file_bytes: None,
            products: Vec::new(),
            approval: PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None },
            origin: Because::built_in("sandbox.paths", "a root"),
        },
    );
    World { config: Config::alone(settings, &base), held }
}

impl World {
    fn path(&self, name: &str) -> PathBuf {
        self.held.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Returns the rules, with the file `settings` next to the root as the git settings for every repository.
    fn protected(&self) -> ProtectedNames {
        let mut protected = ProtectedNames::new(&self.config).unwrap();
        protected.settings = vec![self.path("settings")];
        protected
    }

    fn denied(&self) -> Vec<(String, Denial)> {
        self.denied_by(&self.protected(), &HardLinks::search(&[self.path("w")]).unwrap())
    }

    fn denied_by(&self, protected: &ProtectedNames, links: &HardLinks) -> Vec<(String, Denial)> {
        let derived =
            derive_os_sandbox_profile(&self.config, Access::WithoutAsking, protected, links).unwrap();
        let base = self.path("w");
        let name = |path: &Path| path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
        let mut denied: Vec<_> =
            derived.profile.denied.iter().map(|denied| (name(&denied.path), denied.what)).collect();
        denied.sort();
        denied
    }

    /// Runs `done` as a command, and returns the report of the quarantine.
    fn after(&self, done: impl FnOnce()) -> Vec<String> {
        let protected = self.protected();
        let roots = [self.path("w")];
        let before = protected.search(&roots).unwrap();
        done();
        let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
        let QuarantineReport { lines: said, failed, .. } = quarantine(&protected, since, |_| false);
        assert!(failed.is_empty(), "{failed:?}");
        said
    }
}

#[test]
fn protected_names_are_found_at_any_depth() {
    let world = world();
    for name in ["w/.env", "w/a/b/.env", "w/.git/hooks/x", "w/.git/config", "w/sub/.git/config", "w/plain"] {
        world.write(name, "x");
    }
    assert_eq!(
        world.denied(),
        [
            (".env".to_owned(), Denial::All),
            (".git/config".to_owned(), Denial::Write),
            (".git/hooks".to_owned(), Denial::Write),
            ("a/b/.env".to_owned(), Denial::All),
            ("sub/.git/config".to_owned(), Denial::Write),
        ]
    );
}

#[test]
fn name_created_after_a_search_is_found_by_the_next() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    assert!(protected.search(&roots).unwrap().found.is_empty());
    world.write("w/a/.env", "x");
    assert_eq!(protected.search(&roots).unwrap().found.len(), 1);
    fs::remove_file(world.path("w/a/.env")).unwrap();
    assert!(protected.search(&roots).unwrap().found.is_empty());
}

#[test]
fn hard_link_of_a_protected_file_is_protected() {
    let world = world();
    world.write("w/.env", "x");
    fs::hard_link(world.path("w/.env"), world.path("w/innocent")).unwrap();
    assert!(world.denied().contains(&("innocent".to_owned(), Denial::All)));
}

#[test]
fn file_with_a_hard_link_elsewhere_is_read_only() {
    let world = world();
    world.write("outside", "x");
    world.write("w/own", "x");
    fs::hard_link(world.path("outside"), world.path("w/planted")).unwrap();
    fs::hard_link(world.path("w/own"), world.path("w/own2")).unwrap();
    assert_eq!(world.denied(), [("planted".to_owned(), Denial::Write)]);
}

#[test]
fn many_hard_links_elsewhere_are_an_error() {
    let world = world();
    for number in 0..70 {
        world.write(&format!("out/{number}"), "x");
        fs::hard_link(world.path(&format!("out/{number}")), world.path(&format!("w/{number}"))).unwrap();
    }
    let links = HardLinks::search(&[world.path("w")]).unwrap();
    let derived = derive_os_sandbox_profile(&world.config, Access::WithoutAsking, &world.protected(), &links);
    assert!(matches!(derived, Err(SandboxError::TooManyLinks { count: 70, .. })));
}

#[test]
fn link_with_a_protected_name_is_not_followed() {
    let world = world();
    world.write("secret", "x");
    symlink(world.path("secret"), world.path("w/.env")).unwrap();
    assert_eq!(world.denied(), []);
}

#[test]
fn new_protected_name_is_quarantined_and_reported() {
    let world = world();
    let said = world.after(|| {
        world.write("w/.bashrc", "x");
        world.write("w/a/.vscode/tasks.json", "x");
        world.write("w/plain", "x");
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.iter().any(|line| line.contains("the built-in list has `.bashrc`")
            && line.contains("askfirst moved it to `.bashrc.quarantined-by-askfirst`")),
        "{said:?}"
    );
    assert!(world.path("w/a/.vscode.quarantined-by-askfirst/tasks.json").exists());
    assert!(
        !world.path("w/.bashrc").exists()
            && !world.path("w/a/.vscode").exists()
            && world.path("w/plain").exists()
    );
    let again = world.after(|| world.write("w/.bashrc", "x"));
    // The suffix is random.
    assert!(again[0].contains("`.bashrc.quarantined-by-askfirst-"), "{again:?}");
}

#[test]
fn replaced_protected_link_is_quarantined() {
    let world = world();
    symlink("/nowhere", world.path("w/.env")).unwrap();
    let said = world.after(|| {
        fs::remove_file(world.path("w/.env")).unwrap();
        world.write("w/.env", "x");
    });
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn new_repository_stays_without_its_hooks() {
    let world = world();
    let settings = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
    let said = world.after(|| {
        world.write("w/new/.git/config", settings);
        world.write("w/new/.git/hooks/pre-commit.sample", "x");
    });
    assert_eq!(said, [""; 0]);
    let said = world.after(|| {
        world.write("w/evil/.git/config", &format!("{settings}\tfsmonitor = touch /tmp/x\n"));
        world.write("w/evil/.git/hooks/pre-commit", "x");
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(!world.path("w/evil/.git/hooks").exists() && !world.path("w/evil/.git/config").exists());
}

#[test]
fn new_hook_next_to_samples_is_quarantined() {
    let world = world();
    world.write("w/.git/hooks/pre-commit.sample", "x");
    let said = world.after(|| world.write("w/.git/hooks/pre-commit", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!world.path("w/.git/hooks/pre-commit").exists());
}

#[test]
fn new_git_pointers_are_quarantined() {
    let world = world();
    let said = world.after(|| {
        world.write("w/sub/.git", "gitdir: ../evil\n");
        world.write("w/evil/config", "[core]\n\tfsmonitor = touch x\n");
        symlink("evil", world.path("w/a.git")).unwrap();
        fs::create_dir_all(world.path("w/other")).unwrap();
        symlink("../evil", world.path("w/other/.git")).unwrap();
        world.write("w/new/.git/commondir", "../../evil\n");
    });
    assert_eq!(said.len(), 3, "{said:?}");
    for name in ["w/sub/.git", "w/other/.git", "w/new/.git/commondir"] {
        assert!(world.path(name).symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn new_worktree_stays() {
    let world = world();
    fs::create_dir_all(world.path("w/.git/worktrees/side")).unwrap();
    let said = world.after(|| {
        let to = world.path("w/.git/worktrees/side");
        world.write("w/side/.git", &format!("gitdir: {}\n", to.display()));
        world.write("w/.git/worktrees/side/commondir", "../..\n");
    });
    assert_eq!(said, [""; 0]);
}

#[test]
fn settings_behind_a_git_link_are_protected() {
    let world = world();
    world.write("w/store/config", "x");
    world.write("w/store/hooks/pre-commit", "x");
    symlink("store", world.path("w/.git")).unwrap();
    assert_eq!(
        world.denied(),
        [("store/config".to_owned(), Denial::Write), ("store/hooks".to_owned(), Denial::Write)]
    );
}

// invariant: 4
#[test]
fn bare_repository_with_any_name_is_protected() {
    let world = world();
    for name in
        ["w/bare/HEAD", "w/bare/objects/x", "w/bare/refs/x", "w/bare/hooks/pre-commit", "w/bare/config"]
    {
        world.write(name, "x");
    }
    let denied = [("bare/config".to_owned(), Denial::Write), ("bare/hooks".to_owned(), Denial::Write)];
    assert_eq!(world.denied(), denied);
}

#[test]
fn new_bare_repository_stays_only_if_harmless() {
    let make = |world: &World, config: &str| {
        for name in ["w/n/HEAD", "w/n/objects/x", "w/n/refs/x", "w/n/hooks/a.sample"] {
            world.write(name, "x");
        }
        world.write("w/n/config", config);
    };
    let plain = world();
    assert_eq!(plain.after(|| make(&plain, "[core]\n\tbare = true\n")), Vec::<String>::new());
    let evil = world();
    let said = evil.after(|| make(&evil, "[core]\n\tbare = false\n\tfsmonitor = ./x\n\tworktree = ..\n"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!evil.path("w/n/HEAD").exists() && evil.path("w/n/config").exists());
}

#[test]
fn project_folders_stay_when_a_repository_appears() {
    let world = world();
    world.write("w/config/app.rb", "x");
    world.write("w/hooks/use.ts", "x");
    let said = world.after(|| {
        for name in ["w/HEAD", "w/objects/x", "w/refs/x"] {
            world.write(name, "x");
        }
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(world.path("w/config/app.rb").exists() && world.path("w/hooks/use.ts").exists());
}

#[test]
fn pipe_named_git_does_not_block_the_search() {
    let world = world();
    let pipe = world.path("w/.git");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(world.protected().search(&[world.path("w")]).is_ok());
}

#[test]
fn named_pipe_in_a_read_only_root_is_covered() {
    let mut world = world();
    let pipe = world.path("w/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(world.denied(), []);
    world.config.main.sandbox.paths.get_mut("w").unwrap().mode = PathMode::Ro;
    assert_eq!(world.denied(), [("pipe".to_owned(), Denial::All)]);
}

#[test]
fn retargeted_link_with_the_same_inode_is_quarantined() {
    let world = world();
    symlink("elsewhere", world.path("w/.bashrc")).unwrap();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    fs::remove_file(world.path("w/.bashrc")).unwrap();
    symlink("evil", world.path("w/.bashrc")).unwrap();
    let mut after = protected.search_all(&roots, Some(&before), |_| false);
    // Imitate a file system that reuses the inode number of the old link.
    let number = before.found[&world.path("w/.bashrc")].inode;
    after.known.found.get_mut(&world.path("w/.bashrc")).unwrap().inode = number;
    let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
    assert_eq!(quarantine_round(&protected, since, after, PointerFilter::Existing).lines.len(), 1);
}

#[test]
fn longest_name_is_quarantined_and_shown_escaped() {
    let world = world();
    let name = format!("{}.code-workspace", "x".repeat(240));
    let said = world.after(|| {
        world.write("w/a\u{1b}[31m/.bashrc", "x");
        world.write(&format!("w/{name}"), "x");
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(!world.path(&format!("w/{name}")).exists());
    assert!(said.iter().all(|said| !said.contains('\u{1b}')), "{said:?}");
}

const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = ./x\n";

#[test]
fn quarantined_file_is_closed_to_programs() {
    let world = world();
    world.after(|| world.write("w/.env", "secret"));
    assert_eq!(world.denied(), [(".env.quarantined-by-askfirst".to_owned(), Denial::All)]);
}

#[test]
fn worktree_that_is_a_repository_itself_is_quarantined() {
    let world = world();
    let said = world.after(|| {
        for name in ["HEAD", "objects/x", "refs/heads/x"] {
            world.write(&format!("w/.git/worktrees/x/{name}"), "x");
        }
        world.write("w/.git/worktrees/x/config", EVIL);
        let to = world.path("w/.git/worktrees/x");
        world.write("w/tree/.git", &format!("gitdir: {}\n", to.display()));
    });
    assert!(!world.path("w/tree/.git").exists(), "{said:?}");
    assert!(!world.path("w/.git/worktrees/x/HEAD").exists(), "{said:?}");
}

#[test]
fn worktree_that_only_points_to_its_repository_stays() {
    for (git, names) in [
        ("w/.git", &["w/.git/HEAD"][..]),
        ("w/b.git", &["w/b.git/HEAD", "w/b.git/objects/x", "w/b.git/refs/x"]),
    ] {
        let world = world();
        names.iter().for_each(|name| world.write(name, "ref: refs/heads/m\n"));
        let said = world.after(|| {
            world.write(&format!("{git}/worktrees/t/HEAD"), "ref: refs/heads/m\n");
            world.write(&format!("{git}/worktrees/t/commondir"), "../..\n");
            let to = world.path(&format!("{git}/worktrees/t"));
            world.write("w/t/.git", &format!("gitdir: {}\n", to.display()));
        });
        assert_eq!(said, Vec::<String>::new(), "{git}");
    }
}

#[test]
fn new_settings_in_an_old_repository_are_quarantined() {
    let world = world();
    for name in ["w/foo/HEAD", "w/foo/objects/x", "w/foo/refs/x"] {
        world.write(name, "x");
    }
    let said = world.after(|| {
        world.write("w/foo/config", EVIL);
        for name in ["aa", "zz"] {
            world.write(&format!("w/{name}/.git"), "gitdir: ../foo\n");
        }
    });
    assert!(!world.path("w/foo/config").exists(), "{said:?}");
}

#[test]
fn repository_is_found_with_any_head_and_at_any_place() {
    let world = world();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    for name in ["w/foo/objects/x", "w/foo/refs/x"] {
        world.write(name, "x");
    }
    world.write("w/foo/config", EVIL);
    let head = world.path("w/foo/HEAD");
    rustix::fs::mknodat(rustix::fs::CWD, &head, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    // It was a repository before, and its settings are covered.
    assert!(world.denied().contains(&("foo/config".to_owned(), Denial::Write)));
    let said = world.after(|| {
        for name in ["HEAD", "objects/x", "refs/x"] {
            world.write(&format!("w/sub/.git/y/{name}"), "x");
        }
        world.write("w/sub/.git/y/config", EVIL);
    });
    assert!(!world.path("w/sub/.git/y/HEAD").exists(), "{said:?}");
}

// invariant: 4
#[test]
fn settings_with_a_second_name_are_quarantined() {
    let world = world();
    let said = world.after(|| {
        world.write("w/.git/config", "[core]\n\tbare = false\n");
        world.write("w/.git/hooks/x.sample", "x");
        for (name, other) in [("w/.git/config", "w/stash"), ("w/.git/hooks/x.sample", "w/hook")] {
            fs::hard_link(world.path(name), world.path(other)).unwrap();
        }
    });
    assert!(!world.path("w/.git/config").exists() && !world.path("w/.git/hooks").exists(), "{said:?}");
}

#[test]
fn hard_link_made_later_is_found_at_the_next_command() {
    let world = world();
    world.write("w/.bashrc", "x");
    let (protected, links) = (world.protected(), HardLinks::search(&[world.path("w")]).unwrap());
    let derive =
        || derive_os_sandbox_profile(&world.config, Access::WithoutAsking, &protected, &links).unwrap();
    assert_eq!(derive().profile.denied.len(), 1);
    fs::hard_link(world.path("w/.bashrc"), world.path("w/other")).unwrap();
    let denied = derive().profile.denied;
    assert!(denied.iter().any(|denied| denied.path == world.path("w/other")), "{denied:?}");
    // The new name is distinguished from another name of the same file.
    fs::rename(world.path("w/other"), world.path("w/third")).unwrap();
    let denied = derive().profile.denied;
    assert!(denied.iter().any(|denied| denied.path == world.path("w/third")), "{denied:?}");
}

#[test]
fn file_changed_through_a_hard_link_is_quarantined() {
    let world = world();
    world.write("w/.bashrc", "old");
    fs::hard_link(world.path("w/.bashrc"), world.path("elsewhere")).unwrap();
    assert_eq!(world.after(|| ()), [""; 0]);
    let said = world.after(|| fs::write(world.path("elsewhere"), "new").unwrap());
    assert_eq!(said.len(), 1, "{said:?}");
}
