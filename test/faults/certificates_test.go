// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/installed"
)

// TestF15_ExpiredFiles has an instance that serves files. It is not ready with an expired certificate, and ready soon
// after a new one is mounted.
func TestF15_ExpiredFiles(t *testing.T) {
	f := begin(t, "F15 the mounted certificate expires and is replaced")
	const name = "stepgate-files"
	dir := t.TempDir()
	bundle, err := installed.MountFiles(dir, 10*time.Second)
	f.Expect(err).NotTo(HaveOccurred())
	replica, err := installed.StartOne(f.ctx, f.Environment, installed.Options{
		Registration: installed.Registration{Name: name, Namespaces: []string{"files"}},
		CertArgs:     []string{"--cert-dir=" + dir}, Args: []string{"--spec-settling=0"},
	})
	f.Expect(err).NotTo(HaveOccurred())
	defer func() {
		replica.Kill()
		f.Expect(installed.Unregister(f.ctx, f.Environment, name)).To(Succeed())
	}()
	f.Expect(installed.SetBundle(f.ctx, f.Environment, name, bundle)).To(Succeed())
	f.Expect(replica.WaitReady(f.ctx)).To(Succeed())
	r := f.rollout("files")
	for range 8 {
		r.Next(f.ctx)
	}
	f.inject(1)
	f.Eventually(func() error { return replica.Ready(f.ctx) }).Should(MatchError(ContainSubstring("expired")))
	for range 8 {
		r.Next(f.ctx) // on a connection from before, or not at all
	}
	replaced := time.Now()
	next, err := installed.MountFiles(dir, time.Hour)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(installed.SetBundle(f.ctx, f.Environment, name, append(bundle, next...))).To(Succeed())
	f.Expect(replica.WaitReady(f.ctx)).To(Succeed())
	f.recovery = time.Since(replaced)
	f.note("ready %s after the files and the bundle were replaced", f.recovery.Round(time.Millisecond))
}

// TestF16_LeavesRotate waits for leaves to be replaced: after two thirds of the 30 s that they live here.
func TestF16_LeavesRotate(t *testing.T) {
	f := begin(t, "F16 leaves rotate")
	f.under(func() {
		for _, replica := range f.release.Replicas() {
			before, err := replica.Leaf(nil)
			f.Expect(err).NotTo(HaveOccurred())
			f.Eventually(func() error {
				now, err := replica.Leaf(nil)
				if err == nil && now.Equal(before) {
					err = errors.New("the leaf is still the one before")
				}
				return err
			}).Should(Succeed())
			f.inject(1)
		}
	})
	f.noneFailed()
}

func TestF17_AgedCA(t *testing.T) {
	f := begin(t, "F17 the CA is about to expire and is replaced")
	f.rotate(f.release.AgeCA)
}

func TestF18_BrokenCASecret(t *testing.T) {
	f := begin(t, "F18 the CA Secret is deleted, emptied, garbled")
	f.rotate(f.release.DeleteCA, f.release.EmptyCA, f.release.GarbleCA)
}

// rotate breaks the CA in each of these ways, and waits until every replica serves a leaf of the next one.
func (f *trial) rotate(ways ...func(context.Context) error) {
	f.under(func() {
		for range times(5) {
			for _, way := range ways {
				before, err := installed.Configurations(f.ctx, f.Environment, f.release.Name())
				f.Expect(err).NotTo(HaveOccurred())
				began := time.Now()
				f.inject(1)
				f.Expect(f.release.Rotate(f.ctx, way)).To(Succeed())
				f.recovery = max(f.recovery, time.Since(began))
				after, err := installed.Configurations(f.ctx, f.Environment, f.release.Name())
				f.Expect(err).NotTo(HaveOccurred())
				for i, c := range after {
					if writes := c.GetGeneration() - before[i].GetGeneration(); writes > 3*replicas {
						f.Errorf("%d writes of a bundle for one CA", writes)
					}
				}
			}
		}
	})
	f.noneFailed()
}

// TestF19_WipedBundle empties the bundle. Calls fail until it is restored; the replicas stay ready.
func TestF19_WipedBundle(t *testing.T) {
	f := begin(t, "F19 the CA bundle is wiped")
	f.under(func() {
		for range times(20) {
			wiped, back, err := f.release.WipeBundle(f.ctx)
			f.Expect(err).NotTo(HaveOccurred())
			f.inject(1)
			f.recovery = max(f.recovery, back.Sub(wiped))
			if ready := f.release.Balancer.Ready(); ready < replicas {
				f.Errorf("%d of %d replicas are ready after the bundle was wiped", ready, replicas)
			}
			pass(time.Second)
		}
	})
}
