//! Translation statements: `dnat`, `snat`, `masquerade`, `redirect`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kps_flow::{Family, Outcome};
use kps_ruleset::nftables::{Hook, NatKind};

use super::Run;
use super::execute::{Next, sees, unknown};
use super::program::{Expr, Translation, Verdict};
use crate::conntrack::{Endpoint, Side};
use crate::trace::{Deed, Way};
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::datum::Datum;

impl Run<'_> {
    /// Decides one side of the connection. The packet is rewritten when all `nat` chains of the
    /// hook are done.
    pub(super) fn translate(
        &self,
        translation: &Translation,
        branch: &mut Branch,
    ) -> Result<Next, Interrupt> {
        let family = branch.packet.family();
        if translation.family.is_some_and(|limit| !sees(limit, family)) {
            return Ok(Next::Rule);
        }
        let side = side_of(translation.kind);
        let Some(written) = self.written(translation, branch)? else { return Ok(Next::Rule) };
        let Some(to) = self.target(translation, side, written, branch) else {
            branch.note_kernel(|| Deed::Refuses("there is no address to translate to".to_owned()));
            return Err(Interrupt::End(Outcome::Drop));
        };
        self.note(branch, || match side {
            Side::Destination => Deed::TranslatesDestination(to),
            Side::Source => {
                Deed::TranslatesSource { to, masquerade: translation.kind == NatKind::Masquerade }
            }
        });
        let Some(connection) = &mut branch.connection else {
            return Err(unknown("a translation outside of a nat chain"));
        };
        connection.bind(side, to);
        Ok(Next::Verdict(Verdict::Accept))
    }

    /// Completes what the rule says with what the kernel chooses; `None` if it finds no address.
    fn target(
        &self,
        translation: &Translation,
        side: Side,
        written: Written,
        branch: &Branch,
    ) -> Option<Endpoint> {
        let (packet, own) = (&branch.packet, branch.packet.endpoint(side));
        let address = match translation.kind {
            NatKind::Dnat | NatKind::Snat => written.address.unwrap_or(own.address),
            NatKind::Redirect => self.redirect(branch)?,
            NatKind::Masquerade => {
                let gateway = branch.way.and_then(Way::gateway);
                self.network.masquerade(packet.destination, packet.output?, gateway)?
            }
        };
        let port = match written.port {
            Port::Given(port) => Some(port),
            Port::Own if !translation.random => own.port,
            Port::Own | Port::Any => None,
        };
        Some(Endpoint { address, port })
    }

    /// `net/netfilter/nf_nat_redirect.c`: the loopback address for a process of this host, else an
    /// address of the incoming interface.
    fn redirect(&self, branch: &Branch) -> Option<IpAddr> {
        let v6 = branch.packet.family() == Family::V6;
        match (self.hook, v6) {
            (Hook::Output, false) => Some(Ipv4Addr::LOCALHOST.into()),
            (Hook::Output, true) => Some(Ipv6Addr::LOCALHOST.into()),
            _ => self.network.first_address(branch.packet.input?, v6),
        }
    }

    /// Evaluates what the rule says: an address, a port, or both in one expression.
    fn written(
        &self,
        translation: &Translation,
        branch: &mut Branch,
    ) -> Result<Option<Written>, Interrupt> {
        let mut written = Written::default();
        if let Some(expr) = &translation.address {
            let Some(parts) = self.evaluate(expr, branch)? else { return Ok(None) };
            let like = branch.packet.destination;
            let address = parts.first().and_then(|part| part.as_address(like));
            written.address = Some(address.ok_or_else(|| unsure(expr, &parts))?);
            written.port = parts.get(1).map_or(Port::Own, |part| Port::of(*part));
        }
        if let Some(expr) = &translation.port {
            let Some(parts) = self.evaluate(expr, branch)? else { return Ok(None) };
            written.port = parts.first().map_or(Port::Own, |part| Port::of(*part));
        }
        Ok(Some(written))
    }
}

/// What a translation says.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    /// The new address, if it names one.
    address: Option<IpAddr>,
    /// The new port.
    port: Port,
}

/// What a translation says about the port.
#[derive(Debug, Clone, Copy, Default)]
enum Port {
    /// Nothing.
    #[default]
    Own,
    /// This one.
    Given(u16),
    /// One of several: the kernel picks.
    Any,
}

impl Port {
    fn of(datum: Datum) -> Port {
        datum.as_port().map_or(Port::Any, Port::Given)
    }
}

fn side_of(kind: NatKind) -> Side {
    match kind {
        NatKind::Dnat | NatKind::Redirect => Side::Destination,
        NatKind::Snat | NatKind::Masquerade => Side::Source,
    }
}

fn unsure(expr: &Expr, parts: &[Datum]) -> Interrupt {
    let text = match parts.first() {
        Some(Datum::Unknown(text)) => (*text).to_string(),
        _ => format!("{expr:?}"),
    };
    unknown(format!("translation to an address that is not modelled: {text}"))
}
