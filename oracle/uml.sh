#!/bin/bash
# usage: uml.sh COMMAND [ARG...]
#
# Runs a command as root in user-mode Linux, a kernel that runs as an ordinary process and has what hosts often
# lack: IPVS with its schedulers, dummy links, ipset. Its root is this machine's file system; the command finds
# this folder and this environment, prints here, and its code is ours (125: the kernel did not get so far).
#
# Debian packages: user-mode-linux, kmod, gcc. UML_MEMORY (1024M) and UML_TIMEOUT (seconds, 900) may be set.
# iptables is the legacy variant there, since this kernel's nf_tables has no family ip.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
command -v linux.uml > /dev/null || { echo "uml.sh: linux.uml is missing: install user-mode-linux" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -shared -fPIC -O2 -o "$work/xstate.so" "$here/schedulers/xstate.c" -ldl
printf '%q ' "$@" > "$work/command"
export -p > "$work/environment"
mkdir "$work/bin"
for family in ip ip6; do
  for part in '' -save -restore; do ln -s /usr/sbin/xtables-legacy-multi "$work/bin/${family}tables$part"; done
done

cat > "$work/init" <<E2
#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/lock /run/netns /run/modules/lib/modules
[ -c /dev/null ] || mknod -m 666 /dev/null c 1 3
ln -s /usr/lib/uml/modules/\$(uname -r) /run/modules/lib/modules/
# The kernel calls this for modules that rules, links and schedulers need, as on any node.
printf '#!/bin/sh\nexec /sbin/modprobe -d /run/modules -q "\$@"\n' > /run/modprobe
chmod +x /run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
for module in ip_tables ip6_tables ip_set ip_vs ip_vs_rr nf_conntrack dummy veth; do
  modprobe -d /run/modules -q \$module
done
. "$work/environment" 2> /dev/null
export PATH="$work/bin:\$PATH"
unset LD_PRELOAD
ip link set lo up
cd "$(pwd)"
bash "$work/command" > "$work/output" 2>&1 < /dev/null
echo \$? > "$work/code"
sync
poweroff -f
E2
chmod +x "$work/init"
LD_PRELOAD="$work/xstate.so" TMPDIR=${UML_TMPDIR:-/dev/shm} timeout "${UML_TIMEOUT:-900}" \
  linux.uml "mem=${UML_MEMORY:-1024M}" rootfstype=hostfs rw "init=$work/init" con=null con0=null,fd:1 quiet \
  < /dev/null > "$work/console" 2>&1 || true
cat "$work/output" 2> /dev/null || true
[ -s "$work/code" ] || { cat "$work/console" >&2; echo "uml.sh: the command did not end" >&2; exit 125; }
exit "$(cat "$work/code")"
