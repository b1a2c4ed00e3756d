//! Translation statements: `dnat`, `snat`, `masquerade`, `redirect`.

use std::net::IpAddr;

use kps_ruleset::nftables::NatKind;

use super::Run;
use super::execute::{Next, sees};
use super::program::{Expr, Translation, Verdict};
use crate::conntrack::{Endpoint, Side};
use crate::walk::branch::{Branch, Interrupt};
use crate::walk::chains::{Chains, unknown};
use crate::walk::datum::Datum;
use crate::walk::translation::{Decision, masquerade, redirect};

impl Run<'_> {
    /// Decides one side of the connection.
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
        let to = self.target(translation, side, written, branch);
        let masquerade = translation.kind == NatKind::Masquerade;
        let frame = branch.frame();
        Decision { side, to, masquerade }.take(branch, || self.place(frame))?;
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
        let own = branch.packet.endpoint(side);
        let address = match translation.kind {
            NatKind::Dnat | NatKind::Snat => written.address.unwrap_or(own.address),
            NatKind::Redirect => redirect(self.network, self.hook, branch)?,
            NatKind::Masquerade => masquerade(self.network, branch)?,
        };
        let port = match written.port {
            Port::Given(port) => Some(port),
            Port::Own if !translation.random => own.port,
            Port::Own | Port::Any => None,
        };
        Some(Endpoint { address, port })
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
