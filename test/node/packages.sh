#!/usr/bin/env bash
# Installs the Debian packages that `make e2e-node` needs. It stops at once if that cannot be. CNI is the folder of the CNI plugins.
set -eu -o pipefail

if [ "$(id -u)" != 0 ]; then
  echo "e2e-node: it has to run as root: it makes namespaces, cgroups, mounts and containers. Try: sudo --preserve-env=PATH make e2e-node" >&2
  exit 1
fi
if [ "$(uname -s)" != Linux ]; then
  echo "e2e-node: it runs on Linux only" >&2
  exit 1
fi

missing=()
need() { # PACKAGE FILE-OR-PROGRAM
  if ! { [ -x "$2" ] || command -v "$2" >/dev/null; }; then missing+=("$1"); fi
}
need runc runc
need containernetworking-plugins "${CNI:-/usr/lib/cni}/bridge"
need nftables nft
need iproute2 ip
if [ ${#missing[@]} = 0 ]; then exit; fi

if ! command -v apt-get >/dev/null; then
  echo "e2e-node: missing: ${missing[*]} (names of Debian's packages). Install them; the CNI plugins have to be in /usr/lib/cni" >&2
  exit 1
fi
echo "==> installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -5 "$log" >&2
  echo "e2e-node: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
