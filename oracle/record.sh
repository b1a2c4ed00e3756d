#!/bin/bash
# usage: record.sh CLUSTER VERSION MODE OUT        e.g. record.sh random-101 1.37.2 ipvs /tmp/random-101
#
# Records what the real kube-proxy of a release installs on a node for a cluster: builds it, runs it against the
# stand-in for the API server, waits until it has synced, and writes to OUT what the tools print, under the names
# that `sim` reads: nft.txt, nft.json, iptables-save.txt, ip6tables-save.txt, ipset-save.txt, ipvsadm-save.txt,
# addr.txt; and sysctl.txt with the sysctls that kube-proxy changed, config.yaml, kube-proxy.log.
#
# CLUSTER: a folder with cluster.yaml and perhaps config.yaml, or the name of one in snapshots/corpus or
# snapshots/faults. MODE: nftables, iptables, or ipvs, which runs in user-mode Linux. Variables: the node is NODE
# (node-a), with NODE_ADDRESSES (192.0.2.10/24 2001:db8:1::a/64) on eth0, and waits PATIENCE seconds at most (600).
# EVENTS is a file of changes, a list of `apply: OBJECT` and `delete: {kind, namespace, name}`, which are made after
# that one by one, each recorded in OUT/1, OUT/2 and so on when kube-proxy has synced it.
#
# Debian packages: nftables, iptables, iproute2, curl; for ipvs ipset, ipvsadm and what uml.sh names. Go and Rust.
set -euo pipefail
[ $# = 4 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
root=$(dirname "$here")
version=$2 mode=$3 out=$4
case $mode in nftables | iptables | ipvs) ;; *) echo "record.sh: no mode $mode" >&2; exit 2 ;; esac
for cluster in "$1" "$root/snapshots/corpus/$1" "$root/snapshots/faults/$1" ''; do
  [ ! -f "$cluster/cluster.yaml" ] || break
done
[ -n "$cluster" ] || { echo "record.sh: no cluster.yaml in $1, which is no name in snapshots either" >&2; exit 2; }
mkdir -p "$out"
[ -z "${EVENTS:-}" ] || export EVENTS=$(realpath "$EVENTS")

kube_proxy=$("$here/build.sh" "$version")
cargo build --quiet --manifest-path "$root/Cargo.toml" -p kps-stub-api
stub_api=$(realpath "${CARGO_TARGET_DIR:-$root/target}/debug/stub-api")
node=("$here/node.sh" "$kube_proxy" "$stub_api" "$mode" "$(realpath "$cluster")" "$(realpath "$out")")
if [ "$mode" = ipvs ]; then
  exec "$here/uml.sh" "${node[@]}"
fi
# The variant of iptables that distributions have, whichever this machine prefers; and a lock of its own.
[ "$(id -u)" = 0 ] && rights=() || rights=(--user --map-root-user)
exec unshare "${rights[@]}" --net --mount bash -c '
  set -eu
  mount -t tmpfs tmpfs /run
  mkdir /run/bin
  for family in ip ip6; do
    for part in "" -save -restore; do ln -s /usr/sbin/xtables-nft-multi /run/bin/${family}tables$part; done
  done
  PATH=/run/bin:$PATH exec "$@"' - "${node[@]}"
