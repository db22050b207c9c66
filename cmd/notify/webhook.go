// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"
	httputil "github.com/argoproj/notifications-engine/pkg/util/http"
	yaml3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// mostAnswer is how much of the answer of a server that has failed is kept.
const mostAnswer = 200

// webhookService is the engine's service of the same name, which writes every URL to stderr, and many have a secret in
// theirs. It also ends a call in time, and leaves it to the Notifier to try again.
type webhookService struct {
	options services.WebhookOptions
	client  *http.Client
}

// newWebhook makes the service of a key of the ConfigMap: service.webhook or service.webhook.NAME.
func newWebhook(key, value string, secret *corev1.Secret) (services.NotificationService, error) {
	text, err := resolve(value, secret)
	if err != nil {
		return nil, err
	}
	s := &webhookService{}
	if err := yaml.Unmarshal(text, &s.options); err != nil {
		return nil, err
	}
	o := &s.options
	s.client, err = httputil.NewServiceHTTPClient(o.TransportOptions, o.InsecureSkipVerify, o.URL, key)
	if err != nil {
		return nil, err
	}
	s.client.Timeout = sendTime
	return s, nil
}

// Send implements services.NotificationService, as the engine does.
func (s *webhookService) Send(n services.Notification, to services.Destination) error {
	method, url, body := http.MethodGet, s.options.URL, n.Message
	if w, ok := n.Webhook[to.Service]; ok {
		method, body = cmp.Or(w.Method, method), w.Body
		if w.Path != "" {
			url = strings.TrimRight(url, "/") + "/" + strings.TrimLeft(w.Path, "/")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	for _, h := range s.options.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	if auth := s.options.BasicAuth; auth != nil {
		req.SetBasicAuth(auth.Username, auth.Password)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s %s: the server answers %s: %s", method, url, resp.Status, answer)
	}
	return nil
}

// reference is how a value of the ConfigMap names a key of the Secret: replaceStringSecret of the engine, pkg/api/config.go.
var reference = regexp.MustCompile(`[$][\w-]+`)

// resolve replaces references to keys of the Secret, as the engine does. What the Secret has not stays.
func resolve(value string, secret *corev1.Secret) ([]byte, error) {
	var node yaml3.Node
	if err := yaml3.Unmarshal([]byte(value), &node); err != nil {
		return nil, err
	}
	resolveNode(&node, secret)
	return yaml3.Marshal(&node)
}

func resolveNode(node *yaml3.Node, secret *corev1.Secret) {
	if node.Kind == yaml3.ScalarNode && node.Tag == "!!str" {
		node.Value = reference.ReplaceAllStringFunc(node.Value, func(key string) string {
			if found, ok := secret.Data[key[1:]]; ok {
				return string(found)
			}
			return key
		})
	}
	for _, child := range node.Content {
		resolveNode(child, secret)
	}
}
