#!/bin/bash
# usage: record.sh [OUT_DIR] [SCHEDULER...]
#
# Records what the schedulers of a real kernel do, as golden files for the tests of sim: boots a user-mode Linux kernel
# (Debian packages user-mode-linux, ipvsadm, iproute2, python3, gcc) as an ordinary process, with this machine's file
# system as its root, and runs record.py in it. Takes six minutes at least for waiting, and longer on a busy machine.
set -eu
HERE=$(dirname "$(realpath "$0")")
OUT=$(realpath -m "${1:-$HERE/../../snapshots/schedulers}")
shift || true
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$OUT"
gcc -shared -fPIC -O2 -o "$WORK/xstate.so" "$HERE/xstate.c" -ldl

cat > "$WORK/init" <<EOF
#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/lock /run/modules/lib/modules
[ -c /dev/null ] || mknod -m 666 /dev/null c 1 3
ln -s /usr/lib/uml/modules/\$(uname -r) /run/modules/lib/modules/
for module in dummy ip_vs ip_vs_{rr,wrr,lc,wlc,lblc,lblcr,dh,sh,sed,nq,fo,ovf,mh}; do modprobe -d /run/modules \$module; done
/usr/bin/python3 "$HERE/record.py" "$OUT" $* > "$WORK/log" 2>&1
echo \$? > "$WORK/code"
poweroff -f
EOF
chmod +x "$WORK/init"
LD_PRELOAD="$WORK/xstate.so" TMPDIR=${TMPDIR:-/dev/shm} timeout 3600 linux.uml mem=768M rootfstype=hostfs rw init="$WORK/init" \
	con=null con0=null,fd:1 quiet < /dev/null > "$WORK/console" 2>&1 || true
cat "$WORK/log" || cat "$WORK/console"
exit "$(cat "$WORK/code" || echo 125)"
