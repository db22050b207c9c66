// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// machine describes where and when this ran.
func machine(began time.Time) string {
	return fmt.Sprintf("machine: %s, %s/%s, %s; began %s, took %s, load average at the end %s\ncommand: %s",
		report.Machine(), runtime.GOOS, runtime.GOARCH, runtime.Version(), began.UTC().Format(time.RFC3339),
		time.Since(began).Round(time.Second), script.Get(process.LoadAverage()), strings.Join(os.Args, " "))
}
