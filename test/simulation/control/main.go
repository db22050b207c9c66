// Command control takes parts of the rule out, one at a time, and checks that the simulation notices:
//
//	go run ./test/simulation/control
//
// A part is a piece of text in one file, replaced by another through `go build -overlay`: nothing in the checkout changes, and no
// switch is needed in the rule. A part whose text is not there any more is an error. What has to be found without a part says the
// part itself (the number of early starts in some histories has to grow), or, of a repaired finding, a line of its scenario in
// testdata: "without A4 early A4".
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/test/simulation"
)

// part is a part of the rule, and how to take it out.
type part struct{ name, file, old, new string }

func parts() []part {
	return []part{
		{"RevisionMismatch", "policy/done.go", "if !slices.Contains(wanted, source) &&", "if false && !slices.Contains(wanted, source) &&"},
		{"ComparisonOlder", "policy/done.go", "if !shared &&", "if false && !shared &&"},
		{"NotSynced", "policy/done.go", `case a.SyncStatus != "Synced" && !drifted(a):`, `case false && !drifted(a):`},
		{"OperationInProgress", "policy/done.go", `case a.OperationSet || a.LastOperation.Phase == "Running" ||`, `case false && a.OperationSet ||`},
		{"AlreadySynced", "policy/evaluate.go", "case in.alreadySynced():", "case false && in.alreadySynced():"},
	}
}

const histories = "4000"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "control:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	whole, err := build(dir, nil)
	if err != nil {
		return err
	}
	before, err := early(whole)
	if err != nil {
		return err
	}
	fmt.Printf("%-24s early=%d in %s histories\n", "the whole rule", before, histories)
	missed := 0
	for _, p := range parts() {
		program, err := build(dir, &p)
		if err != nil {
			return err
		}
		after, err := early(program)
		if err != nil {
			return err
		}
		fmt.Printf("without %-16s early=%d\n", p.name, after)
		kept, err := keptWithout(program, p.name)
		if err != nil {
			return err
		}
		if after <= before && kept == 0 {
			missed++
			fmt.Printf("without %-16s is not noticed\n", p.name)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d parts can be taken out without being missed", missed)
	}
	return nil
}

// build builds the simulation, without a part of the rule where one is given.
func build(dir string, p *part) (string, error) {
	program := filepath.Join(dir, "simulate")
	args := []string{"build", "-o", program}
	if p != nil {
		overlay, err := p.overlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.Command("go", append(args, "./test/simulation/cmd")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// overlay writes the file without the part, and the file that has go build read it.
func (p *part) overlay(dir string) (string, error) {
	path, err := filepath.Abs(p.file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), p.old) != 1 {
		return "", fmt.Errorf("%s: %q is not there exactly once", p.file, p.old)
	}
	without := filepath.Join(dir, "without.go")
	if err := os.WriteFile(without, []byte(strings.Replace(string(text), p.old, p.new, 1)), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {path: without}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

var summary = regexp.MustCompile(`early=(\d+)`)

// early counts the histories with an early start.
func early(program string) (int, error) {
	out, err := exec.Command(program, "-n", histories, "-show", "0").Output()
	found := summary.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("no summary: %w", err)
	}
	return strconv.Atoi(string(found[1]))
}

// keptWithout plays the scenarios that have a line for the part, and returns how many there are. Each has to show what the line says.
func keptWithout(program, name string) (int, error) {
	files, err := filepath.Glob("test/simulation/testdata/*.txt")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		s, err := simulation.Parse(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		kind := s.Without[name]
		if kind == "" {
			continue
		}
		n++
		// The exit status says that there is a violation; which one, the words after the #.
		out, _ := exec.Command(program, "-scenario", file).Output()
		word := "[" + strings.TrimPrefix(strings.TrimPrefix(kind, "early "), "stuck ")
		if !strings.Contains(string(out), word) {
			return 0, fmt.Errorf("%s: without %s there is no %s", file, name, kind)
		}
	}
	return n, nil
}
