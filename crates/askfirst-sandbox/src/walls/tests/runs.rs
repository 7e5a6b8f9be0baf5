//! Runs probes: behind walls all in one start, without walls each in a world of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::world::{SECRET, Services, World};
use super::{ATTACKER, Probe, SCENE, Seen, Who, network, probes};
use crate::profile::{OSProfile, User};
use crate::spec::{End, Spec};
use crate::stop::Stop;
use crate::walls::mechanism::{ALL, Mechanism};
use crate::walls::order::{Inside, Way};
use crate::walls::{Helper, Walls, behind, launch_behind};

/// A user without an account.
pub(super) const SOMEBODY: u32 = 60001;

/// Who runs a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// An ordinary user.
    User,
    /// Root, whose roots are root's.
    Root,
    /// Root, whose roots are an ordinary user's.
    RootForUser,
}

/// What stands around the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    Walls(Option<Mechanism>),
    /// The second way in.
    Bubblewrap,
    /// Those of a helper that has served before.
    Again,
}

/// Runs the probes, and names those that worked, and those that were tried.
pub(super) fn scene_of(who: As, around: Around) -> (BTreeSet<String>, BTreeSet<String>) {
    let off = match around {
        Around::Nothing => "none".to_owned(),
        Around::Walls(None) => "all".to_owned(),
        Around::Bubblewrap => "bubblewrap".to_owned(),
        Around::Again => "again".to_owned(),
        Around::Walls(Some(mechanism)) => (mechanism as usize).to_string(),
    };
    let output = scene_command(who).args(["probes", &format!("{who:?}"), &off]).output().unwrap();
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

/// This program again, where an ordinary user can read it.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        if std::env::args().next().as_deref() == Some(SCENE) {
            return own;
        }
        let folder = std::env::temp_dir().join(format!("askfirst-walls-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.join("program");
        // By another process: one that another thread starts meanwhile could hold the copy open, and it would be busy.
        assert!(Command::new("cp").arg(own).arg(&copy).status().unwrap().success());
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        copy
    })
}

pub(super) fn scene_command(who: As) -> Command {
    let mut command = Command::new(program());
    command.arg0(SCENE).current_dir("/").stdin(Stdio::null());
    if who == As::User && super::is_root() {
        command.uid(SOMEBODY).gid(SOMEBODY);
    }
    command
}

/// A folder for a world that nobody else uses.
pub(super) fn base(number: usize) -> PathBuf {
    std::env::temp_dir().join(format!("askfirst-world-{}-{number}", std::process::id()))
}

/// In a process of its own: makes worlds and lets the probes at them.
pub(super) fn scene() -> ! {
    // Where the victim and the attacker expect theirs, nothing else may be.
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
        ("probes", "none") => without_walls(who),
        ("probes", "all") => behind_walls(who, walls(), None),
        ("probes", "again") => {
            let walls = walls().keeping_helpers();
            let first =
                launch_behind(&walls, &OSProfile::nothing(), &Spec::new("/bin/true", "/"), &Stop::new());
            assert_eq!(first.unwrap().finished.end, End::Exited(0));
            behind_walls(who, walls, None);
        }
        ("probes", "bubblewrap") => behind_walls(who, second_way().unwrap(), None),
        ("probes", number) => behind_walls(who, walls(), Some(ALL[number.parse::<usize>().unwrap()])),
        ("terminal", descriptors) => super::terminal::play(descriptors),
        (other, argument) => super::without::play(other, argument),
    }
    println!("done");
    std::process::exit(0);
}

/// Somebody to be attacked: has a secret in its environment, its folder and a descriptor.
fn victim(world: &Path) -> Child {
    let secret = fs::File::open(world.join("OUT/secret")).unwrap();
    // SAFETY: both descriptors are ours; 7 is not used otherwise in this process.
    unsafe { libc::dup2(secret.as_raw_fd(), 7) };
    let mut command = Command::new("sleep");
    command.arg0("victim").arg("600").env("VICTIM_TOKEN", SECRET).current_dir(world.join("OUT"));
    // It outlives a scene that fails, and must not hold its output open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// What an attacker inherits if nothing prevents it.
fn open_descriptors(world: &World) {
    let folder = fs::File::open(world.out("")).unwrap();
    let file = fs::File::options().read(true).write(true).open(world.out("file")).unwrap();
    // SAFETY: 8 and 9 are not used otherwise in this process.
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
        Seen::Inside => true,
        Seen::Outside(_) if probe.name == "send_by_udp" => network::arrived(services),
        Seen::Outside(look) => look(world),
    }
}

fn say(probe: &Probe, result: &str) {
    println!("{}\t{result}", probe.name);
}

fn without_walls(who: As) {
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

pub(super) fn walls() -> Walls {
    Walls {
        helper: Helper::own().unwrap(),
        way: Way::Own,
        bubblewrap: None,
        passed_over: Vec::new(),
        pool: None,
    }
}

/// The second way in, if there is a bubblewrap that is new enough: the system's, or one that the person who runs the
/// tests names.
pub(super) fn second_way() -> Option<Walls> {
    let named = std::env::var_os("ASKFIRST_TEST_BUBBLEWRAP").map(PathBuf::from);
    let path = named.or_else(|| crate::walls::bubblewrap::find().ok())?;
    Some(Walls { way: Way::Bubblewrap, bubblewrap: Some(path), ..walls() })
}

fn behind_walls(who: As, walls: Walls, off: Option<Mechanism>) {
    let base = base(0);
    let (mut world, services) = World::make(&base, 0);
    let mut victim = victim(&base);
    world.victim = victim.id() as i32;
    open_descriptors(&world);
    if who == As::RootForUser {
        give(&base);
    }
    let mut spec = Spec::new(program(), "/");
    spec.args = [ATTACKER.to_owned()].into_iter().chain(world.words()).map(Into::into).collect();
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("SCENE_TOKEN".into(), SECRET.into())];
    spec.limits.wall = Some(std::time::Duration::from_secs(60));
    let mut profile = world.profile(program());
    if who == As::RootForUser {
        profile.user = User::Other { user: SOMEBODY, group: SOMEBODY };
    }
    let mut order = behind::order(&walls, &profile, &spec, Inside::Program).unwrap();
    order.off.extend(off);
    let over = match behind::go(&walls, order, &spec, &Stop::new()) {
        Ok(over) => over,
        Err(cause) if off.is_some() => {
            println!("refused: {cause}");
            victim.kill().unwrap();
            victim.wait().unwrap();
            world.clear(services);
            return;
        }
        Err(cause) => panic!("{cause}"),
    };
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
    std::os::unix::fs::lchown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// The attacker: tries one probe, or each that there is in a process of its own.
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
            crate::walls::inside::end(0);
        }
        // SAFETY: it is our child.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
    std::process::exit(0);
}
