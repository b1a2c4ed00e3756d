#!/usr/bin/python3
"""usage: record.py OUT_DIR [SCHEDULER...]; run by record.sh, as root, in a kernel of its own.

For each scheduler a number of random set-ups (seeded, so that a set-up can be recorded again), each in a network
namespace of its own: one virtual server with 2 to 8 real servers on a dummy interface, and 200 connections from
addresses that nobody has, sent through raw sockets. What a client sends decides what IPVS thinks of a connection, so
the numbers of active and inactive connections are in our hands: SYN is inactive, ACK makes it active, FIN and RST
inactive again, and it is gone after its timeout. Servers come, change and go in between.

A set-up's steps run in four phases, 100 s apart. No timeout in use ends within 10 s of a multiple of 100 s, and a phase
takes well below that, so time can be taken as standing still in a phase and jumping between them. After each phase the kernel's
table of connections and its counters are read.

A golden file has
  scheduler, flags, protocol, family, mark (or null), persistence (s, or null), method (-m or -g), sysctl
  servers      [address, port]; steps refer to them by index
  clients, destinations   addresses, referred to by index
  connections  [client, source port, destination], in the order of their first packets
  phases       for each: steps, one string; chosen, one character for each new connection: the index of the server that it
               first went to, "-" if to none; and what the kernel had after the steps:
               picks   likewise for all connections so far, "-" also for those that it has forgotten
               states  likewise the first letters of its state, see STATES
               counts  [active, inactive] for each server, null if it is not there
Steps: "+2:1:10:5" adds server 2 with weight 1, upper threshold 10 and lower threshold 5, "=2:…" changes it, "-2" deletes
it; "s" is the first SYN (or datagram) of the next connection; "s7" "a7" "f7" "r7" are SYN, ACK, FIN and RST of
connection 7 from its client, "S7" "A7" "F7" "R7" (SYN is SYN+ACK) from the real server that it had at that time.
"""

import ctypes
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

SCHEDULERS = ["rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh", "fo", "ovf"]
SETUPS = 12
PHASES = 4
CONNECTIONS = 50
GAP = 100
SLACK = 8
# A few ticks of the kernel's clock: some connections are only forgotten at the next one.
TICKS = 0.03
# A set-up begins when there are so many seconds until another goes on.
ROOM = 2
FLAGS = {"sh": ["sh-port", "sh-fallback"], "mh": ["mh-port", "mh-fallback"]}
BY_DESTINATION = ["lblc", "lblcr", "dh"]
STATES = {"NONE": "N", "ESTABLISHED": "E", "SYN_SENT": "O", "SYN_RECV": "S", "FIN_WAIT": "F", "TIME_WAIT": "T",
          "CLOSE": "C", "CLOSE_WAIT": "W", "LAST_ACK": "L", "SYNACK": "K", "UDP": "U"}
TCP_FLAGS = {"s": 0x02, "a": 0x10, "f": 0x11, "r": 0x04, "S": 0x12, "A": 0x10, "F": 0x11, "R": 0x04}
VIP = {4: "10.96.0.1", 6: "fd00:96::1"}
VPORT = 80
libc = ctypes.CDLL(None, use_errno=True)


