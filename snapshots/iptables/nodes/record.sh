#!/bin/sh
# Loads rules in the style of other programs on a node with the real tools and records what they
# print. Each runs in a network namespace of its own. Usage, as root: record.sh
# NAME.rules is what is loaded; names that end in 6 are for IPv6.
set -eu
cd "$(dirname "$0")"

load() {
  name=$1 variant=$2 tool=iptables
  case $name in *6) tool=ip6tables ;; esac
  ip link set lo up
  for set in cali40masq-ipam-pools cali40all-ipam-pools cali40all-hosts-net trusted cali40s:abcdefghijklmnopqrstu; do
    ipset create "$set" hash:net
  done
  ipset create blocked hash:ip,port
  ipset create seen hash:ip timeout 600
  "$tool-$variant-restore" < "$name.rules"
  "$tool-$variant-save" > "$name.$variant.save"
  "$tool-$variant-save" -c > "$name.$variant.counters.save"
  "$tool-$variant" -t filter -S > "$name.$variant.filter.list"
  "$tool-$variant" -t filter -S -v > "$name.$variant.filter.counters.list"
  if [ "$variant" = nft ]; then
    nft list ruleset > "../../iptables-nft/$name.txt" 2> "../../iptables-nft/$name.warnings.txt"
    cat "../../iptables-nft/$name.warnings.txt" "../../iptables-nft/$name.txt" > "../../iptables-nft/$name.pasted.txt"
    rm "../../iptables-nft/$name.warnings.txt"
  fi
}

if [ $# -eq 2 ]; then
  load "$1" "$2"
else
  for rules in *.rules; do
    for variant in nft legacy; do unshare -n sh ./record.sh "${rules%.rules}" "$variant"; done
  done
fi
