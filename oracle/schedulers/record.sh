#!/bin/bash
# usage: record.sh [OUT_DIR] [SCHEDULER...]
#
# Records what the schedulers of a real kernel do, as golden files for the tests of sim: runs record.py in user-mode
# Linux (Debian packages ipvsadm, iproute2, python3, and what ../uml.sh names). Takes six minutes at least for
# waiting, and longer on a busy machine.
set -eu
HERE=$(dirname "$(realpath "$0")")
OUT=$(realpath -m "${1:-$HERE/../../snapshots/schedulers}")
shift || true
mkdir -p "$OUT"
UML_TIMEOUT=3600 exec "$HERE/../uml.sh" /usr/bin/python3 "$HERE/record.py" "$OUT" "$@"
