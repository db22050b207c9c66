// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	authorityName = "stepgate-webhook-ca"
	defaultSettle = 5 * time.Second
	signInterval  = 250 * time.Millisecond
	selfRemedy    = "stepgate writes it within seconds; if this lasts, see that its service account may get and patch " +
		"the configuration"
)

// SelfOptions say which names are certified, and where the CA and its bundle are stored.
type SelfOptions struct {
	RESTConfig *rest.Config
	// Secret holds the CA and its private key. It is created, and replaced when it is unusable or two thirds of the
	// CA's life are over.
	Secret       types.NamespacedName
	SecretLabels map[string]string
	// DNSNames and IPAddresses are the leaf's subject alternative names. At least one is needed.
	DNSNames    []string
	IPAddresses []net.IP
	// Configurations are the webhook configurations whose caBundles are written.
	Configurations Configurations
	// CADuration and LeafDuration are lifetimes; 0 is the library's default, 365 and 7 days.
	CADuration, LeafDuration time.Duration
	// Settle is for how long the configurations must have carried a new leaf's CA before the leaf is served; 0 is 5 s.
	Settle time.Duration
	// Now is the clock of all decisions made here; nil is time.Now. Signing uses the wall clock.
	Now func() time.Time
	// Metrics registers the metrics; nil: they are not registered.
	Metrics prometheus.Registerer
}

// self is the Source that signs its own certificate.
type self struct {
	authority     cmtls.Authority
	leaves        *cmtls.DynamicSource
	selector      *leafSelector
	publisher     *bundlePublisher
	registrations registrations
	grace         gracePeriod
	now           func() time.Time
}

// NewSelf returns a Source that signs its own certificate. It reads nothing yet; an error is one of the options.
func NewSelf(o SelfOptions) (Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("self-signed serving certificate: %w", err)
	}
	client, err := kubernetes.NewForConfig(o.RESTConfig)
	if err != nil {
		return nil, fmt.Errorf("self-signed serving certificate: %w", err)
	}
	return newSelf(o, client, &authority.DynamicAuthority{
		SecretNamespace: o.Secret.Namespace,
		SecretName:      o.Secret.Name,
		SecretLabels:    o.SecretLabels,
		RESTConfig:      o.RESTConfig,
		CommonName:      authorityName,
		CADuration:      o.CADuration,
		LeafDuration:    o.LeafDuration,
	})
}

func (o SelfOptions) validate() error {
	switch {
	case o.RESTConfig == nil:
		return errors.New("RESTConfig is not set")
	case o.Secret.Namespace == "" || o.Secret.Name == "":
		return errors.New("the namespace and the name of the CA Secret must be set")
	case len(o.DNSNames)+len(o.IPAddresses) == 0:
		return errors.New("neither a DNS name nor an IP address is given; use the one by which the API server " +
			"calls stepgate, such as stepgate.argocd.svc")
	case o.CADuration != 0 && o.CADuration <= o.LeafDuration:
		return fmt.Errorf("the CA's lifetime (%s) must be longer than the leaf's (%s)", o.CADuration, o.LeafDuration)
	}
	return nil
}

func newSelf(o SelfOptions, client kubernetes.Interface, ca cmtls.Authority) (*self, error) {
	ca = namedAuthority{Authority: ca, addresses: o.IPAddresses}
	configurations := o.Configurations.open(client)
	s := &self{
		authority: ca,
		leaves:    &cmtls.DynamicSource{DNSNames: o.DNSNames, Authority: ca, RetryInterval: signInterval},
		publisher: newBundlePublisher(o.Secret, client.CoreV1().Secrets(o.Secret.Namespace), configurations),
		now:       clockOr(o.Now),
	}
	s.publisher.now = s.now
	var err error
	if s.registrations, err = newRegistrations(configurations, selfRemedy, s.registrationChanged); err != nil {
		return nil, err
	}
	s.selector = newLeafSelector(s.leaves, s.registrations, cmp.Or(o.Settle, defaultSettle), s.now)
	return s, register(o.Metrics, &collector{
		serving: s.served, ca: s.publisher.CA, registration: s.registrations, now: s.now,
	})
}

// registrationChanged is called after every change of a configuration, once Start runs.
func (s *self) registrationChanged() {
	s.publisher.wake.raise()
	s.selector.wake.raise()
}

// Start runs the authority, the leaf, the bundle and the watches.
func (s *self) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx).WithName("certs")
	group, inner := errgroup.WithContext(logr.NewContext(ctx, log))
	s.authority.WatchRotation(s.publisher.rotated)
	defer s.authority.StopWatchingRotation(s.publisher.rotated)
	group.Go(func() error {
		// The library logs every step it takes. The selector and the publisher log the important ones.
		if err := s.leaves.Start(logr.NewContext(inner, log.V(1).WithName("authority"))); err != nil {
			return fmt.Errorf("signing serving certificates has stopped: %w", err)
		}
		return nil
	})
	group.Go(func() error { return s.publisher.Start(inner) })
	group.Go(func() error { return s.selector.Start(inner) })
	for _, r := range s.registrations {
		group.Go(func() error { return r.Start(inner) })
	}
	return untilDone(ctx, group.Wait())
}

// GetCertificate returns the leaf that is served now, which may not be the newest.
func (s *self) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.selector.GetCertificate(hello)
}

// Ready gives a wrong bundle a grace period, since the publisher writes it. The last error of the publisher is added to
// the reason, since it is most often the cause.
func (s *self) Ready() error {
	certificate, err := s.selector.GetCertificate(nil)
	now := s.now()
	if err == nil {
		err = validNow(certificate, now)
	}
	if err == nil {
		err = s.grace.tolerate(s.registrations.Accepts(certificate, now), now)
	}
	if cause := s.publisher.LastError(); err != nil && cause != nil {
		return fmt.Errorf("%w; the last attempt to publish the CA bundle failed: %w", err, cause)
	}
	return err
}

func (s *self) served() *tls.Certificate {
	certificate, err := s.selector.GetCertificate(nil)
	if err != nil {
		return nil
	}
	return certificate
}

// namedAuthority also certifies IP addresses, which cert-manager's source does not know.
type namedAuthority struct {
	cmtls.Authority
	addresses []net.IP
}

// Sign signs the template with the addresses put in.
func (a namedAuthority) Sign(template *x509.Certificate) (*x509.Certificate, error) {
	template.IPAddresses = a.addresses
	return a.Authority.Sign(template)
}

func clockOr(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}
