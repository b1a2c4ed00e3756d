//! Writes the options of matches, in the order of iptables 1.8.9.

use super::super::ast::{
    AddrType, Conntrack, CtDirection, CtStatuses, Icmp, IpRange, Ipvs, IpvsMethod, Limit,
    MaskedMark, Match, Multiport, Negatable, Owner, PacketType, Physdev, PortRange, PortSide,
    PortTest, Recent, RecentAction, Rpfilter, SetMatch, Side, Statistic, TcpFlags, TcpTest,
};
use super::{Form, Writer};
use crate::words::{push_escaped, push_quoted};

impl Writer<'_> {
    /// Writes the options of a match, each with a blank before it.
    pub(super) fn match_options(&mut self, m: &Match) {
        match m {
            Match::Comment(text) => self.comment(text),
            Match::Conntrack(test) => self.conntrack(test),
            Match::State(states) => self.flags(" --state ", Some(states)),
            Match::AddrType(test) => self.addrtype(test),
            Match::Mark(test) | Match::Connmark(test) => self.mark(test),
            Match::Statistic(test) => self.statistic(*test),
            Match::Recent(test) => self.recent(test),
            Match::Multiport(test) => self.multiport(test),
            Match::Set(test) => self.set(test),
            Match::Physdev(test) => self.physdev(test),
            Match::Limit(test) => self.limit(*test),
            Match::Icmp(test) => self.icmp(" --icmp-type ", *test),
            Match::Icmp6(test) => self.icmp(" --icmpv6-type ", *test),
            Match::Tcp(test) => self.tcp(test),
            Match::Udp(test) => self.ports(test),
            Match::Sctp(test) => {
                self.ports(&test.ports);
                test.chunks.iter().for_each(|chunks| self.text(&[" ", chunks]));
            }
            Match::Owner(test) => self.owner(test),
            Match::IpRange(test) => self.iprange(test),
            Match::Length(test) => self.number_range(" --length ", Some(test), ":"),
            Match::Nfacct(name) => self.nfacct(name),
            Match::Ipvs(test) => self.ipvs(test),
            Match::Rpfilter(test) => self.rpfilter(*test),
            Match::Mac(test) => self.mac(*test),
            Match::PacketType(test) => self.packet_type(*test),
            Match::Tos(test) => {
                self.negation(test.negated);
                let (value, mask) = test.value;
                self.display(format_args!(" --tos 0x{value:02x}/0x{mask:02x}"));
            }
            Match::Dscp(test) => {
                self.negation(test.negated);
                self.display(format_args!(" --dscp 0x{:02x}", test.value));
            }
            Match::Hashlimit(test) => self.raw(&test.options),
            Match::Unknown(unknown) => self.raw(&unknown.options),
        }
    }

    pub(super) fn raw(&mut self, options: &str) {
        if !options.is_empty() {
            self.text(&[" ", options]);
        }
    }

    fn comment(&mut self, text: &str) {
        self.text(&[" --comment "]);
        match self.form {
            Form::Saved => push_quoted(self.out, text),
            // kube-proxy writes phrases in quotes and single words without.
            Form::Written if text.bytes().any(|b| b.is_ascii_whitespace() || b == b'"') => {
                push_escaped(self.out, text, |b| matches!(b, b'"' | b'\\'));
            }
            Form::Written if text.is_empty() => self.text(&["\"\""]),
            Form::Written => self.text(&[text]),
        }
    }

    /// Writes the names of flags with commas between.
    pub(super) fn flags<F: bitflags::Flags>(&mut self, option: &str, test: Option<&Negatable<F>>) {
        let Some(flags) = self.negatable(test) else { return };
        self.text(&[option]);
        self.flag_names(flags);
    }

    fn flag_names<F: bitflags::Flags>(&mut self, flags: &F) {
        for (i, (name, _)) in flags.iter_names().enumerate() {
            self.text(&[if i > 0 { "," } else { "" }, name]);
        }
    }

    fn conntrack(&mut self, test: &Conntrack) {
        self.flags(" --ctstate ", test.states.as_ref());
        if let Some(protocol) = self.negatable(test.protocol.as_ref()) {
            self.text(&[" --ctproto "]);
            self.number(protocol.0);
        }
        self.host(" --ctorigsrc ", test.original_source.as_ref());
        self.host(" --ctorigdst ", test.original_destination.as_ref());
        self.host(" --ctreplsrc ", test.reply_source.as_ref());
        self.host(" --ctrepldst ", test.reply_destination.as_ref());
        self.port(" --ctorigsrcport ", test.original_source_port.as_ref());
        self.port(" --ctorigdstport ", test.original_destination_port.as_ref());
        self.port(" --ctreplsrcport ", test.reply_source_port.as_ref());
        self.port(" --ctrepldstport ", test.reply_destination_port.as_ref());
        self.ct_statuses(test.statuses.as_ref());
        self.number_range(" --ctexpire ", test.expire.as_ref(), ":");
        self.direction(" --ctdir ", test.direction);
    }

    fn ct_statuses(&mut self, test: Option<&Negatable<CtStatuses>>) {
        match test {
            Some(Negatable { negated, value }) if value.is_empty() => {
                self.negation(*negated);
                self.text(&[" --ctstatus NONE"]);
            }
            test => self.flags(" --ctstatus ", test),
        }
    }

    fn direction(&mut self, option: &str, direction: Option<CtDirection>) {
        match direction {
            Some(CtDirection::Original) => self.text(&[option, "ORIGINAL"]),
            Some(CtDirection::Reply) => self.text(&[option, "REPLY"]),
            None => {}
        }
    }

    fn addrtype(&mut self, test: &AddrType) {
        self.flags(" --src-type ", test.source.as_ref());
        self.flags(" --dst-type ", test.destination.as_ref());
        if test.limit_input {
            self.text(&[" --limit-iface-in"]);
        }
        if test.limit_output {
            self.text(&[" --limit-iface-out"]);
        }
    }

    fn mark(&mut self, test: &Negatable<MaskedMark>) {
        self.negation(test.negated);
        let MaskedMark { value, mask } = test.value;
        self.text(&[" --mark "]);
        match self.form {
            Form::Written => self.display(format_args!("{value:#010x}/{mask:#010x}")),
            Form::Saved if mask == u32::MAX => self.display(format_args!("{value:#x}")),
            Form::Saved => self.display(format_args!("{value:#x}/{mask:#x}")),
        }
    }

    fn statistic(&mut self, test: Statistic) {
        match test {
            Statistic::Random { negated, probability } => {
                self.text(&[" --mode random"]);
                self.negation(negated);
                let (decimals, digits) = match self.form {
                    Form::Saved => (probability.decimals(100_000_000_000), 11),
                    Form::Written => (probability.written_decimals(), 10),
                };
                let scale = 10_u64.pow(digits);
                let (whole, part, width) = (decimals / scale, decimals % scale, digits as usize);
                self.display(format_args!(" --probability {whole}.{part:0width$}"));
            }
            Statistic::Nth { negated, every, packet } => {
                self.text(&[" --mode nth"]);
                self.negation(negated);
                self.display(format_args!(" --every {every} --packet {packet}"));
            }
        }
    }

    fn recent(&mut self, test: &Recent) {
        if self.form == Form::Written {
            self.text(&[" --name ", &test.name]);
        }
        self.negation(test.action.negated);
        self.text(&[match test.action.value {
            RecentAction::Set => " --set",
            RecentAction::Check => " --rcheck",
            RecentAction::Update => " --update",
            RecentAction::Remove => " --remove",
        }]);
        self.optional_number(" --seconds ", test.seconds);
        if test.reap {
            self.text(&[" --reap"]);
        }
        self.optional_number(" --hitcount ", test.hit_count);
        if test.ttl {
            self.text(&[" --rttl"]);
        }
        self.recent_list(test);
    }

    fn recent_list(&mut self, test: &Recent) {
        let saved = self.form == Form::Saved;
        if saved {
            self.text(&[" --name ", &test.name]);
        }
        match test.mask {
            Some(mask) => self.display(format_args!(" --mask {mask}")),
            None if saved => self.text(&[" --mask ", self.family.full_mask()]),
            None => {}
        }
        match test.side {
            Side::Source if saved => self.text(&[" --rsource"]),
            Side::Source => {}
            Side::Destination => self.text(&[" --rdest"]),
        }
    }

    fn optional_number(&mut self, option: &str, number: Option<u32>) {
        if let Some(number) = number {
            self.text(&[option]);
            self.number(number);
        }
    }

    fn multiport(&mut self, test: &Multiport) {
        self.negation(test.negated);
        self.text(&[match test.side {
            PortSide::Source => " --sports ",
            PortSide::Destination => " --dports ",
            PortSide::Either => " --ports ",
        }]);
        for (i, range) in test.ports.iter().enumerate() {
            self.text(&[if i > 0 { "," } else { "" }]);
            self.range(*range, ":");
        }
    }

    fn set(&mut self, test: &SetMatch) {
        self.negation(test.negated);
        self.text(&[" --match-set ", &test.set, " "]);
        self.sides(&test.sides);
        if test.return_nomatch {
            self.text(&[" --return-nomatch"]);
        }
        test.counters.iter().for_each(|counters| self.raw(counters));
    }

    pub(super) fn sides(&mut self, sides: &[Side]) {
        for (i, side) in sides.iter().enumerate() {
            let word = if *side == Side::Source { "src" } else { "dst" };
            self.text(&[if i > 0 { "," } else { "" }, word]);
        }
    }

    fn physdev(&mut self, test: &Physdev) {
        self.interface(" --physdev-in ", test.input);
        self.switch(" --physdev-is-in", test.is_in);
        self.interface(" --physdev-out ", test.output);
        self.switch(" --physdev-is-out", test.is_out);
        self.switch(" --physdev-is-bridged", test.is_bridged);
    }

    fn switch(&mut self, option: &str, switch: Option<bool>) {
        if let Some(on) = switch {
            self.negation(!on);
            self.text(&[option]);
        }
    }

    fn limit(&mut self, test: Limit) {
        let (count, unit) = test.rate();
        self.display(format_args!(" --limit {count}/{unit}"));
        if test.burst != Limit::default().burst {
            self.display(format_args!(" --limit-burst {}", test.burst));
        }
    }

    fn icmp(&mut self, option: &str, test: Icmp) {
        self.negation(test.negated);
        self.text(&[option]);
        match test.kind {
            None => self.text(&["any"]),
            Some(kind) => self.number(kind),
        }
        if (test.first_code, test.last_code) != (0, u8::MAX) {
            self.text(&["/"]);
            self.range(
                PortRange { first: test.first_code.into(), last: test.last_code.into() },
                "-",
            );
        }
    }

    fn tcp(&mut self, test: &TcpTest) {
        self.ports(&test.ports);
        if let Some(number) = self.negatable(test.option.as_ref()) {
            self.text(&[" --tcp-option "]);
            self.number(*number);
        }
        if let Some(flags) = self.negatable(test.flags.as_ref()) {
            self.text(&[" --tcp-flags "]);
            self.tcp_flags(flags.mask);
            self.text(&[" "]);
            self.tcp_flags(flags.set);
        }
    }

    fn tcp_flags(&mut self, flags: TcpFlags) {
        if flags.is_empty() {
            self.text(&["NONE"]);
        } else {
            self.flag_names(&flags);
        }
    }

    fn ports(&mut self, test: &PortTest) {
        self.port(" --sport ", test.source.as_ref());
        self.port(" --dport ", test.destination.as_ref());
    }

    fn port(&mut self, option: &str, test: Option<&Negatable<PortRange>>) {
        if let Some(range) = self.negatable(test) {
            self.text(&[option]);
            self.range(*range, ":");
        }
    }

    fn owner(&mut self, test: &Owner) {
        self.switch(" --socket-exists", test.socket);
        self.number_range(" --uid-owner ", test.uid.as_ref(), "-");
        self.number_range(" --gid-owner ", test.gid.as_ref(), "-");
        if test.supplementary {
            self.text(&[" --suppl-groups"]);
        }
    }

    fn number_range<T: itoa::Integer + PartialEq>(
        &mut self,
        option: &str,
        test: Option<&Negatable<(T, T)>>,
        separator: &str,
    ) {
        let Some((first, last)) = self.negatable(test) else { return };
        self.text(&[option]);
        self.number(*first);
        if first != last {
            self.text(&[separator]);
            self.number(*last);
        }
    }

    fn iprange(&mut self, test: &IpRange) {
        for (option, range) in
            [(" --src-range ", &test.source), (" --dst-range ", &test.destination)]
        {
            if let Some((first, last)) = self.negatable(range.as_ref()) {
                self.display(format_args!("{option}{first}-{last}"));
            }
        }
    }

    fn nfacct(&mut self, name: &str) {
        // The tool prints two blanks.
        let blank = if self.form == Form::Saved { " " } else { "" };
        self.text(&[" --nfacct-name ", blank, name]);
    }

    fn ipvs(&mut self, test: &Ipvs) {
        match self.form {
            Form::Saved => {
                self.switch(" --ipvs", test.is_ipvs);
                self.ipvs_protocol(test);
                self.host(" --vaddr ", test.address.as_ref());
                self.ipvs_port(" --vport ", test.port.as_ref());
            }
            Form::Written => {
                self.switch(" --ipvs", test.is_ipvs);
                self.host(" --vaddr ", test.address.as_ref());
                self.ipvs_protocol(test);
                self.ipvs_port(" --vport ", test.port.as_ref());
            }
        }
        self.direction(" --vdir ", test.direction);
        if let Some(method) = self.negatable(test.method.as_ref()) {
            self.text(&[
                " --vmethod ",
                match method {
                    IpvsMethod::Gate => "GATE",
                    IpvsMethod::Ipip => "IPIP",
                    IpvsMethod::Masq => "MASQ",
                },
            ]);
        }
        self.ipvs_port(" --vportctl ", test.control_port.as_ref());
    }

    fn ipvs_protocol(&mut self, test: &Ipvs) {
        let Some(protocol) = self.negatable(test.protocol.as_ref()) else { return };
        self.text(&[" --vproto "]);
        match self.form {
            Form::Saved => self.number(protocol.0),
            Form::Written => self.display(protocol),
        }
    }

    fn ipvs_port(&mut self, option: &str, port: Option<&Negatable<u16>>) {
        if let Some(port) = self.negatable(port) {
            self.text(&[option]);
            self.number(*port);
        }
    }

    fn rpfilter(&mut self, test: Rpfilter) {
        let options = [
            (test.loose, " --loose"),
            (test.use_mark, " --validmark"),
            (test.accept_local, " --accept-local"),
            (test.invert, " --invert"),
        ];
        options.iter().filter(|(on, _)| *on).for_each(|(_, option)| self.text(&[option]));
    }

    fn mac(&mut self, test: Negatable<[u8; 6]>) {
        self.negation(test.negated);
        let bytes = test.value.map(|byte| format!("{byte:02x}"));
        self.text(&[" --mac-source ", &bytes.join(":")]);
    }

    fn packet_type(&mut self, test: Negatable<PacketType>) {
        self.negation(test.negated);
        self.text(&[match test.value {
            PacketType::Unicast => " --pkt-type unicast",
            PacketType::Broadcast => " --pkt-type broadcast",
            PacketType::Multicast => " --pkt-type multicast",
        }]);
    }
}
