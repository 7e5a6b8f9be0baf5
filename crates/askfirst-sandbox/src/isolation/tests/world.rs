//! The targets of the probes: a writable root A, a readable root B, a victim process, and services that listen.
//!
//! A folder OUT next to the roots contains a secret.

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use crate::profile::{Denial, DeniedPath, Grant, OSProfile};
use crate::spec::Limits;

/// The paths and numbers of all targets. Processes pass them on as arguments.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) base: PathBuf,
    pub(super) victim: i32,
    pub(super) tcp4: u16,
    pub(super) tcp6: u16,
    pub(super) udp: u16,
    pub(super) shm: i32,
    pub(super) sem: i32,
    pub(super) msg: i32,
}

/// The services that stay open while the world exists.
#[derive(Default)]
pub(super) struct Services {
    tcp: Vec<TcpListener>,
    pub(super) udp: Option<UdpSocket>,
    unix: Vec<OwnedFd>,
    queue: Option<OwnedFd>,
}

pub(super) const SECRET: &str = "the secret";

impl World {
    pub(super) fn a(&self, name: &str) -> PathBuf {
        self.base.join("A").join(name)
    }

    pub(super) fn b(&self, name: &str) -> PathBuf {
        self.base.join("B").join(name)
    }

    pub(super) fn out(&self, name: &str) -> PathBuf {
        self.base.join("OUT").join(name)
    }

    /// A name that no other world uses.
    pub(super) fn tag(&self) -> String {
        format!("askfirst-{}", self.base.file_name().unwrap().to_str().unwrap())
    }

    pub(super) fn words(&self) -> Vec<String> {
        let Self { base, victim, tcp4, tcp6, udp, shm, sem, msg } = self;
        let base = base.to_str().unwrap().to_owned();
        [base]
            .into_iter()
            .chain(
                [*victim, (*tcp4).into(), (*tcp6).into(), (*udp).into(), *shm, *sem, *msg]
                    .map(|n: i32| n.to_string()),
            )
            .collect()
    }

    pub(super) fn of_words(words: &[String]) -> Self {
        let number = |at: usize| words[at].parse::<i32>().unwrap();
        Self {
            base: (&words[0]).into(),
            victim: number(1),
            tcp4: number(2) as u16,
            tcp6: number(3) as u16,
            udp: number(4) as u16,
            shm: number(5),
            sem: number(6),
            msg: number(7),
        }
    }

    /// Creates a world in a folder that does not exist yet.
    pub(super) fn make(base: &Path, victim: i32) -> (Self, Services) {
        let folder = |name: &str| fs::create_dir_all(base.join(name)).unwrap();
        let file = |name: &str, text: &str| fs::write(base.join(name), text).unwrap();
        for name in [
            "A/.git/hooks",
            "A/sub",
            "A/other",
            "A/empty",
            "B/empty",
            "B/private",
            "B/sub",
            "OUT/home",
            "OUT/sub",
        ] {
            folder(name);
        }
        for name in [
            "A/file",
            "A/file2",
            "A/.git/config",
            "A/.git/HEAD",
            "B/file",
            "B/file2",
            "B/file3",
            "OUT/file",
            "OUT/file2",
            "OUT/file3",
            "OUT/sub/file",
        ] {
            file(name, "text");
        }
        for name in ["A/.env", "A/sub/.env", "B/private/file", "OUT/secret", "OUT/home/token"] {
            file(name, SECRET);
        }
        fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(base.join("OUT/secret"), base.join("A/link")).unwrap();
        symlink(base.join("OUT"), base.join("A/linkdir")).unwrap();
        symlink(base.join("OUT/secret"), base.join("B/link")).unwrap();
        symlink("secret", base.join("OUT/link")).unwrap();

        let tcp = ["127.0.0.1:0", "[::1]:0"].map(|address| TcpListener::bind(address).unwrap());
        let ports = tcp.each_ref().map(|listener| listener.local_addr().unwrap().port());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let mut world = Self {
            base: base.to_owned(),
            victim,
            tcp4: ports[0],
            tcp6: ports[1],
            udp: udp.local_addr().unwrap().port(),
            // SAFETY: no memory is passed.
            shm: unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, 0o600) },
            // SAFETY: as above.
            sem: unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) },
            // SAFETY: as above.
            msg: unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) },
        };
        assert!(world.shm >= 0 && world.sem >= 0 && world.msg >= 0);
        world.base = base.to_owned();
        let mut unix: Vec<OwnedFd> = Vec::new();
        for path in [world.a("sock"), world.b("sock"), world.out("sock")] {
            unix.push(UnixListener::bind(path).unwrap().into());
        }
        unix.push(UnixDatagram::bind(world.b("dgram")).unwrap().into());
        let abstract_name =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
                world.tag(),
            )
            .unwrap();
        unix.push(UnixListener::bind_addr(&abstract_name).unwrap().into());
        fs::write(Path::new("/dev/shm").join(world.tag()), SECRET).unwrap();
        let name = super::c(format!("/{}", world.tag()));
        // SAFETY: the name is NUL-terminated; without attributes the kernel uses its defaults.
        let queue = unsafe {
            libc::mq_open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600, std::ptr::null::<u8>())
        };
        assert!(queue >= 0);
        // SAFETY: the call has just created this descriptor.
        let queue = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(queue) };
        (world, Services { tcp: tcp.into(), udp: Some(udp), unix, queue: Some(queue) })
    }

    /// The profile that a config with these two roots would give.
    pub(super) fn profile(&self, program: &Path) -> OSProfile {
        let grant = |path: PathBuf| Grant::of(path).unwrap();
        let denied = |path: PathBuf, what| DeniedPath { path, what };
        OSProfile {
            readable: vec![grant(self.base.join("B")), grant(program.to_owned())],
            writable: vec![grant(self.base.join("A"))],
            denied: vec![
                denied(self.a(".git/hooks"), Denial::Write),
                denied(self.a(".git/config"), Denial::Write),
                denied(self.a(".env"), Denial::All),
                denied(self.a("sub/.env"), Denial::All),
                denied(self.b("private"), Denial::All),
            ],
            limits: Limits {
                cpu: Some(std::time::Duration::from_secs(60)),
                memory: Some(256 << 20),
                processes: Some(32),
                file: Some(16 << 20),
                ..Limits::default()
            },
            environment: vec!["PATH".into()],
            ..OSProfile::nothing()
        }
    }

    /// Removes everything outside the folder, and the folder.
    pub(super) fn clear(&self, services: Services) {
        drop(services.tcp);
        drop(services.unix);
        drop(services.queue);
        let name = super::c(format!("/{}", self.tag()));
        // SAFETY: the name is NUL-terminated; the other calls take numbers.
        unsafe {
            libc::mq_unlink(name.as_ptr());
            libc::shmctl(self.shm, libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(self.sem, 0, libc::IPC_RMID);
            libc::msgctl(self.msg, libc::IPC_RMID, std::ptr::null_mut());
        }
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            let _ = fs::remove_file(Path::new(place).join(self.tag()));
            let _ = fs::remove_file(Path::new(place).join(format!("{}-new", self.tag())));
        }
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// Reads a file that contains the secret.
pub(super) fn reads(path: impl AsRef<Path>) -> super::ProbeResult {
    match fs::read(path) {
        Ok(bytes) if bytes == SECRET.as_bytes() => Ok(()),
        Ok(_) => Err("another content".to_owned()),
        Err(cause) => Err(cause.to_string()),
    }
}

/// Opens a file for writing, without creating it.
pub(super) fn writes(path: impl AsRef<Path>) -> super::ProbeResult {
    super::io(File::options().write(true).open(path))
}