class Plan:
    """A set-up and its steps, all that is random; a function of scheduler and number."""

    def __init__(self, scheduler, number):
        r = self.random = random.Random(f"{scheduler}-{number}")
        self.scheduler, self.number = scheduler, number
        self.family = 6 if number % 6 == 5 else 4
        self.protocol = "udp" if number % 4 == 3 else "tcp"
        by_mark = scheduler in BY_DESTINATION and number % 6 != 0
        self.mark = 7 if by_mark else None
        self.persistence = 30 if number in (4, 10) else None
        self.method = r.choice(["-m", "-g"])
        if self.persistence:
            self.method = "-g"
        self.flags = [f for f in FLAGS.get(scheduler, []) if r.random() < 0.5]
        self.sysctl = {
            "expire_nodest_conn": r.choice([0, 1]),
            "expire_quiescent_template": r.choice([0, 1]),
            "conn_reuse_mode": r.choice([0, 1, 1, 2]),
            "lblcr_expiration": 70,
        }
        if self.persistence:
            self.sysctl["expire_nodest_conn"] = number // 10
        # only masquerading can change the port: ipvsadm silently takes the virtual server's for other methods
        port = 0 if by_mark else VPORT if self.method == "-g" else r.choice([80, 8080, 9376])
        self.servers = [[self.address(1, i), port] for i in range(r.randint(2, 8))]
        self.clients = [self.address(2, i) for i in range(r.choice([3, 20, 60]))]
        self.destinations = [self.address(3, i) for i in range(r.choice([1, 4, 15]))] if by_mark else [VIP[self.family]]
        self.thresholds = r.random() < 0.4
        self.weights = r.choice([[1], [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 4], [0, 1]])
        self.busy = r.choice([0.3, 0.6, 0.9])
        self.connections, used = [], set()
        while len(self.connections) < PHASES * CONNECTIONS:
            c = [r.randrange(len(self.clients)), r.randint(1024, 65535), r.randrange(len(self.destinations))]
            if tuple(c) not in used:
                used.add(tuple(c))
                self.connections.append(c)
        self.present, self.next, self.again = set(), 0, set()
        self.phases = [self.steps(phase) for phase in range(PHASES)]

    def address(self, kind, index):
        r = self.random
        if self.family == 6:
            prefix = {1: "fd00:10", 2: "2001:db8", 3: "fd00:97"}[kind]
            return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(
                socket.AF_INET6, f"{prefix}::{r.getrandbits(16):x}:{r.getrandbits(16):x}:{index + 1:x}"))
        prefix = {1: "10.1", 2: "198.18", 3: "10.97"}[kind]
        return f"{prefix}.{index + 1}.{r.randint(1, 254)}"

    def parameters(self, server):
        r = self.random
        upper = r.choice([0, 2, 3, 6, 10, 25]) if self.thresholds else 0
        lower = r.choice([0, 0, 1, 2]) if upper else 0
        return f"{server}:{r.choice(self.weights)}:{upper}:{lower}"

    def add(self, server):
        self.present.add(server)
        return "+" + self.parameters(server)

    def administer(self):
        r = self.random
        absent = [i for i in range(len(self.servers)) if i not in self.present]
        choice = r.random()
        if absent and choice < 0.3:
            return self.add(r.choice(absent))
        if len(self.present) > 1 and choice < 0.5 and not (self.persistence and self.sysctl["expire_nodest_conn"]):
            server = r.choice(sorted(self.present))
            self.present.remove(server)
            return f"-{server}"
        return "=" + self.parameters(r.choice(sorted(self.present)))

    def steps(self, phase):
        r, steps = self.random, []
        self.again = set()
        if phase == 0:
            order = list(range(len(self.servers)))
            r.shuffle(order)
            steps += [self.add(i) for i in order[:max(2, len(order) - r.choice([0, 0, 1]))]]
        for _ in range(CONNECTIONS):
            steps.append("s")
            self.next += 1
            steps += self.afterwards()
        return steps

    def afterwards(self):
        """What follows a new connection: mostly nothing or the handshake's end, and now and then something else."""
        r, steps = self.random, []
        last = self.next - 1
        if self.persistence:
            steps += self.established(last)
        elif self.protocol == "tcp":
            if r.random() < self.busy:
                steps += ([f"S{last}"] if r.random() < 0.3 else []) + [f"a{last}"]
            while r.random() < 0.35:
                other = r.randrange(max(0, last - 60), last + 1)
                kind = r.choice("aaffrrsSAFR")
                if kind in "s":
                    if other in self.again or other == last:
                        continue
                    self.again.add(other)
                steps.append(f"{kind}{other}")
        elif r.random() < 0.1 and last > 0:
            steps.append(f"s{r.randrange(last)}")
        if r.random() < 0.06:
            steps.append(self.administer())
        return steps


    def established(self, last):
        """Connections of persistent clients are established and closed at once, so that none ends when its template might:
        which of them is first depends on the kernel's timer wheel. Likewise, no server is deleted in such a set-up
        with expire_nodest_conn: which templates go with it depends on a random hash."""
        r, steps = self.random, [f"a{last}"]
        while r.random() < 0.35:
            other = r.randrange(max(0, last - 60), last + 1)
            kind = r.choice("afrs")
            steps.append(f"{kind}{other}")
            if kind == "s":
                steps.append(f"a{other}")
        return steps


