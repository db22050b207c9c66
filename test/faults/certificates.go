package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/release"
)

func certificateFaults() []fault {
	return []fault{
		{"F15", "the mounted certificate expires and is replaced", false, expiry},
		{"F16", "leaves rotate", false, leavesRotate},
		{"F17", "the CA is about to expire and is replaced", true, caRotates},
		{"F18", "the CA Secret is deleted, emptied, garbled", false, secretBroken},
		{"F19", "the CA bundle is wiped", true, bundleWiped},
	}
}

// expiry has an instance that serves files. It is not ready with an expired certificate, and ready soon after a new one.
func expiry(ctx context.Context, t *trial) error {
	dir := t.cluster.Dir()
	mount := func(life time.Duration) ([]byte, error) {
		certificate, key, err := release.SelfSigned("files", time.Now().Add(-time.Hour), time.Now().Add(life))
		if err != nil {
			return nil, err
		}
		return certificate, errors.Join(replaceFile(dir, "tls.crt", certificate), replaceFile(dir, "tls.key", key))
	}
	bundle, err := mount(10 * time.Second)
	if err != nil {
		return err
	}
	const name = "stepgate-files"
	gate, err := release.StartOne(ctx, t.cluster, release.Options{
		Registration: release.Registration{Name: name, Namespaces: []string{"files"}},
		CertArgs:     []string{"--cert-mode=files", "--cert-dir=" + dir},
	})
	if err != nil {
		return err
	}
	defer func() {
		gate.Kill()
		_ = t.admin.Delete(context.WithoutCancel(ctx), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}()
	if err := t.setBundle(ctx, name, bundle); err != nil {
		return err
	}
	if err := gate.WaitReady(ctx); err != nil {
		return err
	}
	r, err := t.writer.NewRollout(ctx, t.cluster.Cluster, "files")
	if err != nil {
		return err
	}
	for range 8 {
		r.Next(ctx)
	}
	t.inject(1)
	err = eventually.Succeeds(ctx, func() error {
		if problem := gate.Ready(ctx); problem == nil || !strings.Contains(problem.Error(), "expired") {
			return fmt.Errorf("readyz says %v", problem) //nolint:errorlint // it may be nil
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("an expired certificate does not make it unready: %w", err)
	}
	for range 8 {
		r.Next(ctx) // on a connection from before, or not at all
	}
	replaced := time.Now()
	next, err := mount(time.Hour)
	if err != nil {
		return err
	}
	if err := t.setBundle(ctx, name, append(bundle, next...)); err != nil {
		return err
	}
	if err := gate.WaitReady(ctx); err != nil {
		return err
	}
	took := time.Since(replaced)
	t.recovery = took
	t.note("ready %s after the files and the bundle were replaced", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.problem("a new certificate served within 10 s")
	}
	return nil
}

func replaceFile(dir, name string, text []byte) error {
	temporary := filepath.Join(dir, "."+name)
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, name))
}

func (t *trial) setBundle(ctx context.Context, name string, bundle []byte) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := t.admin.Get(ctx, types.NamespacedName{Name: name}, configuration); err != nil {
		return err
	}
	before := configuration.DeepCopy()
	configuration.Webhooks[0].ClientConfig.CABundle = bundle
	return t.admin.Patch(ctx, configuration, client.MergeFrom(before))
}

// leavesRotate waits for leaves to be replaced: after two thirds of the 30 s that they live here.
func leavesRotate(ctx context.Context, t *trial) error {
	err := t.under(ctx, func(ctx context.Context) error {
		for _, gate := range t.release.Replicas() {
			before, err := gate.Leaf(nil)
			if err != nil {
				return err
			}
			err = eventually.Succeeds(ctx, func() error {
				now, err := gate.Leaf(nil)
				if err == nil && now.Equal(before) {
					err = errors.New("the leaf is still the one before")
				}
				return err
			})
			if err != nil {
				return err
			}
			t.inject(1)
		}
		return nil
	})
	t.noneFailed()
	return err
}

func caRotates(ctx context.Context, t *trial) error {
	return t.rotate(ctx, t.times(5), t.release.AgeCA)
}

func secretBroken(ctx context.Context, t *trial) error {
	return t.rotate(ctx, t.times(5), t.release.DeleteCA, t.release.EmptyCA, t.release.GarbleCA)
}

// rotate breaks the CA so often, in each of these ways, and waits until every replica serves a leaf of the next one.
func (t *trial) rotate(ctx context.Context, times int, ways ...func(context.Context) error) error {
	err := t.under(ctx, func(ctx context.Context) error {
		for range times {
			for _, way := range ways {
				if err := t.rotateOnce(ctx, way); err != nil {
					return err
				}
			}
		}
		return nil
	})
	t.noneFailed()
	return err
}

func (t *trial) rotateOnce(ctx context.Context, way func(context.Context) error) error {
	before, err := t.release.CA(ctx)
	if err != nil {
		return err
	}
	registered, err := t.release.Registered(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := way(ctx); err != nil {
		return err
	}
	t.inject(1)
	if err := t.release.WaitRotated(ctx, before); err != nil {
		return err
	}
	t.recovery = max(t.recovery, time.Since(began))
	after, err := t.release.Registered(ctx)
	if err != nil {
		return err
	}
	if writes := after.Generation - registered.Generation; writes > 3*replicas {
		t.problem("%d writes of the bundle for one CA", writes)
	}
	return nil
}

// noneFailed is a goal of what goes on without anybody noticing.
func (t *trial) noneFailed() {
	if failed := t.writes.Count(load.Failed); failed > 0 {
		t.problem("%d calls failed: %v", failed, t.writes.Texts())
	}
}

// bundleWiped empties the bundle. Calls fail until it is restored; the replicas stay ready.
func bundleWiped(ctx context.Context, t *trial) error {
	return t.under(ctx, func(ctx context.Context) error {
		for range t.times(20) {
			wiped, back, err := t.release.WipeBundle(ctx)
			if err != nil {
				return err
			}
			t.inject(1)
			t.recovery = max(t.recovery, back.Sub(wiped))
			if ready := t.release.Balancer.Ready(); ready < replicas {
				t.problem("%d of %d replicas are ready after the bundle was wiped", ready, replicas)
			}
			if err := pass(ctx, time.Second); err != nil {
				return err
			}
		}
		if t.recovery > 5*time.Second {
			t.problem("a wiped bundle restored within 5 s")
		}
		return nil
	})
}
