#!/usr/bin/env bash
# Prints the flag of `go build` that builds a module of Argo CD with the edits of this folder, or nothing if there are none.
# An edit is edits/PATH.sed, a sed script for the file PATH of the module. Some releases need edits, because their exact
# gitops-engine was never published as a module, and the nearest one that was has other signatures.
#
# Usage: edit.sh FOLDER, in the folder of the tool; the edited files go to FOLDER.
set -eu -o pipefail
out=$1
[ -d edits ] || exit 0
go mod download github.com/argoproj/argo-cd/v3
module=$(go list -m -f '{{.Dir}}' github.com/argoproj/argo-cd/v3)
rm -rf "$out"
mkdir -p "$out"
replaced=
while read -r script; do
  path=${script#edits/} path=${path%.sed}
  mkdir -p "$out/$(dirname "$path")"
  sed -f "$script" "$module/$path" > "$out/$path"
  if cmp -s "$module/$path" "$out/$path"; then echo "$script changes nothing" >&2; exit 1; fi
  replaced+=${replaced:+,}$(printf '\n  "%s": "%s"' "$module/$path" "$out/$path")
done < <(find edits -name '*.sed' | sort)
printf '{"Replace": {%s\n}}\n' "$replaced" > "$out/overlay.json"
echo "-overlay=$out/overlay.json"
