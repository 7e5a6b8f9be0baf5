//! Probes that reach other processes: over the network, through sockets, and through shared memory and queues.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::ptr;

use super::world::{Services, World};
use super::{Probe, ProbeResult, c, did, io, probe, root, seen, sys};

fn socket(family: i32, kind: i32, protocol: i32) -> Result<i32, String> {
    // SAFETY: no memory is passed.
    sys(unsafe { libc::socket(family, kind, protocol) }).map(|fd| fd as i32)
}

fn inet(port: u16, address: [u8; 4]) -> libc::sockaddr_in {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut to: libc::sockaddr_in = unsafe { mem::zeroed() };
    to.sin_family = libc::AF_INET as u16;
    to.sin_port = port.to_be();
    to.sin_addr.s_addr = u32::from_ne_bytes(address);
    to
}

fn in_file(path: impl AsRef<Path>) -> libc::sockaddr_un {
    // SAFETY: as above.
    let mut to: libc::sockaddr_un = unsafe { mem::zeroed() };
    to.sun_family = libc::AF_UNIX as u16;
    for (to, from) in to.sun_path.iter_mut().zip(c(path).as_bytes()) {
        *to = *from as libc::c_char;
    }
    to
}

/// Sends one byte with the given flags.
fn send<T>(fd: i32, to: &T, flags: i32) -> ProbeResult {
    let (to, size) = (ptr::from_ref(to).cast(), size_of_val(to) as u32);
    // SAFETY: one byte and an address of the size given are passed.
    did(unsafe { libc::sendto(fd, b"x".as_ptr().cast(), 1, flags, to, size) } as i64)
}

fn pair_to(kind: i32, world: &World) -> ProbeResult {
    let mut ends = [0; 2];
    // SAFETY: two numbers are written into two.
    did(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    send(ends[0], &in_file(world.b("dgram")), 0)
}

/// Whether a datagram has arrived; the scene checks it.
pub(super) fn arrived(services: &Services) -> bool {
    services.udp.as_ref().unwrap().recv(&mut [0; 8]).is_ok()
}

fn key(ring: i32) -> ProbeResult {
    let (kind, name) = (c"user".as_ptr(), c"askfirst".as_ptr());
    // SAFETY: both names are NUL-terminated, and one byte is passed.
    did(unsafe { libc::syscall(libc::SYS_add_key, kind, name, b"x".as_ptr(), 1, ring) })
}

pub(super) const PROBES: &[Probe] = &[
    probe("connect_by_tcp", |w| io(TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, w.tcp4))))),
    probe("connect_by_tcp_6", |w| io(TcpStream::connect(SocketAddr::from((Ipv6Addr::LOCALHOST, w.tcp6))))),
    probe("connect_by_any_address", |w| {
        io(TcpStream::connect(SocketAddr::from((Ipv4Addr::UNSPECIFIED, w.tcp4))))
    }),
    probe("send_by_tcp_without_connecting", |w| {
        send(socket(libc::AF_INET, libc::SOCK_STREAM, 0)?, &inet(w.tcp4, [127, 0, 0, 1]), libc::MSG_FASTOPEN)
    }),
    probe("connect_by_multipath_tcp", |w| {
        let (fd, to) = (socket(libc::AF_INET, libc::SOCK_STREAM, 262)?, inet(w.tcp4, [127, 0, 0, 1]));
        // SAFETY: the address is of the given size.
        did(unsafe { libc::connect(fd, (&raw const to).cast(), size_of_val(&to) as u32) })
    }),
    seen(
        "send_by_udp",
        |w| {
            let socket = UdpSocket::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
            io(socket.send_to(b"x", ("127.0.0.1", w.udp)))
        },
        |_| false,
    ),
    probe("send_to_a_resolver", |_| {
        let socket = UdpSocket::bind("0.0.0.0:0").map_err(|e| e.to_string())?;
        io(socket.send_to(b"x", "198.51.100.1:53"))
    }),
    probe("route_to_the_world", |_| {
        let socket = UdpSocket::bind("0.0.0.0:0").map_err(|e| e.to_string())?;
        io(socket.connect("198.51.100.1:443"))
    }),
    probe("see_the_network_of_the_machine", |_| {
        let devices = std::fs::read_to_string("/proc/net/dev").map_err(|e| e.to_string())?;
        if devices.lines().count() > 3 { Ok(()) } else { Err("only the loopback device".to_owned()) }
    }),
    probe("connect_to_a_socket_in_a", |w| io(UnixStream::connect(w.a("sock")))),
    probe("connect_to_a_socket_in_b", |w| io(UnixStream::connect(w.b("sock")))),
    probe("connect_to_a_socket_outside", |w| io(UnixStream::connect(w.out("sock")))),
    probe("connect_to_an_abstract_socket", |w| {
        let to = std::os::unix::net::SocketAddr::from_abstract_name(w.tag()).unwrap();
        io(UnixStream::connect_addr(&to))
    }),
    probe("send_to_a_socket_in_b", |w| {
        io(UnixDatagram::unbound().and_then(|from| from.send_to(b"x", w.b("dgram"))))
    }),
    probe("send_by_a_pair_to_a_socket_in_b", |w| pair_to(libc::SOCK_DGRAM, w)),
    probe("send_by_a_raw_pair_to_a_socket_in_b", |w| pair_to(libc::SOCK_RAW, w)),
    probe("listen_at_a_socket_in_a", |w| io(UnixListener::bind(w.a("listen")))),
    probe("listen_at_an_abstract_socket", |w| {
        let at = std::os::unix::net::SocketAddr::from_abstract_name(format!("{}-new", w.tag())).unwrap();
        io(UnixListener::bind_addr(&at))
    }),
    probe("reach_the_hypervisor", |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(drop)),
    probe("hear_of_devices", |_| {
        socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT).map(drop)
    }),
    probe("ask_the_kernel_about_sockets", |_| socket(libc::AF_NETLINK, libc::SOCK_RAW, 4).map(drop)),
    root("listen_to_the_wire", |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map(drop)),
    root("send_raw", |_| socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).map(drop)),
    probe("use_shared_memory_of_the_host", |w| {
        // SAFETY: the kernel chooses where; nothing is read or written.
        let at = unsafe { libc::shmat(w.shm, ptr::null(), 0) };
        if at as isize == -1 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(()) }
    }),
    // SAFETY: the operation is initialised.
    probe("use_a_semaphore_of_the_host", |w| did(unsafe { libc::semctl(w.sem, 0, libc::GETVAL) })),
    probe("use_a_queue_of_the_host", |w| {
        #[repr(C)]
        struct Message {
            kind: libc::c_long,
            text: [u8; 1],
        }
        let message = Message { kind: 1, text: *b"x" };
        // SAFETY: the message is of the given size.
        did(unsafe { libc::msgsnd(w.msg, (&raw const message).cast(), 1, libc::IPC_NOWAIT) })
    }),
    // SAFETY: the name is NUL-terminated.
    probe("use_a_named_queue_of_the_host", |w| {
        did(unsafe { libc::mq_open(c(format!("/{}", w.tag())).as_ptr(), libc::O_WRONLY) })
    }),
    probe("plant_a_key_for_the_user", |_| key(-4)),
    probe("plant_a_key_for_the_process", |_| key(-2)),
    // SAFETY: no memory is passed.
    probe("ask_for_the_keys_of_the_session", |_| did(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) })),
];
