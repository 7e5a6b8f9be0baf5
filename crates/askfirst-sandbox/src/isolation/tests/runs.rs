//! Runs probes: in a sandbox all in one launch, without a sandbox each in a world of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::world::{SECRET, Services, World};
use super::{ATTACKER, Observation, Probe, SCENE, Who, network, probes};
use crate::isolation::order::Backend;
use crate::isolation::{Helper, LoopbackNetwork, Sandbox, launch_in_sandbox};
use crate::profile::{OSProfile, User};
use crate::spec::{End, Spec};
use crate::stop::Stop;

/// A user id without an account.
pub(super) const OTHER_USER: u32 = 60001;

/// The user that runs a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// An ordinary user.
    User,
    /// Root, and root owns the roots.
    Root,
    /// Root, and an ordinary user owns the roots.
    RootForUser,
}

/// The isolation of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    None,
    Sandbox,
    /// The sandbox of bubblewrap.
    Bubblewrap,
    /// The sandbox of a helper that has run a program before.
    PooledHelper,
    /// The sandbox with a view of the writable root, with a kept `/tmp`, and in a network that it shares.
    View,
}

/// Runs the probes. Returns the names of the probes that succeeded, and of all that ran.
pub(super) fn scene_of(who: As, isolation: Isolation) -> (BTreeSet<String>, BTreeSet<String>) {
    let isolation = match isolation {
        Isolation::None => "none",
        Isolation::Sandbox => "sandbox",
        Isolation::Bubblewrap => "bubblewrap",
        Isolation::PooledHelper => "pooled",
        Isolation::View => "view",
    };
    let output = scene_command(who).args(["probes", &format!("{who:?}"), isolation]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && said.ends_with("done\n"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (mut worked, mut tried) = (BTreeSet::new(), BTreeSet::new());
    for line in said.lines() {
        let mut words = line.split('\t');
        if let (Some(name), Some(result)) = (words.next(), words.next()) {
            tried.insert(name.to_owned());
            if result == "worked" {
                worked.insert(name.to_owned());
            }
        }
    }
    (worked, tried)
}

/// Returns a copy of this program that an ordinary user can read.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        if std::env::args().next().as_deref() == Some(SCENE) {
            return own;
        }
        let folder = std::env::temp_dir().join(format!("askfirst-sandbox-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.join("program");
        // Copy in another process: a process that another thread starts could inherit the open copy, and then it is busy.
        assert!(Command::new("cp").arg(own).arg(&copy).status().unwrap().success());
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        copy
    })
}

pub(super) fn scene_command(who: As) -> Command {
    let mut command = Command::new(program());
    command.arg0(SCENE).current_dir("/").stdin(Stdio::null());
    if who == As::User && super::is_root() {
        command.uid(OTHER_USER).gid(OTHER_USER);
    }
    command
}

/// Returns a folder for a world that no other test uses.
pub(super) fn base(number: usize) -> PathBuf {
    std::env::temp_dir().join(format!("askfirst-world-{}-{number}", std::process::id()))
}

/// Runs in its own process: creates worlds and runs the probes in them.
pub(super) fn scene() -> ! {
    // Reserve the descriptors that the victim and the attacker use.
    for number in 7..10 {
        // SAFETY: nothing is open there yet.
        unsafe { libc::dup2(libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY), number) };
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let who = match words[1].as_str() {
        "User" => As::User,
        "Root" => As::Root,
        _ => As::RootForUser,
    };
    match (words[0].as_str(), words[2].as_str()) {
        ("probes", "none") => without_sandbox(who),
        ("probes", "sandbox") => in_sandbox(who, &sandbox(), Root::Itself),
        ("probes", "view") => in_sandbox(who, &sandbox(), Root::View),
        ("probes", "pooled") => {
            let sandbox = sandbox().with_helper_pool();
            let first = launch_in_sandbox(
                &sandbox,
                &OSProfile::nothing(),
                &Spec::new("/bin/true", "/"),
                &Stop::new(),
            );
            assert_eq!(first.unwrap().finished.end, End::Exited(0));
            in_sandbox(who, &sandbox, Root::Itself);
        }
        ("probes", "bubblewrap") => in_sandbox(who, &bubblewrap_sandbox().unwrap(), Root::Itself),
        ("terminal", descriptors) => super::terminal::play(descriptors),
        (other, argument) => super::missing_features::play(other, argument),
    }
    println!("done");
    std::process::exit(0);
}

/// Starts a process to attack. It has a secret in its environment, its folder and a descriptor.
fn victim(world: &Path) -> Child {
    let secret = fs::File::open(world.join("OUT/secret")).unwrap();
    // SAFETY: both descriptors are ours; this process uses 7 for nothing else.
    unsafe { libc::dup2(secret.as_raw_fd(), 7) };
    let mut command = Command::new("sleep");
    command.arg0("victim").arg("600").env("VICTIM_TOKEN", SECRET).current_dir(world.join("OUT"));
    // The victim may outlive a scene that fails, and must not hold its output open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Opens the descriptors that an attacker inherits if nothing prevents it.
fn open_descriptors(world: &World) {
    let folder = fs::File::open(world.out("")).unwrap();
    let file = fs::File::options().read(true).write(true).open(world.out("file")).unwrap();
    // SAFETY: this process uses 8 and 9 for nothing else.
    unsafe {
        libc::dup2(folder.as_raw_fd(), 8);
        libc::dup2(file.as_raw_fd(), 9);
    }
}

fn fitting(who: As) -> impl Iterator<Item = &'static Probe> {
    probes().filter(move |probe| match probe.who {
        Who::All => true,
        Who::Root => who == As::Root,
        Who::User => who != As::Root,
    })
}

