//! Writes targets and their options, in the order of iptables 1.8.9.

use std::net::IpAddr;

use super::super::ast::{
    Connmark, Nat, NatPorts, RejectWith, SetChange, SetTarget, Target, TcpMss, Tproxy, XMark,
};
use super::{Form, Writer};

impl Writer<'_> {
    /// Writes ` -j NAME` and its options.
    pub(super) fn whole_target(&mut self, target: &Target) {
        let option = if matches!(target, Target::Goto(_)) { " -g " } else { " -j " };
        self.text(&[option, target.name()]);
        self.target_options(target);
    }

    /// Writes the options of a target, each with a blank before it.
    pub(super) fn target_options(&mut self, target: &Target) {
        match target {
            Target::Reject(with) => self.reject(*with),
            Target::Mark(mark) => self.xmark(*mark),
            Target::Connmark(action) => self.connmark(*action),
            Target::Dnat(nat) => self.nat(" --to-destination ", nat),
            Target::Snat(nat) => self.nat(" --to-source ", nat),
            Target::Masquerade(nat) | Target::Redirect(nat) => self.nat(" --to-ports ", nat),
            Target::Netmap(network) => self.display(format_args!(" --to {network}")),
            Target::Log(options) | Target::Nflog(options) | Target::Ct(options) => {
                self.raw(options);
            }
            Target::NoTrack { ct: true } => self.text(&[" --notrack"]),
            Target::TcpMss(TcpMss::Set(size)) => self.display(format_args!(" --set-mss {size}")),
            Target::TcpMss(TcpMss::Clamp) => self.text(&[" --clamp-mss-to-pmtu"]),
            Target::Tproxy(proxy) => self.tproxy(proxy),
            Target::Set(change) => self.set_target(change),
            Target::Harmless { options, .. } => self.raw(options),
            Target::Unknown(unknown) => self.raw(&unknown.options),
            Target::Accept
            | Target::Drop
            | Target::Return
            | Target::Jump(_)
            | Target::Goto(_)
            | Target::NoTrack { ct: false }
            | Target::Trace => {}
        }
    }

    fn reject(&mut self, with: RejectWith) {
        if self.form == Form::Saved || !with.is_default() {
            self.text(&[" --reject-with ", with.as_str()]);
        }
    }

    /// Writes the change of a mark; kube-proxy says which bits it sets or flips.
    fn xmark(&mut self, mark: XMark) {
        let XMark { value, mask } = mark;
        match self.form {
            Form::Written if mark == XMark::or(value) => {
                self.display(format_args!(" --or-mark {value:#010x}"));
            }
            Form::Written if mark == XMark::xor(value) => {
                self.display(format_args!(" --xor-mark {value:#010x}"));
            }
            _ => self.display(format_args!(" --set-xmark {value:#x}/{mask:#x}")),
        }
    }

    fn connmark(&mut self, action: Connmark) {
        let (option, packet, ct) = match action {
            Connmark::Set(XMark { value, mask }) => {
                return self.display(format_args!(" --set-xmark {value:#x}/{mask:#x}"));
            }
            Connmark::Save { packet_mask, ct_mask } => ("--save-mark", packet_mask, ct_mask),
            Connmark::Restore { packet_mask, ct_mask } => ("--restore-mark", packet_mask, ct_mask),
        };
        self.display(format_args!(" {option} --nfmask {packet:#x} --ctmask {ct:#x}"));
    }

    fn nat(&mut self, option: &str, nat: &Nat) {
        if nat.addresses.is_some() || nat.ports.is_some() {
            self.text(&[option]);
        }
        if let Some((first, last)) = nat.addresses {
            let bracketed = first.is_ipv6() && nat.ports.is_some();
            self.text(&[if bracketed { "[" } else { "" }]);
            self.nat_addresses(first, last);
            self.text(&[if bracketed { "]" } else { "" }]);
        }
        if let Some(ports) = nat.ports {
            // REDIRECT and MASQUERADE have ports only.
            self.text(&[if option == " --to-ports " { "" } else { ":" }]);
            self.nat_ports(ports);
        }
        self.nat_flags(nat);
    }

    fn nat_addresses(&mut self, first: IpAddr, last: IpAddr) {
        self.address(first);
        if first != last {
            self.text(&["-"]);
            self.address(last);
        }
    }

    fn nat_ports(&mut self, ports: NatPorts) {
        self.range(ports.range, "-");
        if let Some(base) = ports.base {
            self.text(&["/"]);
            self.number(base);
        }
    }

    fn nat_flags(&mut self, nat: &Nat) {
        let flags = [
            (nat.random, " --random"),
            (nat.random_fully, " --random-fully"),
            (nat.persistent, " --persistent"),
        ];
        flags.iter().filter(|(on, _)| *on).for_each(|(_, flag)| self.text(&[flag]));
    }

    fn tproxy(&mut self, proxy: &Tproxy) {
        let Tproxy { port, address, mark: XMark { value, mask } } = proxy;
        self.display(format_args!(
            " --on-port {port} --on-ip {address} --tproxy-mark {value:#x}/{mask:#x}"
        ));
    }

    fn set_target(&mut self, target: &SetTarget) {
        self.text(&[
            match target.change {
                SetChange::Add => " --add-set ",
                SetChange::Delete => " --del-set ",
                SetChange::Map => " --map-set ",
            },
            &target.set,
            " ",
        ]);
        self.sides(&target.sides);
        target.options.iter().for_each(|options| self.raw(options));
    }
}
