#!/bin/bash
# usage: lab.sh NAME [MODE...]        e.g. lab.sh random-101 nftables
#
# Sends the packets of snapshots/lab/NAME again: has the real kube-proxy 1.37.2 install its rules anew, puts them on a
# node with the routes of the recording, and compares for each flow what the recording says, what the walk of these
# rules says, and what a kernel does with a packet. Ends with 0 if they agree. WORK: a folder that keeps the dumps.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
root=$(dirname "$here")
name=$1 flows=$root/snapshots/lab/$1
shift
[ -d "$flows" ] || { echo "lab.sh: no $name in snapshots/lab" >&2; exit 2; }
[ $# -gt 0 ] || set -- nftables iptables ipvs
[ -n "${WORK:-}" ] || { WORK=$(mktemp -d); trap 'rm -rf "$WORK"' EXIT; }
cargo build --quiet --manifest-path "$root/Cargo.toml" -p kps-cli -p kps-kernel
sim=${CARGO_TARGET_DIR:-$root/target}/debug/sim
failed=0
for mode in "$@"; do
  dump=$WORK/$name/$mode
  "$here/record.sh" "$name" 1.37.2 "$mode" "$dump"
  cp "$flows/route.txt" "$dump"
  printf '%s = %s\n' net.ipv4.ip_forward 1 net.ipv6.conf.all.forwarding 1 net.ipv4.conf.all.rp_filter 0 \
    >> "$dump/sysctl.txt"
  echo "$name $mode"
  "$sim" walk --dump "$dump" --flows "$flows/$mode.jsonl" --expect > /dev/null || failed=1
  "$sim" kernel --dump "$dump" --flows "$flows/$mode.jsonl" || failed=1
done
exit $failed