class Overhead(Plan):
    """What an active connection costs: 128 inactive ones on a server of weight 1 are as much as one active on a server of
    weight 2, if it is 256 times an inactive one and not 257 times. Server 1 is the first in the list and wins ties."""

    def __init__(self):
        super().__init__("wlc", 0)
        self.number, self.method = "overhead", "-g"
        self.servers = [[self.address(1, i), VPORT] for i in range(2)]
        full = len(self.connections)
        steps = ["+0:1:0:0", *(step for n in range(128) for step in ("s", f"a{n}", f"f{n}"))]
        steps += ["=0:0:0:0", "+1:2:0:0", "s", "a128", "=0:1:0:0", *["s"] * (full - 129)]
        self.phases = [steps] + [[] for _ in range(PHASES - 1)]


class TooLate(Exception):
    """The machine is too busy: a phase ended where timeouts might have."""


class Recorder:
    """A set-up in a namespace of its own."""

    def __init__(self, plan, attempt):
        self.plan = plan
        self.name = f"{plan.scheduler}-{plan.number}-{attempt}"
        run("ip", "netns", "add", self.name)
        self.enter()
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "dummy0", "type", "dummy")
        run("ip", "link", "set", "dummy0", "up")
        run("ip", "route", "add", "default", "dev", "dummy0")
        run("ip", "address", "add", "fd00::ffff/16", "dev", "dummy0", "nodad")
        run("ip", "-6", "route", "add", "default", "dev", "dummy0")
        for key, value in plan.sysctl.items():
            if os.path.exists(f"/proc/sys/net/ipv4/vs/{key}"):
                open(f"/proc/sys/net/ipv4/vs/{key}", "w").write(str(value))
        run("ipvsadm", "--set", "900", "20", "20")
        run("ipvsadm", "-A", *self.service(), "-s", plan.scheduler,
            *(["-b", ",".join(plan.flags)] if plan.flags else []),
            *(["-p", str(plan.persistence)] if plan.persistence else []))
        family = socket.AF_INET6 if plan.family == 6 else socket.AF_INET
        self.client = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.server = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
        if plan.mark:
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, plan.mark)
        self.next, self.phases, self.chosen, self.start = 0, [], "", None

    def enter(self):
        fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        if libc.setns(fd, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(fd)

    def service(self):
        plan = self.plan
        if plan.mark:
            return ["-f", str(plan.mark)] + (["-6"] if plan.family == 6 else [])
        return ["-u" if plan.protocol == "udp" else "-t", endpoint(VIP[plan.family], VPORT)]

    def due(self):
        """When the next phase is to begin."""
        return self.start + len(self.phases) * GAP

    def phase(self):
        self.enter()
        self.start = self.start if self.start is not None else time.monotonic()
        due, steps = self.due(), self.plan.phases[len(self.phases)]
        for step in steps:
            self.step(step)
        self.choose()
        self.phases.append({"steps": " ".join(steps), "chosen": self.chosen, **self.observe()})
        self.chosen = ""
        late = time.monotonic() - due
        if late > SLACK:
            raise TooLate(f"{self.name}: phase {len(self.phases)} ended {late:.1f} s after it was due, again")

    def step(self, step):
        kind, rest = step[0], step[1:]
        if kind in "+=-":
            if kind == "-":
                self.choose()
            self.administer(kind, rest)
            return time.sleep(TICKS if kind == "-" and self.plan.sysctl["expire_nodest_conn"] else 0)
        number = int(rest) if rest else self.next
        if number < self.next and kind == "s":
            self.choose()
            self.send(kind, number)
            return time.sleep(TICKS)
        self.next = max(self.next, number + 1)
        if kind.isupper():
            picks = self.observe()["picks"]
            if picks[number] == "-":
                return None
            return self.send_reply(kind, number, int(picks[number]))
        return self.send(kind, number)

    def administer(self, kind, rest):
        values = rest.split(":")
        command = ["ipvsadm", {"+": "-a", "=": "-e", "-": "-d"}[kind], *self.service(), "-r",
                   endpoint(*self.plan.servers[int(values[0])])]
        if kind != "-":
            command += [self.plan.method, "-w", values[1], "-x", values[2], "-y", values[3]]
        run(*command)

    def send(self, kind, number):
        client, port, destination = self.plan.connections[number]
        self.transmit(self.client, kind, self.plan.clients[client], port, self.plan.destinations[destination], VPORT)

    def send_reply(self, kind, number, server):
        client, port, _ = self.plan.connections[number]
        address, sport = self.plan.servers[server]
        self.transmit(self.server, kind, address, sport or VPORT, self.plan.clients[client], port)

    def transmit(self, raw, kind, source, sport, destination, dport):
        if self.plan.protocol == "udp":
            protocol, data = 17, struct.pack("!HHHH", sport, dport, 8, 0)
        else:
            protocol, data = 6, struct.pack("!HHLLBBHHH", sport, dport, 1, 1, 5 << 4, TCP_FLAGS[kind], 8192, 0, 0)
        family = socket.AF_INET6 if self.plan.family == 6 else socket.AF_INET
        source, target = socket.inet_pton(family, source), socket.inet_pton(family, destination)
        if self.plan.family == 6:
            header = struct.pack("!LHBB16s16s", 6 << 28, len(data), protocol, 64, source, target)
        else:
            header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 1, 0, 64, protocol, 0, source, target)
        try:
            raw.sendto(header + data, (destination, 0))
        except OSError:
            pass  # what the kernel refuses or drops shows in its table

    def choose(self):
        """Notes where new connections went, before they can be forgotten or go elsewhere."""
        first = number_of_connections(self.phases) + len(self.chosen)
        self.chosen += self.observe()["picks"][first:]

    def observe(self):
        entries, templates = self.entries()
        # the kernel's file may skip entries when others are forgotten while it is read
        while (again := self.entries()) != (entries, templates):
            entries, templates = again
        picks, states = "", ""
        for client, port, destination in self.plan.connections[:self.next]:
            key = (self.plan.clients[client], port, self.plan.destinations[destination])
            server, state = entries.get(key, ("-", "-"))
            picks += server
            states += state
        return {"picks": picks, "states": states, "templates": templates, "counts": self.counts()}

    def entries(self):
        entries, templates, index = {}, 0, {a: str(i) for i, (a, _) in enumerate(self.plan.servers)}
        for line in open("/proc/net/ip_vs_conn").read().splitlines()[1:]:
            protocol, client, cport, destination, vport, server, _, state, _ = line.split()[:9]
            if int(cport, 16) == 0:
                templates += vport != "FFFF"
                continue
            entries[(address(client), int(cport, 16), address(destination))] = (index[address(server)], STATES[state])
        return entries, templates

    def counts(self):
        counts = [None] * len(self.plan.servers)
        index = {a: i for i, (a, _) in enumerate(self.plan.servers)}
        for line in open("/proc/net/ip_vs").read().splitlines():
            words = line.split()
            if words[0] == "->" and words[1] != "RemoteAddress:Port":
                counts[index[address(words[1].rsplit(":", 1)[0])]] = [int(words[4]), int(words[5])]
        return counts

    def golden(self):
        plan = self.plan
        return {
            "kernel": os.uname().release, "scheduler": plan.scheduler, "flags": plan.flags, "protocol": plan.protocol,
            "family": plan.family, "mark": plan.mark, "persistence": plan.persistence, "method": plan.method,
            "sysctl": plan.sysctl, "servers": plan.servers, "clients": plan.clients,
            "destinations": plan.destinations, "connections": plan.connections, "phases": self.phases,
        }


