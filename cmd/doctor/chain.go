// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"time"
)

// Served is the certificate chain that somebody got from a replica.
type Served struct {
	// By is the Pod, or the URL.
	By    string
	Chain []*x509.Certificate
	Err   error
}

// host is the name by which the API server calls a webhook, and for which the certificate has to be.
func (r *Registration) host() string {
	c := r.Webhook.ClientConfig
	if c.Service != nil {
		return c.Service.Name + "." + c.Service.Namespace + ".svc"
	}
	if c.URL != nil {
		if u, err := url.Parse(*c.URL); err == nil {
			return u.Hostname()
		}
	}
	return ""
}

// authorities are the certificates of a caBundle. It skips everything else, as the API server does.
func authorities(bundle []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return found
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, certificate)
		}
	}
}

// verify says why the API server would not accept a chain that is served, and which authority it trusts.
func (r *Registration) verify(chain []*x509.Certificate, now time.Time) (root *x509.Certificate, err error) {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range authorities(r.Webhook.ClientConfig.CABundle) {
		roots.AddCert(c)
	}
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: r.host(), Roots: roots, Intermediates: intermediates, CurrentTime: now,
	})
	if err != nil {
		return nil, err
	}
	return chains[0][len(chains[0])-1], nil
}

// bundle checks a caBundle by itself.
func (r *Registration) bundle(f *Facts, of *Installation) Check {
	const name = "caBundle"
	all := authorities(r.Webhook.ClientConfig.CABundle)
	if len(r.Webhook.ClientConfig.CABundle) == 0 {
		return of.repairBundle(problem(name,
			"It is empty: the API server trusts no certificate of stepgate, and every call fails."))
	}
	if len(all) == 0 {
		return of.repairBundle(problem(name, "It has no certificate: every call of the API server fails."))
	}
	valid := 0
	for _, c := range all {
		if f.Now.Before(c.NotAfter) {
			valid++
		}
	}
	if valid == 0 {
		return of.repairBundle(problem(name, "All its certificates have expired: every call of the API server fails."))
	}
	return ok(name, "%s.", count(valid, "valid certificate authority", "valid certificate authorities"))
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

const injectAnnotation = "cert-manager.io/inject-ca-from"

// repairBundle adds what to do about a caBundle, which depends on who writes it.
func (r *Installation) repairBundle(c Check) Check {
	injected := false
	for _, w := range r.registrations() {
		injected = injected || w.Annotations[injectAnnotation] != ""
	}
	switch {
	case injected:
		return c.do("cert-manager's cainjector writes it. Is it running?",
			"kubectl get pods -A -l app.kubernetes.io/component=cainjector",
			fmt.Sprintf("kubectl -n %s describe certificate", r.namespace()))
	case r.Flags != nil && !r.Flags.OwnCA:
		return c.do("You write it. Put the CA of your certificate into a file.").
			by(r.upgrade("certs.external.caBundle=@ca.crt"))
	}
	return c.do("stepgate writes it within a second, unless it is not running or may not. Its log says why.",
		fmt.Sprintf("kubectl -n %s logs -l app.kubernetes.io/instance=%s --tail=-1 | grep caBundle", r.namespace(), r.helm()),
		fmt.Sprintf("kubectl -n %s rollout restart deployment %s", r.namespace(), r.Name))
}

// certificates checks what the replicas serve.
func (f *Facts) certificates(r *Installation) []Check {
	const group, name = "Certificate", "served chain"
	if len(r.registrations()) == 0 {
		return nil
	}
	if r.Served.Err != nil {
		return in(r.subject(), group, notRead(name, "the certificate that is served", r.Served.Err))
	}
	if len(r.Served.Value) == 0 {
		return in(r.subject(), group, unknown(name,
			"Not checked: no Pod runs that could serve it.").do("See the check \"replicas\"."))
	}
	chain, roots := f.served(r)
	checks := []Check{chain}
	if leaf := oldest(r.Served.Value); leaf != nil {
		checks = append(checks, f.age(r, "age", leaf))
	}
	if len(roots) > 0 {
		checks = append(checks, f.age(r, "age of the CA", roots[0]))
	}
	return in(r.subject(), group, checks...)
}

// served says whether every replica serves a chain that every webhook's caBundle verifies.
func (f *Facts) served(r *Installation) (check Check, roots []*x509.Certificate) {
	const name = "served chain"
	for _, s := range r.Served.Value {
		if s.Err != nil {
			lost := notRead(name, "the certificate of "+s.By, s.Err)
			return lost, roots
		}
		for _, w := range r.registrations() {
			root, err := w.verify(s.Chain, f.Now)
			if err != nil {
				return r.repairBundle(problem(name, "The caBundle of %s %s does not verify the certificate of %s: %s.", w.Kind,
					w.Name, s.By, oneLine(err.Error()))), roots
			}
			roots = append(roots, root)
		}
	}
	host := r.registrations()[0].host()
	return ok(name, "%s a chain that every caBundle verifies, for %s.",
		count(len(r.Served.Value), "replica serves", "replicas serve"), host), roots
}

// oldest is the certificate that expires first.
func oldest(all []Served) *x509.Certificate {
	var first *x509.Certificate
	for _, s := range all {
		if len(s.Chain) > 0 && (first == nil || s.Chain[0].NotAfter.Before(first.NotAfter)) {
			first = s.Chain[0]
		}
	}
	return first
}

// least is the part of its life that a certificate should have left: it is renewed earlier than that.
const least = 0.2

func (f *Facts) age(r *Installation, name string, c *x509.Certificate) Check {
	left, life := c.NotAfter.Sub(f.Now), c.NotAfter.Sub(c.NotBefore)
	switch {
	case left <= 0:
		return problem(name, "It has expired at %s: every call of the API server fails.",
			c.NotAfter.UTC().Format(time.RFC3339)).do("Its log says why it was not renewed.", r.logs("certs"))
	case left < time.Duration(least*float64(life)):
		return warning(name, "It expires in %s and should have been renewed. Every call fails then.",
			days(left)).do("Its log says why it was not renewed.", r.logs("certs"))
	}
	return ok(name, "It is valid for %s more.", days(left))
}

func days(d time.Duration) string {
	if d < 48*time.Hour {
		return count(int(d.Hours()), "hour", "hours")
	}
	return count(int(d.Hours()/24), "day", "days")
}

func (r *Installation) logs(pattern string) string {
	return fmt.Sprintf("kubectl -n %s logs -l app.kubernetes.io/instance=%s --tail=-1 | grep %s", r.namespace(), r.helm(),
		pattern)
}
