// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
)

// write is a line of the API server's audit log: a write of an Application or an ApplicationSet.
type write struct {
	Verb, RequestURI string
	User             struct{ Username string }
	// ObjectRef has no name for a create.
	ObjectRef      struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestReceivedTimestamp time.Time
	Annotations              map[string]string
}

const (
	// heldAnnotation is where the mutating webhook records that it has held an operation.
	heldAnnotation = "hold.stepgate.io/decision"
	// pinnedAnnotation is where it records the revisions of an operation that it lets through.
	pinnedAnnotation = "hold.stepgate.io/pinned"
)

// refused says that a webhook of stepgate has refused a write, or could not be called for it.
func (w write) refused() bool {
	return w.ResponseStatus.Code >= http.StatusBadRequest &&
		(w.ResponseStatus.Code == http.StatusForbidden || fromGate(w.ResponseStatus.Message))
}

// pausedBy is the end of a denial because of a pause, with the moment of it in whole seconds.
var pausedBy = regexp.MustCompile(`\(Paused: .*\bat (\S+Z)\)`)

// pausedMeanwhile says that a write was refused because of a pause that came while it was under way: the mutating
// webhook, which would have held it, was asked before the pause, and the validating webhook after it.
func (w write) pausedMeanwhile() bool {
	said := pausedBy.FindStringSubmatch(w.ResponseStatus.Message)
	if said == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, said[1])
	return err == nil && at.Add(time.Second).After(w.RequestReceivedTimestamp)
}

// overtaken says that the validating webhook refused a write that the mutating webhook had let through: an earlier step
// changed between the two.
func (w write) overtaken() bool {
	return w.ResponseStatus.Code == http.StatusForbidden && fromGate(w.ResponseStatus.Message) &&
		w.Annotations[pinnedAnnotation] != ""
}

// tried says that it was a dry run, such as the one before each start.
func (w write) tried() bool { return strings.Contains(w.RequestURI, "dryRun=All") }

// held says that the ApplicationSet controller's operation was taken out of a write.
func (w write) held() bool { return w.Annotations[heldAnnotation] == "hold" }

// byGate says that the gate of a mode has made a write.
func (w write) byGate(m mode) bool {
	return strings.HasPrefix(w.User.Username, "system:serviceaccount:"+m.gateName()+":")
}

// counts are the writes of a rollout while it was measured.
type counts struct {
	// denials are the refused writes of users, auto-sync and other tools, and refusals those of the ApplicationSet
	// controller.
	denials, refusals int
	// held are the writes whose operation was held.
	held int
	// refreshes are the gate's own writes, and starts the operations that it has written.
	refreshes, starts int
	// controller are the ApplicationSet controller's writes, of Applications and of the ApplicationSet.
	controller int
	// written are the writes of its Applications, by whoever, with those that were held or refused.
	written int
}

func (t counts) perMinute(lasted time.Duration) float64 {
	if lasted <= 0 {
		return 0
	}
	return float64(t.controller) / lasted.Minutes()
}

// auditLog reads the audit log as it grows, each line once.
type auditLog struct {
	path string

	mu     sync.Mutex
	offset int64
	read   []write
}

// writes are all writes that the log has now. It fails if the log has become shorter: the API server has started a new
// file, and what was not read of the old one would be missing.
func (l *auditLog) writes() (all []write, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if end < l.offset {
		return nil, fmt.Errorf("%s has %d bytes, and %d of it were read before: it was rotated, and writes are missing",
			l.path, end, l.offset)
	}
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// The API server is still writing the rest of the line.
			return slices.Clip(l.read), nil
		}
		if err != nil {
			return nil, err
		}
		var w write
		if err := json.Unmarshal(line, &w); err != nil {
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
		l.offset += int64(len(line))
		l.read = append(l.read, w)
	}
}

// counts returns the number of writes of a rollout, by kind.
func (o *outcome) counts(writes []write) counts {
	r := o.rollout
	var t counts
	for _, w := range writes {
		at := w.RequestReceivedTimestamp
		if !r.owns(w) || w.tried() || at.Before(r.began) || at.After(o.ended) {
			continue
		}
		if w.held() {
			t.held++
		}
		if w.ObjectRef.Resource == "applications" {
			t.written++
		}
		switch {
		case w.User.Username == cluster.ApplicationSetAccount:
			t.controller++
			if w.refused() {
				t.refusals++
			}
		case w.refused():
			t.denials++
		case w.byGate(r.mode) && strings.Contains(w.RequestURI, "fieldManager=stepgate-start"):
			t.starts++
		case w.byGate(r.mode):
			t.refreshes++
		}
	}
	return t
}

// owns says that a write is one of the rollout's ApplicationSet or of its Applications.
func (r *rollout) owns(w write) bool {
	if w.ObjectRef.Namespace != string(r.mode) {
		return false
	}
	mine := w.ObjectRef.Name == r.name
	for _, m := range r.members {
		mine = mine || w.ObjectRef.Name == m.name
	}
	return mine
}