def number_of_connections(phases):
    return sum(len(phase["chosen"]) for phase in phases)


def address(text):
    text = text.strip("[]")
    if ":" in text:
        return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
    return socket.inet_ntoa(bytes.fromhex(text))


def endpoint(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}")


def write(path, golden):
    """One line for each member and phase, short and yet fit for a diff."""
    phases = golden.pop("phases")
    lines = [f" {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in golden.items()]
    lines.append(' "phases": [\n' + ",\n".join("  " + json.dumps(p, separators=(",", ":")) for p in phases) + "\n ]")
    with open(path, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    out, chosen = sys.argv[1], sys.argv[2:] or SCHEDULERS
    os.makedirs("/run/netns", exist_ok=True)
    waiting = [Plan(scheduler, number) for scheduler in chosen for number in range(SETUPS)]
    waiting += [Overhead()] if "wlc" in chosen else []
    running, attempts = [], 0
    while waiting or running:
        running.sort(key=Recorder.due)
        if waiting and (not running or running[0].due() > time.monotonic() + ROOM):
            attempts += 1
            recorder = Recorder(waiting.pop(0), attempts)
        else:
            recorder = running.pop(0)
            time.sleep(max(0, recorder.due() - time.monotonic()))
        try:
            recorder.phase()
        except TooLate as late:
            print(late, flush=True)
            waiting.append(recorder.plan)
            continue
        if len(recorder.phases) < PHASES:
            running.append(recorder)
        else:
            write(f"{out}/{recorder.plan.scheduler}-{recorder.plan.number}.json", recorder.golden())


main()
