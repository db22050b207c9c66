package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// seen is what a stream sends.
type seen interface {
	// seenAt is the same with a time.
	seenAt(t metav1.Time) any
}

// stream sends what look returns as server-sent events: at first, whenever it is different, and from time to time. An
// error of the first look is the answer, and a later one ends the stream.
func (s *server) stream(w http.ResponseWriter, r *http.Request, look func() (seen, error)) {
	out := http.NewResponseController(w)
	again := time.NewTicker(sendAgain)
	defer again.Stop()
	var sent []byte
	for {
		changed := s.facts.Changed()
		now, err := look()
		switch {
		case err != nil && sent == nil:
			fail(w, http.StatusNotFound, err.Error())
			return
		case err != nil:
			return
		}
		text, err := json.Marshal(now)
		if err != nil {
			return // the types are ours
		}
		if !bytes.Equal(text, sent) {
			w.Header().Set("Content-Type", "text/event-stream")
			if sent = text; send(w, out, now) != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-again.C:
			sent = []byte{}
		}
	}
}

func send(w http.ResponseWriter, out *http.ResponseController, now seen) error {
	text, err := json.Marshal(now.seenAt(metav1.Now()))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
		return err
	}
	return out.Flush()
}
