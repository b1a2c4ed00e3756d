#!/bin/bash
# usage: node.sh KUBE_PROXY STUB_API MODE CLUSTER OUT
#
# The part of record.sh that runs on the node, which is the network namespace that it finds itself in: makes the
# node's link, has kube-proxy sync the objects of the folder CLUSTER, and writes what the node then has to OUT.
set -euo pipefail
kube_proxy=$1 stub_api=$2 mode=$3 cluster=$4 out=$5
metrics=http://127.0.0.1:10249/metrics
patience=$((SECONDS + ${PATIENCE:-600}))

main() {
  make_links
  sysctls > "$out/before"
  serve_objects
  start_kube_proxy
  await delivered > /dev/null
  dump_synced "$out"
  sysctls > "$out/after"
  changed > "$out/sysctl.txt"
  rm "$out/before" "$out/after"
  for ((step = 1; ; step++)); do
    next_event || break
    mkdir -p "$out/$step"
    dump_synced "$out/$step"
  done
}

make_links() {
  ip link set lo up
  ip link add eth0 address 02:00:00:00:00:0a type veth peer name uplink address 02:00:00:00:00:01
  ip link set eth0 up
  ip link set uplink up
  for address in ${NODE_ADDRESSES:-192.0.2.10/24 2001:db8:1::a/64}; do
    case $address in *:*) ip addr add "$address" dev eth0 nodad ;; *) ip addr add "$address" dev eth0 ;; esac
  done
  ip route add default dev eth0
  ip -6 route add default dev eth0
}

serve_objects() {
  : > "$out/api"
  "$stub_api" --listen 127.0.0.1:0 ${EVENTS:+--events "$EVENTS"} "$cluster/cluster.yaml" \
    > "$out/api" 2> "$out/api.log" &
  started+=($!)
  api=$(await sed -n 's/^ready //p' "$out/api")
  rm "$out/api"
}

start_kube_proxy() {
  kubeconfig > "$out/kubeconfig"
  configuration > "$out/config.yaml"
  "$kube_proxy" --config "$out/config.yaml" --v=2 > "$out/kube-proxy.log" 2>&1 &
  started+=($!)
}

kubeconfig() {
  cat << END
apiVersion: v1
kind: Config
clusters: [{name: stub, cluster: {server: "http://$api"}}]
contexts: [{name: stub, context: {cluster: stub, user: nobody}}]
current-context: stub
users: [{name: nobody, user: {}}]
END
}

# Prints what CLUSTER says, and of what it does not say whatever it takes to run here. The conntrack settings
# keep kube-proxy off sysctls that a namespace cannot change.
configuration() {
  local given=$cluster/config.yaml
  [ -f "$given" ] || given=/dev/null
  cat "$given"
  while read -r line; do
    grep -q "^${line%%:*}:" "$given" || echo "$line"
  done << END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $mode
hostnameOverride: ${NODE:-node-a}
clientConnection: {kubeconfig: $out/kubeconfig, qps: 1000, burst: 1000}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
metricsBindAddress: 127.0.0.1:10249
END
}

# Makes the next of the changes, if there is one, and waits until kube-proxy has taken it in: it counts an event of
# a Service once for each family, and one of an EndpointSlice once.
next_event() {
  local taken given
  taken=$(taken_in) given=$(given)
  curl -sf -X POST "http://$api/control/next" > /dev/null || return 1
  await has_taken_in $((taken + $(given) - given)) > /dev/null
}

# Prints what the stand-in says once kube-proxy has its four watches open and each was given all there is.
delivered() { curl -sf --max-time 5 "http://$api/control/delivered?watches=4"; }

given() {
  await delivered | sed -E 's/.*"EndpointSlice":([0-9]+).*"Service":([0-9]+).*/\1 \2/' |
    awk '{ print $1 + 2 * $2 }'
}

taken_in() {
  curl -s "$metrics" |
    awk '/^kubeproxy_sync_proxy_rules_(service|endpoint)_changes_total/ { sum += $2 } END { print sum + 0 }'
}

has_taken_in() { [ "$(taken_in)" -lt "$1" ] || echo yes; }

# Prints when each family was synced last, if both have been since they were last asked to.
synced() {
  { curl -s "$metrics" || true; } | awk '
    match($1, /IPv[46]/) { family = substr($1, RSTART, RLENGTH) }
    /^kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds/ { queued[family] = $2 }
    /^kubeproxy_sync_proxy_rules_last_timestamp_seconds/ { synced[family] = $2 }
    function up_to_date(family) { return synced[family] > 0 && synced[family] >= queued[family] }
    END { if (up_to_date("IPv4") && up_to_date("IPv6")) print synced["IPv4"], synced["IPv6"] }'
}

# Runs a command again and again until it prints something, and prints that.
await() {
  local printed
  until printed=$("$@") && [ -n "$printed" ]; do
    for process in "${started[@]}"; do
      kill -0 "$process" 2> /dev/null || fail "a process ended while we waited for: $*"
    done
    [ $SECONDS -lt $patience ] || fail "nothing came in time of: $*"
    sleep 0.1
  done
  echo "$printed"
}

fail() {
  tail -n 20 "$out"/*.log >&2
  echo "node.sh: $*" >&2
  exit 1
}

# Counters, dates and the random seeds of sets say nothing about what kube-proxy asked for.
clean() { sed -E '/^# (Generated|Completed)/d; s/ initval 0x[0-9a-f]+//; s/\[[0-9]+:[0-9]+\]/[0:0]/'; }

# A dump counts if no sync was asked for or ran while it was made.
dump_synced() {
  local seen=no
  until [ "$seen" = "$(synced)" ]; do
    seen=$(await synced)
    dump "$1"
  done
}

dump() {
  local out=$1
  case $mode in
    nftables)
      nft list ruleset > "$out/nft.txt"
      nft -j list ruleset > "$out/nft.json"
      ;;
    iptables | ipvs)
      iptables-save | clean > "$out/iptables-save.txt"
      ip6tables-save | clean > "$out/ip6tables-save.txt"
      ;;
  esac
  if [ "$mode" = ipvs ]; then
    ipset save | clean > "$out/ipset-save.txt"
    ipvsadm-save -n > "$out/ipvsadm-save.txt"
  fi
  ip -o addr show > "$out/addr.txt"
}

# Some cannot be read, which is none of our business.
sysctls() { (cd /proc/sys && grep -rs . net || true) | LC_ALL=C sort -t : -k 1,1; }

# Prints the sysctls that were there before with another value, as sysctl does: `net.ipv4.ip_forward = 1`.
changed() {
  join -t : "$out/before" "$out/after" |
    awk -F : '$2 != $3 && !/nf_conntrack_count/ { gsub("/", ".", $1); print $1 " = " $3 }'
}

started=()
trap 'kill "${started[@]}" 2> /dev/null; wait' EXIT
main
