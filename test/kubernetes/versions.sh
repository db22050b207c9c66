#!/usr/bin/env bash
# Runs suites with the kube-apiserver of other versions of Kubernetes, prints a line for each, and fails if one has failed. The output of a suite
# goes to BIN/kubernetes-VERSION/SUITE.log, and to stderr if it fails.
#
#   versions.sh [--results DIR] BIN "SUITE ..." VERSION ...
#
# A SUITE is a target of make; BIN/kubernetes-VERSION has etcd and kube-apiserver. DIR gets the lines as the page kubernetes.md.
set -euo pipefail
if [ "${1-}" = --results ]; then
  dir=$2
  shift 2
  exec go run github.com/stepgate/stepgate/test/report/record --results "$dir" \
    kubernetes "suites with the kube-apiserver of other versions of Kubernetes" "$0" "$@"
fi
bin=$1 suites=$2
shift 2
if [ $# = 0 ] || [ -z "$suites" ]; then
  echo "kubernetes: no version, or no suite" >&2
  exit 1
fi

failed=
for version; do
  export KUBEBUILDER_ASSETS=$bin/kubernetes-$version
  says=$("$KUBEBUILDER_ASSETS/kube-apiserver" --version)
  if [ "$says" != "Kubernetes $version" ]; then
    echo "kubernetes: $KUBEBUILDER_ASSETS/kube-apiserver says that it is $says" >&2
    exit 1
  fi
  for suite in $suites; do
    log=$KUBEBUILDER_ASSETS/$suite.log result=ok began=$SECONDS
    "${MAKE:-make}" --no-print-directory "$suite" >"$log" 2>&1 || result=failed
    if [ $result = failed ]; then
      failed+=", $suite with $version"
      cat "$log" >&2
    fi
    echo "kubernetes: version=$version suite=$suite result=$result seconds=$((SECONDS - began))"
  done
done
if [ -n "$failed" ]; then
  echo "kubernetes: failed: ${failed#, }" >&2
  exit 1
fi
