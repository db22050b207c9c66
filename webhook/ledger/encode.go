// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/cluster"
)

const (
	// largestPart bounds what one ConfigMap has of an ApplicationSet, compressed: an API server takes 1 MiB. Where the
	// completions do not fit, the oldest are left out.
	largestPart = 512 << 10
	// largestText bounds what is decompressed: a few KiB may stand for gigabytes.
	largestText = 8 << 20
)

var (
	// ErrVersion says that a document is of another version.
	ErrVersion = errors.New("it is of another version")
	// ErrUnreadable says that a document is none that stepgate has written.
	ErrUnreadable = errors.New("it cannot be read")
)

// Set is an ApplicationSet of which something is kept.
type Set struct {
	UID             types.UID
	Namespace, Name string
}

// id is a part of it.
func (s Set) id(part int) ID { return ID{s.UID, part} }

// split divides the Applications of an ApplicationSet into parts, so that a change of one changes one part.
func split(members []cluster.Kept) [][]cluster.Kept {
	parts := make([][]cluster.Kept, max(1, (len(members)+mostApplications-1)/mostApplications))
	for _, m := range members {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(m.UID)) // it never fails
		at := int(hash.Sum32()) % len(parts)
		parts[at] = append(parts[at], m)
	}
	return parts
}

// Encode is a part of an ApplicationSet as a ConfigMap keeps it. The same members give the same bytes.
func Encode(set Set, part int, members []cluster.Kept) ([]byte, error) {
	members = slices.SortedFunc(slices.Values(members), func(a, b cluster.Kept) int { return cmp.Compare(a.UID, b.UID) })
	for most := mostCompletions; ; most /= 2 {
		d := Document{
			Version: Version, UID: set.UID, Set: set.Namespace + "/" + set.Name, Part: part, Applications: []Application{},
		}
		t := &table{of: map[string]int{}}
		for i := range members {
			d.add(t, members[i].UID, members[i].Name, &members[i].Kept, most)
		}
		d.Sources = t.all
		text, compressed, err := compress(d)
		switch {
		case err != nil:
			return nil, err
		case text <= largestText && len(compressed) <= largestPart:
			return compressed, nil
		case most == 0:
			return nil, fmt.Errorf("the ledger of ApplicationSet %s is too large", d.Set)
		}
	}
}

func compress(document any) (text int, compressed []byte, err error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return 0, nil, fmt.Errorf("encode the ledger: %w", err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(raw); err != nil {
		return 0, nil, fmt.Errorf("compress the ledger: %w", err)
	}
	if err := w.Close(); err != nil {
		return 0, nil, fmt.Errorf("compress the ledger: %w", err)
	}
	return len(raw), out.Bytes(), nil
}

// decompress decodes a document into one of these types, and stops at the bound while it reads. The version is looked at
// first: nobody knows what else another one says.
func decompress(compressed []byte, document any) error {
	if len(compressed) > largestPart {
		return fmt.Errorf("%w: it has %d bytes", ErrUnreadable, len(compressed))
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, largestText+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	case len(raw) > largestText:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrUnreadable, largestText)
	}
	var header struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if header.Version != Version {
		return fmt.Errorf("%w: %d, not %d", ErrVersion, header.Version, Version)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(document); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

// Decode reads a part that a ConfigMap of an ApplicationSet keeps. An error means that nothing of it counts.
func Decode(compressed []byte, set types.UID, part int, now time.Time) (*Document, error) {
	d := &Document{}
	if err := decompress(compressed, d); err != nil {
		return nil, err
	}
	if d.UID != set || d.Part != part {
		return nil, fmt.Errorf("%w: it is part %d of %q", ErrUnreadable, d.Part, cut(string(d.UID)))
	}
	if err := d.validate(now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}

// Members are what a document says of its Applications.
func (d *Document) Members(now time.Time) []cluster.Kept {
	all := make([]cluster.Kept, 0, len(d.Applications))
	for i := range d.Applications {
		a := &d.Applications[i]
		all = append(all, cluster.Kept{UID: a.UID, Name: a.Name, Kept: *d.kept(a, now)})
	}
	return all
}
