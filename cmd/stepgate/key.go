// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/dashboard"
)

// keptKey is the key that the cookies of this user's browsers have, so that open tabs go on when `stepgate dashboard`
// begins again. It is in a file that only the user may read, and is made anew after some days. Where no file can be
// written, it lasts as long as the program.
func keptKey(now time.Time) string {
	key := rand.Text()
	dir, err := os.UserCacheDir()
	if err != nil {
		return key
	}
	file := filepath.Join(dir, "stepgate", "dashboard.key")
	known, err := os.ReadFile(file) //nolint:gosec // it is the user's own
	if err == nil && usable(file, now) && len(known) >= len(key) {
		return strings.TrimSpace(string(known))
	}
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = os.Remove(file) // it may have the rights of another program
		_ = os.WriteFile(file, []byte(key), 0o600)
	}
	return key
}

// usable reports whether the file is new enough, the user's own, and no link to another one.
func usable(file string, now time.Time) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().IsRegular() && (info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows") &&
		now.Sub(info.ModTime()) < dashboard.KeyFor
}
