//! The node's own processes: they send probes, and see those that the node itself gets.

use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use kps_flow::{Family, Protocol};
use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg, setsockopt, sockopt::Ipv6RecvPacketInfo,
};
use socket2::{Domain, Socket, Type};

use crate::KernelError;
use crate::packet::{self, Seen};

/// Raw sockets that get what passes the input hook.
pub struct Ears(Vec<(Family, Protocol, Socket)>);

const HEARD: [(Family, Protocol); 8] = [
    (Family::V4, Protocol::Tcp),
    (Family::V4, Protocol::Udp),
    (Family::V4, Protocol::Sctp),
    (Family::V4, Protocol::Icmp),
    (Family::V6, Protocol::Tcp),
    (Family::V6, Protocol::Udp),
    (Family::V6, Protocol::Sctp),
    (Family::V6, Protocol::Icmpv6),
];

impl Ears {
    /// Opens a socket for each protocol and family.
    pub fn open() -> Result<Ears, KernelError> {
        HEARD
            .iter()
            .map(|(family, protocol)| ear(*family, *protocol))
            .collect::<Result<_, _>>()
            .map(Ears)
    }

    /// Returns what came in since.
    pub fn hear(&self, all: &mut Vec<Seen>) {
        for (family, protocol, socket) in &self.0 {
            match family {
                Family::V4 => hear_v4(socket, all),
                Family::V6 => hear_v6(socket, *protocol, all),
            }
        }
    }
}

fn ear(family: Family, protocol: Protocol) -> Result<(Family, Protocol, Socket), KernelError> {
    let failed = |source| KernelError::System { what: "cannot open a raw socket".into(), source };
    let socket = raw(family, protocol).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    if family == Family::V6 {
        setsockopt(&socket, Ipv6RecvPacketInfo, &true).map_err(|e| failed(e.into()))?;
    }
    Ok((family, protocol, socket))
}

fn raw(family: Family, protocol: Protocol) -> std::io::Result<Socket> {
    let domain = if family == Family::V4 { Domain::IPV4 } else { Domain::IPV6 };
    Socket::new(domain, Type::RAW, Some(i32::from(protocol.number()).into()))
}

fn hear_v4(socket: &Socket, all: &mut Vec<Seen>) {
    let mut buffer = [0; 2048];
    while let Ok(length) = std::io::Read::read(&mut &*socket, &mut buffer) {
        all.extend(packet::read(buffer.get(..length).unwrap_or_default()));
    }
}

fn hear_v6(socket: &Socket, protocol: Protocol, all: &mut Vec<Seen>) {
    loop {
        let mut buffer = [0; 2048];
        let mut control = cmsg_space!([u8; 64]);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let received = recvmsg::<SockaddrIn6>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        );
        let Ok(message) = received else { return };
        let from = message.address.map_or(Ipv6Addr::UNSPECIFIED, |address| address.ip());
        let to = message.cmsgs().into_iter().flatten().find_map(|part| match part {
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                Some(Ipv6Addr::from(info.ipi6_addr.s6_addr))
            }
            _ => None,
        });
        let bytes = message.bytes;
        if let Some(to) = to {
            let bytes = buffer.get(..bytes).unwrap_or_default();
            all.extend(packet::transport(protocol, from.into(), to.into(), bytes));
        }
    }
}

/// A process of the node that is about to send to an address.
pub struct Process(Socket);

impl Process {
    /// Has the kernel choose the source, unless one is given. `None` if it cannot.
    pub fn dial(
        protocol: Protocol,
        source: Option<IpAddr>,
        to: IpAddr,
    ) -> Option<(Process, IpAddr)> {
        let socket = raw(Family::of(to), protocol).ok()?;
        if let Some(source) = source {
            socket.bind(&SocketAddr::new(source, 0).into()).ok()?;
        }
        socket.connect(&SocketAddr::new(to, 0).into()).ok()?;
        let chosen = socket.local_addr().ok()?.as_socket()?.ip();
        Some((Process(socket), chosen))
    }

    /// Sends a packet, given from its IP header on, which the kernel writes anew. What the rules do
    /// to it may fail the call; that is seen elsewhere.
    pub fn send(&self, packet: &[u8], family: Family) {
        let header = if family == Family::V4 { 20 } else { 40 };
        // What becomes of it is what is judged.
        let _ = self.0.send(packet.get(header..).unwrap_or_default());
    }
}
