#!/usr/bin/env bash
# Prints the flag of `go build` that builds Argo CD with the edits of this folder, or nothing if there are none. An edit is
# edits/PATH.sed, a sed script for the file PATH of the module. Some releases do not build from modules without: one was tagged with
# a function that it does not have, and the exact gitops-engine of another was never published.
#
# Usage: edit.sh FOLDER, in the folder of the tool; the edited module goes to FOLDER.
set -eu -o pipefail
out=$1
[ -d edits ] || exit 0
name=github.com/argoproj/argo-cd/v3
go mod download "$name"
module=$(go list -m -f '{{.Dir}}' "$name")
rm -rf "$out"
mkdir -p "$out"
cp -r --no-preserve=mode "$module" "$out/module"
while read -r script; do
  path=${script#edits/} path=${path%.sed}
  sed -i -f "$script" "$out/module/$path"
  if cmp -s "$module/$path" "$out/module/$path"; then echo "$script changes nothing" >&2; exit 1; fi
done < <(find edits -name '*.sed' | sort)
cp go.mod go.sum "$out"
(cd "$out" && go mod edit -replace "$name=$out/module")
echo "-modfile=$out/go.mod"
