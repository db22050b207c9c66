// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// mostViews bounds the views that are kept.
	mostViews = 100
	// mostTime bounds one look.
	mostTime = 10 * time.Second
)

// seen is what a view shows.
type seen interface {
	// seenAt is the same with a time.
	seenAt(t metav1.Time) any
}

// view is what one address shows. It is looked at once per change, for all tabs.
type view struct {
	mu sync.Mutex
	// changed is what was to be closed at the next change when it was looked at.
	changed <-chan struct{}
	text    []byte
	tag     string
	err     error
}

// view is that of an address.
func (s *server) view(path string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.views.Get(path); ok {
		return known.(*view) //nolint:forcetypeassert // nothing else is in there
	}
	v := &view{}
	s.views.Add(path, v, time.Hour)
	return v
}

// show answers with what look returns, or that it is what the tab has. A held connection per tab would leave none for the
// seventh tab: so tabs ask again and again, and ask nothing while nobody sees them.
func (s *server) show(w http.ResponseWriter, r *http.Request, look func(ctx context.Context) (seen, error)) {
	text, tag, err := s.view(r.URL.Path).now(r.Context(), s.facts.Changed(), look)
	if err != nil {
		fail(w, http.StatusNotFound, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (v *view) now(ctx context.Context, changed <-chan struct{}, look func(ctx context.Context) (seen, error)) (
	text []byte, tag string, err error,
) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changed != changed {
		// The tab that is the first to ask may close: the others get the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostTime)
		defer cancel()
		v.changed, v.err = changed, v.look(ctx, look)
	}
	return v.text, v.tag, v.err
}

// look has the same text as before where only the time is another.
func (v *view) look(ctx context.Context, look func(ctx context.Context) (seen, error)) error {
	now, err := look(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:]) + `"`
	if tag == v.tag {
		return nil
	}
	if text, err = json.Marshal(now.seenAt(metav1.Now())); err != nil {
		return err
	}
	v.text, v.tag = text, tag
	return nil
}
