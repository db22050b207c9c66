// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

const (
	fieldManager = "stepgate"
	// publishInterval is how often the bundle is checked when no watch reports a change, and the longest pause after
	// failures.
	publishInterval = 30 * time.Second
	// publishTimeout bounds one check, so that a lost connection cannot block the publisher.
	publishTimeout = 15 * time.Second
)

// secretReader reads the CA Secret, live.
type secretReader interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
}

// configurationStore is one webhook configuration, read and written live.
type configurationStore interface {
	// String is the kind and the name.
	String() string
	Get(ctx context.Context) (*configuration, error)
	// Apply writes the caBundles if the configuration still has this UID and this resourceVersion.
	Apply(ctx context.Context, wanted *configuration) error
}

// bundlePublisher makes every webhook of the configurations trust the CA that is in the Secret now, and the earlier
// ones until they expire. Every replica runs one; the replica that comes second finds nothing to do.
type bundlePublisher struct {
	secret         types.NamespacedName
	secrets        secretReader
	configurations []configurationStore // none: the CA is read, for its metric, and nothing is written
	now            func() time.Time
	limiter        *rate.Limiter

	wake    signal        // a change was seen
	rotated chan struct{} // the authority has a new CA

	mu   sync.Mutex
	ca   *x509.Certificate
	fail error
}

func newBundlePublisher(secret types.NamespacedName, secrets secretReader, adapters []adapter) *bundlePublisher {
	p := &bundlePublisher{
		secret: secret, secrets: secrets, now: time.Now,
		// One check a second, and so at most one write of each configuration, even if somebody wipes the bundle in a
		// loop. The first ten checks need not wait: every call fails until a wiped bundle is written, and a new CA has
		// just used some of them.
		limiter: rate.NewLimiter(rate.Every(time.Second), 10),
		wake:    newSignal(), rotated: make(chan struct{}, 1),
	}
	for _, a := range adapters {
		p.configurations = append(p.configurations, a)
	}
	return p
}

// Start publishes until ctx is done. Failures are logged and retried; they never end it.
func (p *bundlePublisher) Start(ctx context.Context) error {
	log, failures := logr.FromContextOrDiscard(ctx), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-p.rotated:
		case <-time.After(pauseAfter(failures)):
		}
		if err := p.limiter.Wait(ctx); err != nil {
			return untilDone(ctx, fmt.Errorf("publishing the CA bundle: %w", err))
		}
		err := p.publish(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failures = 0
		case failures == 0:
			// In a new installation the CA's Secret is empty for a moment. A failure that lasts is logged a second
			// later.
			failures++
			log.V(1).Info("CA bundle not published, once", "problem", err.Error())
		default:
			failures++
			log.Error(err, "CA bundle not published", "retryAfter", pauseAfter(failures).String())
		}
	}
}

// pauseAfter is how long to wait for a change before the next check: 1 s, 2 s, 4 s and so on after failures.
func pauseAfter(failures int) time.Duration {
	if failures == 0 {
		return publishInterval
	}
	return min(time.Second<<min(failures-1, 10), publishInterval)
}

// publish checks once and remembers the outcome for LastError and CA.
func (p *bundlePublisher) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	authorities, err := p.readCA(ctx)
	if err == nil && len(authorities) > 0 {
		err = p.publishToAll(ctx, authorities)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(authorities) > 0 {
		p.ca = authorities[0]
	}
	p.fail = err
	return err
}

// readCA returns nothing while the Secret does not exist: the authority creates it, and then reports a rotation.
func (p *bundlePublisher) readCA(ctx context.Context) ([]*x509.Certificate, error) {
	secret, err := p.secrets.Get(ctx, p.secret.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CA in Secret %s: %w", p.secret, err)
	}
	authorities := parseBundle(secret.Data["ca.crt"])
	if len(authorities) == 0 {
		return nil, fmt.Errorf("the Secret %s has no certificate in ca.crt: it should be replaced within seconds; "+
			"if this lasts, see that stepgate's service account may update it, or delete it", p.secret)
	}
	return authorities, nil
}

// publishToAll writes the configurations side by side: one that fails, or does not answer, does not stop the others.
func (p *bundlePublisher) publishToAll(ctx context.Context, authorities []*x509.Certificate) error {
	failures := make([]error, len(p.configurations))
	var group sync.WaitGroup
	for i, to := range p.configurations {
		group.Go(func() { failures[i] = p.publishTo(ctx, to, authorities) })
	}
	group.Wait()
	var failed problems
	for _, err := range failures {
		failed.add(err)
	}
	return failed.err()
}

// publishTo writes one configuration. A conflict means that somebody else wrote between our read and our write: read
// again, so that no CA of theirs is lost.
func (p *bundlePublisher) publishTo(ctx context.Context, to configurationStore, authorities []*x509.Certificate) error {
	var last error
	// RetryOnConflict returns nil when the write exceeds its deadline, so the outcome is taken from the last attempt.
	_ = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		last = p.write(ctx, to, authorities)
		return last
	})
	return last
}

// write applies the merged bundle if it differs from the present one. The apply names the UID and resourceVersion that
// were read, so it neither creates a configuration nor overwrites one that it has not read.
func (p *bundlePublisher) write(ctx context.Context, to configurationStore, authorities []*x509.Certificate) error {
	current, err := to.Get(ctx)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", to, err)
	}
	wanted, changed := withBundles(current, authorities, p.now())
	if !changed {
		return nil
	}
	if by := injectedBy(current); by != "" {
		return fmt.Errorf("%s is annotated %s, so cert-manager's cainjector owns its "+
			"caBundle and stepgate does not write it: remove the annotation, or use --cert-dir", to, by)
	}
	if err := to.Apply(ctx, wanted); err != nil {
		return fmt.Errorf("writing the caBundle of %s: %w", to, err)
	}
	logr.FromContextOrDiscard(ctx).Info("CA bundle written", "configuration", to.String(),
		"webhooks", len(wanted.webhooks), "caExpires", stamp(authorities[0].NotAfter))
	return nil
}

// LastError is the outcome of the last check; nil before the first.
func (p *bundlePublisher) LastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fail
}

// CA is the certificate last read from the Secret; nil before the first read.
func (p *bundlePublisher) CA() *x509.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ca
}
