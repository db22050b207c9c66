#!/usr/bin/env bash
# Prints a folder with an etcd and a kube-apiserver for the demo: those in BIN if they are built, else prebuilt ones that
# setup-envtest downloads and verifies by their checksums, else it builds them. To try costs at most 10 seconds.
#
# Usage: assets.sh BIN VERSION. ENVTEST_INDEX names another index of downloads, MAKE the program that builds.
set -eu -o pipefail
bin=$1 version=$2
root=$(cd "$(dirname "$0")/../.." && pwd)

say() { echo "==> $*" >&2; }

# limit SECONDS COMMAND... ends the command after some seconds.
limit() {
  local seconds=$1 pid watcher code=0
  shift
  "$@" &
  pid=$!
  (sleep "$seconds" && kill "$pid") >/dev/null 2>&1 &
  watcher=$!
  wait "$pid" || code=$?
  kill "$watcher" 2>/dev/null || true
  return "$code"
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  say "using etcd and kube-apiserver of KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
  echo "$KUBEBUILDER_ASSETS"
  exit
fi
if [ -x "$bin/etcd" ] && [ -x "$bin/kube-apiserver" ]; then
  say "using etcd and kube-apiserver in $bin"
  echo "$bin"
  exit
fi

setup=$bin/setup-envtest
mkdir -p "$bin"
(cd "$root/test/tools/envtest" && go build -o "$setup" sigs.k8s.io/controller-runtime/tools/setup-envtest)
flags=(--bin-dir "$bin/envtest")
if [ -n "${ENVTEST_INDEX:-}" ]; then flags+=(--index "$ENVTEST_INDEX"); fi

if limit 10 "$setup" list "$version" "${flags[@]}" >/dev/null 2>"$bin/setup-envtest.log" &&
  folder=$(limit 300 "$setup" use "$version" -p path "${flags[@]}" 2>>"$bin/setup-envtest.log"); then
  say "using prebuilt etcd and kube-apiserver, downloaded and verified by setup-envtest"
  echo "$folder"
  exit
fi
say "prebuilt etcd and kube-apiserver cannot be had: $(tail -1 "$bin/setup-envtest.log")"
say "building them from source: 10 to 15 minutes on two cores, once"
"${MAKE:-make}" -C "$root" tools >&2
echo "$bin"
