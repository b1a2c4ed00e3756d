//! A packet and the state of a node as a shell script, for people who have neither this crate nor
//! the objects: namespaces, rules, one packet, and where it comes out.
//!
//! The node is a namespace; a second one has the far ends of all its links. What is sent and watched
//! with takes Python, and nothing that is not in its standard library.

use std::fmt::{self, Write};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{Family, Flow, Protocol};
use kps_ruleset::NodeState;

use crate::packet::{Ends, Probe};
use crate::setup::{Input, Setup, Variant};

const WATCH: &str = include_str!("watch.py");
const SEND: &str = include_str!("send.py");

/// Writes a script that loads the state into the kernel on which it runs, sends the first packet of
/// the flow, and shows where it comes out. `remarks` go to its head.
#[must_use]
pub fn reproduce(state: &NodeState, flow: &Flow, remarks: &[String]) -> String {
    let script = Script { setup: Setup::new(state, Variant::Chosen), flow, remarks };
    let mut text = String::new();
    // INVARIANT: writing to a String cannot fail.
    let _ = script.write(&mut text);
    text
}

/// What a script is about.
struct Script<'a> {
    setup: Setup,
    flow: &'a Flow,
    remarks: &'a [String],
}

impl Script<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        self.head(out)?;
        self.links(out)?;
        self.host(out)?;
        self.rules(out)?;
        self.client(out)?;
        self.packet(out)
    }

    fn head(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "#!/bin/sh\n# {}", self.flow)?;
        for line in self.remarks.iter().flat_map(|remark| remark.lines()) {
            writeln!(out, "# {line}")?;
        }
        out.write_str(HEAD)
    }

    fn links(&self, out: &mut String) -> fmt::Result {
        let names: Vec<&str> = self.setup.links.iter().map(|link| link.name.as_str()).collect();
        writeln!(out, "for link in {}; do{LINK}", names.join(" "))
    }

    fn host(&self, out: &mut String) -> fmt::Result {
        out.write_str("\n# Its sysctls, addresses and routes.\n")?;
        let sysctls: Vec<String> = self.setup.sysctls.iter().map(sysctl).collect();
        here(out, "on_node sh -e", &sysctls.concat())?;
        for Input { tool, arguments, text } in &self.setup.network {
            here(out, &format!("{tool} -n $node {}", arguments.join(" ")), text)?;
        }
        for address in &self.setup.awaited {
            writeln!(
                out,
                "until ip -n $node -6 route show table local | grep -q 'local {address} '; do sleep 0.1; done"
            )?;
        }
        Ok(())
    }

    fn rules(&self, out: &mut String) -> fmt::Result {
        out.write_str("\n# Its rules.\n")?;
        self.setup.rules.iter().try_for_each(|Input { tool, arguments, text }| {
            let words = [tool].into_iter().chain(arguments).map(String::as_str);
            here(out, &format!("on_node {}", words.collect::<Vec<_>>().join(" ")), text)
        })
    }

    fn client(&self, out: &mut String) -> fmt::Result {
        out.write_str("\n# The client.\n")?;
        let (Some(link), Some(source)) = (&self.flow.interface, self.flow.source) else {
            return out.write_str("from=$node\n");
        };
        let (option, length, nodad) = match self.flow.family() {
            Family::V4 => ("-4", 32, ""),
            Family::V6 => ("-6", 128, " nodad"),
        };
        writeln!(out, "from=$far\nip -n $far addr add {source}/{length} dev {link}{nodad}")?;
        writeln!(out, "ip -n $far {option} route add default dev {link}")
    }

    fn packet(&self, out: &mut String) -> fmt::Result {
        here(out, "\ncat > $dir/watch.py", WATCH)?;
        here(out, "\ncat > $dir/send.py", SEND)?;
        let Flow { protocol, source_port, destination, port, .. } = self.flow;
        let number = protocol.number();
        let source = self.flow.source.map_or_else(|| "any".to_owned(), |source| source.to_string());
        let payload: String =
            self.payload().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        write!(
            out,
            "\nnumber={number}\npacket=\"{number} {source} {source_port} {destination} {port} {payload}\"\n{TAIL}"
        )
    }

    /// Returns what follows the UDP header, or the IP header of other protocols than TCP. No
    /// checksum but that of `ICMPv6`, which the kernel writes, depends on an address.
    fn payload(&self) -> Vec<u8> {
        let (loopback, header): (IpAddr, usize) = match self.flow.family() {
            Family::V4 => ([127, 0, 0, 1].into(), 20),
            Family::V6 => (std::net::Ipv6Addr::LOCALHOST.into(), 40),
        };
        let probe = Probe {
            number: 1,
            protocol: self.flow.protocol,
            ends: Ends {
                source: SocketAddr::new(loopback, self.flow.source_port),
                destination: SocketAddr::new(loopback, self.flow.port),
            },
        };
        let skipped = header + if self.flow.protocol == Protocol::Udp { 8 } else { 0 };
        probe.packet().and_then(|packet| Some(packet.get(skipped..)?.to_vec())).unwrap_or_default()
    }
}

fn sysctl((name, value): &(String, String)) -> String {
    format!("echo {value} > /proc/sys/{}\n", name.replace('.', "/"))
}

/// Gives a text to a command as its standard input.
fn here(out: &mut String, command: &str, text: &str) -> fmt::Result {
    write!(out, "{command} <<'EOF'\n{text}")?;
    out.write_str(if text.is_empty() || text.ends_with('\n') { "EOF\n" } else { "\nEOF\n" })
}

const HEAD: &str = r#"#
# Run it as root on the kernel in question. It takes iproute2, Python 3, and the tools that load the
# rules; it makes two network namespaces, and removes them.
set -eu
node=node-$$ far=far-$$
dir=$(mktemp -d)
on_node() { ip netns exec $node "$@"; }
finish() {
    kill $watchers 2>/dev/null || :
    ip netns del $node || :
    ip netns del $far || :
    rm -r $dir
}
watchers=
trap finish EXIT
ip netns add $node
ip netns add $far

# The links of the node, and their far ends. Both ends of a link have one hardware address and do
# not resolve others, so that what the node sends arrives, whoever it is for.
"#;

const LINK: &str = "
    mac='address 02:00:00:00:00:01'
    ip link add $link netns $node $mac type veth peer name $link netns $far $mac
    ip -n $node link set $link arp off
    ip -n $far link set $link arp off up
done";

const TAIL: &str = r#"
# Watch, send, show.
ip netns exec $far python3 $dir/watch.py far > $dir/far &
watchers=$!
ip netns exec $node python3 $dir/watch.py node $number > $dir/node &
watchers="$watchers $!"
until grep -qs watching $dir/far && grep -qs watching $dir/node; do sleep 0.1; done
ip netns exec $from python3 $dir/send.py $packet
sleep 0.5
cat $dir/far $dir/node | grep -v watching || echo "it came out nowhere"
"#;
