#!/bin/bash
# usage: build.sh VERSION [CACHE]          e.g. build.sh 1.37.2
#
# Builds the unmodified kube-proxy of a release from its Go module, as CACHE/kube-proxy-VERSION, and prints that
# path. CACHE is $KUBE_PROXY_CACHE, or kube-proxy-sim below the user's cache directory. What is there already is
# not built again. The first build takes about 5 minutes on two cores and 2 GB of Go's caches.
set -euo pipefail
version=${1:?usage: build.sh VERSION [CACHE]}
version=${version#v}
cache=${2:-${KUBE_PROXY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kube-proxy-sim}}
[[ $version =~ ^1\.[0-9]+\.[0-9]+$ ]] || { echo "build.sh: $version is not a release such as 1.37.2" >&2; exit 2; }
mkdir -p "$cache"
cache=$(realpath "$cache")
binary=$cache/kube-proxy-$version
[ -x "$binary" ] && { echo "$binary"; exit 0; }
command -v go > /dev/null || PATH=$PATH:/usr/local/go/bin
command -v go > /dev/null || { echo "build.sh: no go in PATH" >&2; exit 2; }

# A release's go.mod replaces its staging modules by folders of its own tree, which a module that requires it
# does not see: so each is replaced here by the module that was published for the same release.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOFLAGS=-mod=mod GOTOOLCHAIN=${GOTOOLCHAIN:-auto} CGO_ENABLED=0
go mod download -json "k8s.io/kubernetes@v$version" > module.json ||
  { cat module.json >&2; echo "build.sh: the module proxy has no release $version" >&2; exit 2; }
gomod=$(sed -n 's/^\t"GoMod": "\(.*\)",\{0,1\}$/\1/p' module.json)
{
  echo "module kubeproxybuild"
  grep -E '^go [0-9]' "$gomod"
  echo "require k8s.io/kubernetes v$version"
  sed -nE "s#^[[:space:]]*(k8s.io/[a-z-]+) => \./staging/.*#replace \1 => \1 v0.${version#1.}#p" "$gomod"
} > go.mod
printf '//go:build tools\n\npackage tools\n\nimport _ "k8s.io/kubernetes/cmd/kube-proxy"\n' > tools.go
go build -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
  -o "$binary.new" k8s.io/kubernetes/cmd/kube-proxy
mv "$binary.new" "$binary"
echo "$binary"
