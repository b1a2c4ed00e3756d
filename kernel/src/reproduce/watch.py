# Prints the packets that come in, one a line: `watch.py far` those that left the node by any link,
# `watch.py node PROTOCOL` those that the node itself gets.
import select, socket, struct, sys

NAMES = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6", 132: "SCTP"}


def say(where, protocol, source, target, bytes):
    if protocol in (1, 58) and bytes[0] in ((3,) if protocol == 1 else (1,)):
        what = f"{NAMES[protocol]} error {bytes[0]}/{bytes[1]} from {source} to {target}"
    elif protocol in (1, 58):
        if bytes[0] not in (8, 128):
            return
        what = f"{NAMES[protocol]} {source} > {target}"
    elif protocol in NAMES:
        if protocol == 6 and bytes[13] & 0x16 == 0x12:
            return
        ports = struct.unpack("!HH", bytes[:4])
        reset = " RST" if protocol == 6 and bytes[13] & 4 else ""
        what = f"{NAMES[protocol]} {source} port {ports[0]} > {target} port {ports[1]}{reset}"
    else:
        return
    print(f"{where}: {what}", flush=True)


def far():
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    print("watching", flush=True)
    while True:
        bytes, (link, ethertype, direction, *_) = wire.recvfrom(2048)
        if direction == socket.PACKET_OUTGOING or link == "lo":
            continue
        where = f"left the node by {link}"
        if ethertype == 0x0800:
            v4, start = socket.AF_INET, (bytes[0] & 15) * 4
            source, target = (socket.inet_ntop(v4, bytes[at : at + 4]) for at in (12, 16))
            say(where, bytes[9], source, target, bytes[start:])
        elif ethertype == 0x86DD:
            source, target = (
                socket.inet_ntop(socket.AF_INET6, bytes[at : at + 16]) for at in (8, 24)
            )
            say(where, bytes[6], source, target, bytes[40:])


def node(protocol):
    v4 = [socket.socket(socket.AF_INET, socket.SOCK_RAW, p) for p in {protocol, 1}]
    v6 = {p: socket.socket(socket.AF_INET6, socket.SOCK_RAW, p) for p in {protocol, 58}}
    for ear in v6.values():
        ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    print("watching", flush=True)
    while True:
        for ear in select.select([*v4, *v6.values()], [], [])[0]:
            bytes, notes, _, source = ear.recvmsg(2048, 256)
            if ear in v4:
                start = (bytes[0] & 15) * 4
                target = socket.inet_ntop(socket.AF_INET, bytes[16:20])
                say("the node itself got", bytes[9], source[0], target, bytes[start:])
            else:
                target = socket.inet_ntop(socket.AF_INET6, notes[0][2][:16])
                number = next(p for p, other in v6.items() if other is ear)
                say("the node itself got", number, source[0], target, bytes)


far() if sys.argv[1] == "far" else node(int(sys.argv[2]))
