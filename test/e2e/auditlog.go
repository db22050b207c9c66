package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
)

// write is a line of the API server's audit log: a write of an Application or an ApplicationSet.
type write struct {
	Verb string
	User struct{ Username string }
	// ObjectRef has no name for a create.
	ObjectRef      struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestReceivedTimestamp time.Time
}

// counts are the writes of a rollout while it was measured.
type counts struct {
	// denials are writes that were answered 403, whoever sent them.
	denials int
	// refreshes are the gate's own writes.
	refreshes int
	// controller are the ApplicationSet controller's writes, of Applications and of the ApplicationSet.
	controller int
}

func (t counts) perMinute(lasted time.Duration) float64 {
	if lasted <= 0 {
		return 0
	}
	return float64(t.controller) / lasted.Minutes()
}

// readAudited reads the audit log.
func readAudited(path string) (writes []write, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w write
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		writes = append(writes, w)
	}
	return writes, lines.Err()
}

// counts returns the number of writes of a rollout, by kind.
func (o *outcome) counts(writes []write) counts {
	r := o.rollout
	mine := map[string]bool{r.name: true}
	for _, m := range r.members {
		mine[m.name] = true
	}
	var t counts
	for _, w := range writes {
		at := w.RequestReceivedTimestamp
		if w.ObjectRef.Namespace != string(r.mode) || !mine[w.ObjectRef.Name] || at.Before(r.began) || at.After(o.ended) {
			continue
		}
		if w.ResponseStatus.Code == 403 {
			t.denials++
		}
		switch {
		case w.User.Username == cluster.ApplicationSetAccount:
			t.controller++
		case strings.HasPrefix(w.User.Username, "system:serviceaccount:"+r.mode.gateName()+":"):
			t.refreshes++
		}
	}
	return t
}
