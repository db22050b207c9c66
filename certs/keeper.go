package certs

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/util/retry"
)

const (
	fieldManager = "stepgate"
	// keepInterval is how often the bundle is looked at when nothing tells of a change, and the longest pause after failures.
	keepInterval = 30 * time.Second
	// keepTimeout bounds one look, so that a lost connection is not waited for.
	keepTimeout = 15 * time.Second
)

// secretReader reads the CA Secret, live.
type secretReader interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
}

// configurationWriter reads the ValidatingWebhookConfiguration, live, and applies to it.
type configurationWriter interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*admissionv1.ValidatingWebhookConfiguration, error)
	Apply(ctx context.Context, configuration *applyv1.ValidatingWebhookConfigurationApplyConfiguration,
		options metav1.ApplyOptions) (*admissionv1.ValidatingWebhookConfiguration, error)
}

// bundleKeeper sees to it that every webhook of the configuration trusts the CA that is in the Secret now, and goes
// on trusting the earlier ones until they expire. Every replica runs one; whoever comes second finds nothing to do.
type bundleKeeper struct {
	secret         types.NamespacedName
	secrets        secretReader
	configuration  string // empty: the CA is read, for its metric, and nothing is written
	configurations configurationWriter
	now            func() time.Time
	limiter        *rate.Limiter

	wake    signal        // a change was seen
	rotated chan struct{} // the authority has a new CA

	mu   sync.Mutex
	ca   *x509.Certificate
	fail error
}

func newBundleKeeper(secret types.NamespacedName, secrets secretReader,
	configuration string, configurations configurationWriter) *bundleKeeper {
	return &bundleKeeper{
		secret: secret, secrets: secrets, configuration: configuration, configurations: configurations,
		now: time.Now,
		// One look a second, and so at most one write, even if somebody wipes the bundle in a loop; ten at once, because
		// every call fails until a wiped bundle is written, and a new CA has just taken some.
		limiter: rate.NewLimiter(rate.Every(time.Second), 10),
		wake:    newSignal(), rotated: make(chan struct{}, 1),
	}
}

// Start keeps the bundle until ctx is done. Failures are logged and retried; they never end it.
func (k *bundleKeeper) Start(ctx context.Context) error {
	log, failures := logr.FromContextOrDiscard(ctx), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
		case <-k.rotated:
		case <-time.After(pauseAfter(failures)):
		}
		if err := k.limiter.Wait(ctx); err != nil {
			return untilDone(ctx, fmt.Errorf("keeping the CA bundle: %w", err))
		}
		err := k.keep(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failures = 0
		case failures == 0:
			// In a new installation the CA's Secret is empty for a moment. What lasts is told a second later.
			failures++
			log.V(1).Info("CA bundle not kept, once", "problem", err.Error())
		default:
			failures++
			log.Error(err, "CA bundle not kept", "retryAfter", pauseAfter(failures).String())
		}
	}
}

// pauseAfter is how long to wait for a change before looking all the same: 1 s, 2 s, 4 s and so on after failures.
func pauseAfter(failures int) time.Duration {
	if failures == 0 {
		return keepInterval
	}
	return min(time.Second<<min(failures-1, 10), keepInterval)
}

// keep looks once and remembers the outcome for LastError and CA.
func (k *bundleKeeper) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	authorities, err := k.readCA(ctx)
	if err == nil && len(authorities) > 0 && k.configuration != "" {
		// A conflict means that somebody else wrote between our read and our write: read again, so that no CA of theirs is lost.
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error { return k.write(ctx, authorities) })
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(authorities) > 0 {
		k.ca = authorities[0]
	}
	k.fail = err
	return err
}

// readCA returns nothing while the Secret does not exist: the authority creates it and tells.
func (k *bundleKeeper) readCA(ctx context.Context) ([]*x509.Certificate, error) {
	secret, err := k.secrets.Get(ctx, k.secret.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CA in Secret %s: %w", k.secret, err)
	}
	authorities := parseBundle(secret.Data["ca.crt"])
	if len(authorities) == 0 {
		return nil, fmt.Errorf("the Secret %s has no certificate in ca.crt: it should be replaced within seconds; "+
			"if this lasts, see that stepgate's service account may update it, or delete it", k.secret)
	}
	return authorities, nil
}

// write applies the merged bundle if it differs from what is there. It is given the configuration's UID and
// resourceVersion, so that it neither creates a configuration nor overwrites one that it has not read.
func (k *bundleKeeper) write(ctx context.Context, authorities []*x509.Certificate) error {
	current, err := k.configurations.Get(ctx, k.configuration, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading ValidatingWebhookConfiguration %s: %w", k.configuration, err)
	}
	wanted, changed := withBundles(current, authorities, k.now())
	if !changed {
		return nil
	}
	if by := injectedBy(current); by != "" {
		return fmt.Errorf("ValidatingWebhookConfiguration %s is annotated %s, so cert-manager's cainjector owns its "+
			"caBundle and stepgate does not write it: remove the annotation, or use --cert-mode files", k.configuration, by)
	}
	_, err = k.configurations.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("writing the caBundle of ValidatingWebhookConfiguration %s: %w", k.configuration, err)
	}
	logr.FromContextOrDiscard(ctx).Info("CA bundle written", "validatingWebhookConfiguration", k.configuration,
		"webhooks", len(wanted.Webhooks), "caExpires", stamp(authorities[0].NotAfter))
	return nil
}

// LastError is the outcome of the last look; nil before the first.
func (k *bundleKeeper) LastError() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fail
}

// CA is the certificate last read from the Secret; nil before the first read.
func (k *bundleKeeper) CA() *x509.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ca
}