fn outside(probe: &Probe, world: &World, services: &Services) -> bool {
    match probe.seen {
        Observation::Inside => true,
        Observation::Outside(_) if probe.name == "send_by_udp" => network::arrived(services),
        Observation::Outside(look) => look(world),
    }
}

fn say(probe: &Probe, result: &str) {
    println!("{}\t{result}", probe.name);
}

fn without_sandbox(who: As) {
    for (number, probe) in fitting(who).enumerate() {
        let base = base(number);
        let (mut world, services) = World::make(&base, 0);
        let mut victim = victim(&base);
        world.victim = victim.id() as i32;
        open_descriptors(&world);
        let mut command = Command::new(program());
        command.arg(ATTACKER).args(world.words()).arg(probe.name).env("SCENE_TOKEN", SECRET);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let worked = said.contains("\tworked") && outside(probe, &world, &services);
        say(probe, if worked || said.contains(super::ABSENT) { "worked" } else { &said });
        victim.kill().unwrap();
        victim.wait().unwrap();
        world.clear(services);
    }
}

pub(super) fn sandbox() -> Sandbox {
    Sandbox {
        helper: Helper::own().unwrap(),
        backend: Backend::Namespaces,
        bubblewrap: None,
        rejected_backends: Vec::new(),
        pool: None,
        view_checks: Default::default(),
    }
}

/// Returns the bubblewrap sandbox if a release is new enough: the system's, or the one named by the environment variable.
pub(super) fn bubblewrap_sandbox() -> Option<Sandbox> {
    let named = std::env::var_os("ASKFIRST_TEST_BUBBLEWRAP").map(PathBuf::from);
    let path = named.or_else(|| crate::isolation::bubblewrap::find().ok())?;
    Some(Sandbox { backend: Backend::Bubblewrap, bubblewrap: Some(path), ..sandbox() })
}

/// The root that a program in the sandbox writes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Itself,
    View,
}

fn in_sandbox(who: As, sandbox: &Sandbox, root: Root) {
    let base = base(0);
    let (mut world, services) = World::make(&base, 0);
    let mut victim = victim(&base);
    world.victim = victim.id() as i32;
    open_descriptors(&world);
    for layer in ["LAYERS/upper", "LAYERS/work", "LAYERS/tmp"] {
        fs::create_dir_all(base.join(layer)).unwrap();
    }
    if who == As::RootForUser {
        give(&base);
    }
    let before = super::views::entries(&world.a(""));
    let mut spec = Spec::new(program(), "/");
    spec.args = [ATTACKER.to_owned()].into_iter().chain(world.words()).map(Into::into).collect();
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("SCENE_TOKEN".into(), SECRET.into())];
    spec.limits.wall = Some(std::time::Duration::from_secs(60));
    let mut profile = world.profile(program());
    if who == As::RootForUser {
        profile.user = User::Other { user: OTHER_USER, group: OTHER_USER };
    }
    if root == Root::View {
        profile.views = vec![super::views::view(&world.a(""), &base.join("LAYERS"))];
        profile.kept = vec![super::kept::kept("/tmp", &base.join("LAYERS/tmp"))];
        let network = LoopbackNetwork::create(sandbox, profile.user).unwrap();
        spec.network = Some(std::sync::Arc::new(network));
    }
    let over = launch_in_sandbox(sandbox, &profile, &spec, &Stop::new()).unwrap();
    assert!(root == Root::Itself || super::views::entries(&world.a("")) == before, "a file changed");
    let said = String::from_utf8_lossy(&over.finished.stdout.whole().unwrap()).into_owned();
    assert_eq!(over.finished.end, End::Exited(0), "{said}{:?}", over.finished.stderr);
    let worked: BTreeSet<&str> = said.lines().filter_map(|line| line.strip_suffix("\tworked")).collect();
    for probe in fitting(who) {
        let worked = worked.contains(probe.name) && outside(probe, &world, &services);
        assert!(
            said.lines().any(|line| line.split('\t').next() == Some(probe.name)),
            "{} was not tried",
            probe.name
        );
        let why = said
            .lines()
            .find_map(|line| line.strip_prefix(probe.name)?.strip_prefix('\t'))
            .unwrap_or("not tried");
        say(
            probe,
            if worked {
                "worked"
            } else if why == "worked" {
                "not seen outside"
            } else {
                why
            },
        );
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    world.clear(services);
}

/// Gives everything in a folder to an ordinary user.
fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// The attacker: runs one probe, or all probes, each in its own process.
pub(super) fn attack() -> ! {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let world = World::of_words(&words);
    let only = words.get(8);
    for probe in probes().filter(|probe| only.is_none_or(|only| only == probe.name)) {
        // SAFETY: there is only one thread.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: ends this process if it hangs.
            unsafe { libc::alarm(5) };
            match (probe.attempt)(&world) {
                Ok(()) => println!("{}\tworked", probe.name),
                Err(why) => println!("{}\t{why}", probe.name),
            }
            crate::isolation::helper_process::end(0);
        }
        // SAFETY: it is our child.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
    std::process::exit(0);
}
