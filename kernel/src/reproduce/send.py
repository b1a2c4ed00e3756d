# Sends the first packet of a flow, and prints what its client is told:
# `send.py PROTOCOL SOURCE SOURCE-PORT DESTINATION PORT PAYLOAD`. SOURCE may be `any`. PAYLOAD, in
# hexadecimal, follows the UDP header, or for protocols other than TCP and UDP the IP header.
import socket, sys

protocol, source, source_port, destination, port, payload = sys.argv[1:7]
family = socket.AF_INET6 if ":" in destination else socket.AF_INET
kinds = {"6": socket.SOCK_STREAM, "17": socket.SOCK_DGRAM}
kind = kinds.get(protocol, socket.SOCK_RAW)
raw = kind == socket.SOCK_RAW
client = socket.socket(family, kind, int(protocol))
client.settimeout(0.5)
try:
    unset = "::" if family == socket.AF_INET6 else "0.0.0.0"
    client.bind((unset if source == "any" else source, 0 if raw else int(source_port)))
    client.connect((destination, 0 if raw else int(port)))
    if kind != socket.SOCK_STREAM:
        client.send(bytes.fromhex(payload))
    if kind == socket.SOCK_DGRAM:
        client.recv(1)
    print("the client is answered" if not raw else "sent")
except TimeoutError:
    print("the client is told nothing")
except OSError as error:
    print(f"the client is told: {error.strerror}")
