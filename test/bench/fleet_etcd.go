// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// store writes into etcd itself, by its JSON gateway. An API server on two cores takes a small part of the writes of a
// large Argo CD, and takes the cores from what is measured. What is stored here, it reads and sends to its watches like
// its own writes.
type store struct {
	url    string
	client *http.Client
}

func newStore(url string) *store {
	return &store{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: statusWriters}}}
}

// stored is a key of etcd. Byte slices are base64 in JSON, as the gateway has them.
type stored struct {
	Key      []byte `json:"key"`
	Value    []byte `json:"value,omitempty"`
	Revision int64  `json:"mod_revision,string,omitempty"`
}

// keyOf is where the API server stores an object of Argo CD.
func keyOf(resource, namespace, name string) []byte {
	return fmt.Appendf(nil, "/registry/argoproj.io/%s/%s/%s", resource, namespace, name)
}

// put stores an object.
func (s *store) put(ctx context.Context, o stored) error { return s.call(ctx, "put", o, nil) }

// change stores an object changed, unless somebody has changed it meanwhile: then it tries again.
func (s *store) change(ctx context.Context, key []byte, how func([]byte) []byte) error {
	for {
		var found struct {
			Kvs []stored `json:"kvs"`
		}
		if err := s.call(ctx, "range", map[string]any{"key": key}, &found); err != nil {
			return err
		}
		if len(found.Kvs) != 1 {
			return fmt.Errorf("%s is not stored", key)
		}
		at := found.Kvs[0]
		var done struct {
			Succeeded bool `json:"succeeded"`
		}
		err := s.call(ctx, "txn", map[string]any{
			"compare": []any{
				map[string]any{"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": fmt.Sprint(at.Revision)},
			},
			"success": []any{map[string]any{"request_put": stored{Key: key, Value: how(at.Value)}}},
		}, &done)
		if err != nil || done.Succeeded {
			return err
		}
	}
}

// call makes one call of the gateway.
func (s *store) call(ctx context.Context, method string, request, answer any) (err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.client.Do(post)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %.500s", response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
