#!/bin/sh
# Writes an overlay for `go build -overlay` into a folder and prints its path. A program that is built with it adds CLOCK_OFFSET (an
# environment variable, in whole seconds) to every time that it reads. Timers do not change. A preloaded library cannot do this: a Go
# program reads the clock without the C library.
set -eu
dir=$1
source=$(go env GOROOT)/src/time
mkdir -p "$dir"
sed '/^func Now() Time {$/,/^}$/s/^\tsec, nsec, mono := .*()$/&\n\tsec += skew()/' "$source/time.go" >"$dir/time.go"
[ "$(grep -c '^	sec += skew()$' "$dir/time.go")" = 1 ] || { echo "skew.sh: time.Now of $(go version) is not as expected" >&2; exit 1; }
cat >"$dir/skew.go" <<'GO'
package time

import (
	"sync"
	"syscall"
)

var skew = sync.OnceValue(func() int64 {
	text, set := syscall.Getenv("CLOCK_OFFSET")
	if !set {
		return 0
	}
	seconds, err := atoi(text)
	if err != nil {
		panic("CLOCK_OFFSET: " + text)
	}
	return int64(seconds)
})
GO
printf '{"Replace":{"%s":"%s","%s":"%s"}}\n' "$source/time.go" "$dir/time.go" "$source/skew.go" "$dir/skew.go" >"$dir/overlay.json"
echo "$dir/overlay.json"
