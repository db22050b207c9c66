// SPDX-License-Identifier: Apache-2.0

// Command record runs a suite that is no Go program, and writes what it prints to stdout as a page of results:
//
//	go run ./test/report/record --results DIR NAME TITLE COMMAND [ARGUMENT ...]
//
// Without --results it only runs it. The last line on stderr says why it failed.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stepgate/stepgate/test/report"
)

func main() {
	results := report.Flag(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := record(ctx, results, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, results *report.Results, args []string) error {
	if len(args) < 3 {
		return errors.New("it takes a name, a title and a command")
	}
	page, err := results.Page(report.Suite{Name: args[0], Title: args[1], Command: args[2:]})
	if err != nil {
		return err
	}
	var said bytes.Buffer
	command := exec.CommandContext(ctx, args[2], args[3:]...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.Stdout, command.Stderr = page, io.MultiWriter(os.Stderr, &said)
	if err = command.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		err = errors.Join(errors.New(cmp.Or(lines[len(lines)-1], err.Error())), ctx.Err())
	}
	return errors.Join(err, page.Close(err))
}
