#!/bin/bash
# usage: regenerate.sh NAME [VERSION...]        e.g. regenerate.sh random-101
#
# Records a cluster of snapshots/corpus again, from nothing, under each release and in each mode that is stored, and
# compares. A file may be the same byte for byte; or the same lines in another order, as kube-proxy goes through
# maps of Go and the kernel through hash tables; or have other lines, where Services claim the same address and port.
# Whether that is one of the freedoms that the real thing has the tests of the renderer decide, which hold the new
# recording to what is rendered of the objects, as they do the stored one. Ends with 0 if all are the same. WORK: a
# folder that keeps the new recordings.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
root=$(dirname "$here")
name=$1
shift
stored=$root/snapshots/corpus/$name
[ -d "$stored" ] || { echo "regenerate.sh: no $name in snapshots/corpus" >&2; exit 2; }
versions=("$@")
[ $# -gt 0 ] || versions=($(cd "$stored" && printf '%s\n' */ | tr -d /))
[ -n "${WORK:-}" ] || { WORK=$(mktemp -d); trap 'rm -rf "$WORK"' EXIT; }
new=$WORK/corpus/$name
mkdir -p "$new"
cp "$stored"/{cluster,config}.yaml "$new"
failed=0

main() {
  for version in "${versions[@]}"; do
    for mode in nftables iptables ipvs; do
      [ ! -d "$stored/$version/$mode" ] || regenerate "$version" "$mode"
    done
  done
  rendered_as_recorded
  [ $failed = 0 ] && echo "$name: regenerated, the same"
  return $failed
}

regenerate() {
  local stored=$stored/$1/$2 new=$new/$1/$2 start=$SECONDS
  "$here/record.sh" "$name" "$1" "$2" "$new"
  echo "$name $1 $2: recorded in $((SECONDS - start)) s"
  for file in $(ls "$stored"); do same_file "$stored/$file" "$new/$file"; done
  if [ "$2" = nftables ]; then
    mkdir -p "$WORK/nftables/kube-proxy/$name-$1"
    cp "$new"/nft.{txt,json} "$WORK/nftables/kube-proxy/$name-$1"
  fi
}

same_file() {
  local file=${1#"$root/"}
  if cmp -s "$1" "$2"; then
    echo "  byte for byte          $file"
  elif difference=$(diff <(canonical "$1") <(canonical "$2")); then
    echo "  lines in another order $file"
  else
    echo "  other lines            $file"
    echo "$difference" | head -n 20
    # No test looks at the addresses of other links than kube-ipvs0.
    [ "${file##*/}" != addr.txt ] || failed=1
  fi
}

# Link-local addresses come of the random addresses of links.
canonical() { sed '/ inet6 fe80::/d' "$1" | sort; }

rendered_as_recorded() {
  export KPS_SNAPSHOTS=$WORK
  local cargo=(cargo test --quiet --manifest-path "$root/Cargo.toml")
  for mode in nftables iptables ipvs; do
    compgen -G "$new/*/$mode" > /dev/null || continue
    passes "rules of $mode are those that are rendered" "${cargo[@]}" -p kps-render --test "${mode}_corpus"
  done
  if [ -d "$WORK/nftables" ]; then
    passes "nft.json says what nft.txt says" "${cargo[@]}" -p kps-ruleset --test nftables_json -- of_kube_proxy
  fi
}

passes() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "  $what"
  else
    echo "  NOT SO: $what"
    echo "$output" | tail -n 40
    failed=1
  fi
}

main
