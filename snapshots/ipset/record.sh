#!/bin/sh
# Makes sets of many types and records what ipset prints of them. Needs root; runs in a network
# namespace of its own. Usage: record.sh
set -eu
cd "$(dirname "$0")"
[ "${1-}" = inside ] || exec unshare -n sh ./record.sh inside

ipset create ports hash:ip,port family inet hashsize 1024 maxelem 65536
for entry in 10.0.0.1,tcp:80 10.0.0.2,udp:53-55 10.0.0.3,icmp:3/4 10.0.0.3,icmp:200/3 10.0.0.4,sctp:9 10.0.0.5,gre:0; do
  ipset add ports "$entry"
done
ipset create nets hash:net comment counters
ipset add nets 10.0.0.0/8 comment "it is a 'net'"
ipset add nets 10.1.0.0/16 nomatch packets 3 bytes 4
ipset create source hash:ip,port,net
ipset add source 1.2.3.4,tcp:80,10.0.0.0/8
ipset add source 1.2.3.4,tcp:80,1.1.1.1
ipset create loop hash:ip,port,ip
ipset add loop 1.2.3.4,tcp:80,1.2.3.4
ipset create nodeports bitmap:port range 0-65535
ipset add nodeports 30000-30002
ipset create block bitmap:ip range 10.0.0.0/24 netmask 28
ipset add block 10.0.0.17
ipset create cards bitmap:ip,mac range 10.0.0.0-10.0.0.9
ipset add cards 10.0.0.1,00:11:22:AA:BB:CC
ipset create netports hash:net,port
ipset add netports 10.0.0.0/8,tcp:80
ipset create links hash:net,iface
ipset add links 10.0.0.0/8,eth0
ipset add links 0.0.0.0/0,physdev:eth1
ipset create six hash:ip,port family inet6
ipset add six fd00::1,tcp:80
ipset add six fd00::1,icmpv6:echo-request
ipset create sixnets hash:net family inet6
ipset add sixnets fd00::/64
ipset create masked hash:ip netmask 24 maxelem 5 hashsize 64
ipset add masked 10.0.0.9
ipset create forever hash:ip timeout 0
ipset add forever 1.1.1.1
ipset create list list:set size 4
ipset add list nets
ipset add list ports
ipset save > save.txt
ipset list > list.txt
