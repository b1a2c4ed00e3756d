//! Constants, elements and times.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Writer;
use crate::Name;
use crate::nftables::ast::{Data, Element, Set, Value, Verdict};
use crate::nftables::datatype::{KeyKinds, Kind, protocol_name};

impl Writer<'_> {
    pub(super) fn value(&mut self, value: &Value, kind: Kind) {
        match *value {
            Value::Ipv4(address) => self.ipv4(address),
            Value::Ipv6(address) => self.ipv6(address),
            Value::Ipv4Prefix(address, len) => self.prefix(address.into(), len),
            Value::Ipv6Prefix(address, len) => self.prefix(address.into(), len),
            Value::Ipv4Range(from, to) => self.range(from, to, Self::ipv4),
            Value::Ipv6Range(from, to) => self.range(from, to, Self::ipv6),
            Value::Protocol(number) => self.protocol(number),
            Value::Port(port) => self.number(port),
            Value::PortRange(from, to) => self.range(from, to, Self::number),
            Value::Mark(mark) => self.mark(mark),
            Value::Number(number) => self.named_number(number, kind),
            Value::NumberRange(from, to) => self.number_range(from, to, kind),
            Value::Interface(name) => self.interface(name),
            Value::AddressType(address_type) => self.text(address_type.as_str()),
            Value::CtState(bits) => self.flags(u64::from(bits), Kind::CtState),
            Value::CtStatus(bits) => self.flags(u64::from(bits), Kind::CtStatus),
            Value::Verdict(verdict) => self.verdict(verdict),
            Value::Word(word) => self.text(&word),
            Value::Wildcard => self.text("*"),
        }
    }

    pub(super) fn verdict(&mut self, verdict: Verdict) {
        let (word, target) = match verdict {
            Verdict::Accept => ("accept", None),
            Verdict::Drop => ("drop", None),
            Verdict::Continue => ("continue", None),
            Verdict::Return => ("return", None),
            Verdict::Queue => ("queue", None),
            Verdict::Jump(chain) => ("jump ", Some(chain)),
            Verdict::Goto(chain) => ("goto ", Some(chain)),
        };
        self.text(word);
        if let Some(chain) = target {
            self.text(&chain);
        }
    }

    pub(super) fn element_of(&mut self, element: &Element, set: &Set) {
        let data = KeyKinds::Types(set.data.as_deref().unwrap_or_default());
        self.element(element, KeyKinds::Types(&set.key), data);
    }

    pub(super) fn element(&mut self, element: &Element, key: KeyKinds<'_>, data: KeyKinds<'_>) {
        self.key(&element.key, key);
        if element.state.is_some() {
            self.element_state(element);
        }
        if let Some(comment) = element.comment {
            self.text(" comment ");
            self.quoted(&comment);
        }
        match &element.data {
            None => {}
            Some(Data::Verdict(verdict)) => {
                self.text(" : ");
                self.verdict(*verdict);
            }
            Some(Data::Values(values)) => {
                self.text(" : ");
                self.key(values, data);
            }
        }
    }

    pub(super) fn key(&mut self, key: &[Value], kinds: KeyKinds<'_>) {
        for (part, value) in key.iter().enumerate() {
            if part > 0 {
                self.text(" . ");
            }
            self.value(value, kinds.at(part));
        }
    }

    fn element_state(&mut self, element: &Element) {
        let state = element.state.as_deref().copied().unwrap_or_default();
        if let Some((packets, bytes)) = state.counter {
            self.text(" ");
            self.counter(packets, bytes);
        }
        if let Some(timeout) = state.timeout {
            self.text(" timeout ");
            duration(self.out, timeout);
        }
        if let Some(expires) = state.expires {
            self.text(" expires ");
            duration(self.out, expires);
        }
    }

    pub(super) fn counter(&mut self, packets: u64, bytes: u64) {
        self.text("counter packets ");
        self.number(packets);
        self.text(" bytes ");
        self.number(bytes);
    }

    /// Writes a text in quotes. nft knows no escapes; the script form has those of Go, as knftables
    /// writes them.
    pub(super) fn quoted(&mut self, text: &str) {
        self.out.push('"');
        if self.is_script() {
            text.chars().for_each(|c| self.escaped(c));
        } else {
            self.text(text);
        }
        self.out.push('"');
    }

    fn escaped(&mut self, c: char) {
        match c {
            '"' => self.text("\\\""),
            '\\' => self.text("\\\\"),
            '\n' => self.text("\\n"),
            '\r' => self.text("\\r"),
            '\t' => self.text("\\t"),
            c if c.is_control() && u32::from(c) < 0x80 => self.hex("\\x", 2, u32::from(c)),
            c if c.is_control() => self.hex("\\u", 4, u32::from(c)),
            c => self.out.push(c),
        }
    }

    pub(super) fn ipv4(&mut self, address: Ipv4Addr) {
        let [a, b, c, d] = address.octets();
        self.number(a);
        for octet in [b, c, d] {
            self.out.push('.');
            self.number(octet);
        }
    }

    /// Writes as `inet_ntop` of glibc: an address in `::/96` with a dotted end.
    pub(super) fn ipv6(&mut self, address: Ipv6Addr) {
        let number = address.to_bits();
        if let Ok(low @ 0x1_0000..) = u32::try_from(number) {
            self.text("::");
            self.ipv4(Ipv4Addr::from_bits(low));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(self.out, "{address}");
        }
    }

    fn prefix(&mut self, address: IpAddr, len: u8) {
        match address {
            IpAddr::V4(address) => self.ipv4(address),
            IpAddr::V6(address) => self.ipv6(address),
        }
        self.out.push('/');
        self.number(len);
    }

    fn range<T>(&mut self, from: T, to: T, write: impl Fn(&mut Self, T)) {
        write(self, from);
        self.out.push('-');
        write(self, to);
    }

    fn number_range(&mut self, from: u64, to: u64, kind: Kind) {
        self.range(from, to, |w, n| w.named_number(n, kind));
    }

    fn protocol(&mut self, number: u8) {
        match protocol_name(number) {
            Some(name) => self.text(name),
            None => self.number(number),
        }
    }

    pub(super) fn mark(&mut self, mark: u32) {
        self.hex("0x", 8, mark);
    }

    fn hex(&mut self, prefix: &str, digits: u32, number: u32) {
        self.text(prefix);
        for place in (0..digits).rev() {
            let digit = number >> (4 * place) & 0xf;
            self.out.push(char::from_digit(digit, 16).unwrap_or('0'));
        }
    }

    fn named_number(&mut self, number: u64, kind: Kind) {
        match kind {
            Kind::TcpFlags if number != 0 => self.flags(number, kind),
            Kind::EtherType if kind.word(number).is_none() => {
                self.hex("0x", 4, u32::try_from(number).unwrap_or(u32::MAX));
            }
            Kind::Mark => match u32::try_from(number) {
                Ok(mark) => self.mark(mark),
                Err(_) => self.number(number),
            },
            _ => match kind.word(number) {
                Some(word) => self.text(word),
                None => self.number(number),
            },
        }
    }

    /// Writes a bit mask: the words of its bits, or a number if one has none.
    fn flags(&mut self, bits: u64, kind: Kind) {
        let known = kind.symbols().iter().fold(0, |all, (_, bit)| all | bit);
        if bits == 0 || bits & !known != 0 {
            self.text("0x");
            let _ = write!(self.out, "{bits:x}");
            return;
        }
        let mut first = true;
        for (word, _) in kind.symbols().iter().filter(|(_, bit)| bits & bit != 0) {
            if !first {
                self.out.push(',');
            }
            self.text(word);
            first = false;
        }
    }

    fn interface(&mut self, name: Name) {
        if self.is_script() {
            self.text(&name);
        } else {
            self.quoted(&name);
        }
    }
}

/// Writes a time in milliseconds as nft does: `1d2h3m4s5ms`.
pub(in crate::nftables) fn duration(out: &mut String, milliseconds: u64) {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut rest = milliseconds;
    for (unit, name) in UNITS {
        if rest >= unit {
            out.push_str(itoa::Buffer::new().format(rest / unit));
            out.push_str(name);
            rest %= unit;
        }
    }
    if milliseconds == 0 {
        out.push_str("0s");
    }
}
