// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestAnApplicationSetIsReadUnlessItIsKnownToBeCurrent has two ApplicationSets that were watched, the large one at
// resourceVersion 1, in a mode that the live ones need not have any more.
func TestAnApplicationSetIsReadUnlessItIsKnownToBeCurrent(t *testing.T) {
	name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	source := fakewatch.NewFakeControllerSource()
	large := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name, UID: "s1",
		Annotations: map[string]string{"stepgate.io/mode": "off", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
	}}
	small := large.DeepCopy()
	small.Name = "small"
	recorded := map[string]policy.Recorded{}
	for i := range fewRecorded + 1 {
		app := fmt.Sprint("app-", i)
		recorded[app] = policy.Recorded{Step: 1}
		large.Status.ApplicationStatus = append(large.Status.ApplicationStatus,
			argo.ApplicationSetApplicationStatus{Application: app, Step: "1"})
	}
	small.Status.ApplicationStatus = large.Status.ApplicationStatus[:fewRecorded]
	source.Add(large)
	source.Add(small)
	known := NewCache(Source{fakewatch.NewFakeControllerSource(), source})
	go known.Run(t.Context())
	NewWithT(t).Eventually(known.Synced).Should(BeTrue())

	watched := &argocd.ApplicationSet{
		ApplicationSet: policy.ApplicationSet{Namespace: "argocd", Name: "guestbook", UID: "s1", Recorded: recorded},
		Annotations:    argocd.ReadAnnotations(map[string]string{"stepgate.io/mode": "off"}),
	}
	read := &argocd.ApplicationSet{Annotations: argocd.ReadAnnotations(map[string]string{"stepgate.io/mode": "enforce"})}
	broken := errors.New("the API server does not answer")
	for it, row := range map[string]struct {
		name     types.NamespacedName
		live     liveSet
		want     *argocd.ApplicationSet
		wantGets int
		wantErr  error
	}{
		"watched at the live version":    {name: name, live: liveSet{at: Version{UID: "s1", ResourceVersion: "1"}, set: read}, want: watched},
		"a small one is simply read":     {name: types.NamespacedName{Namespace: "argocd", Name: "small"}, live: liveSet{listErr: broken, set: read}, want: read, wantGets: 1},
		"changed since":                  {name: name, live: liveSet{at: Version{UID: "s1", ResourceVersion: "2"}, set: read}, want: read, wantGets: 1},
		"recreated since":                {name: name, live: liveSet{at: Version{UID: "s2", ResourceVersion: "1"}, set: read}, want: read, wantGets: 1},
		"not listed":                     {name: name, live: liveSet{}, wantGets: 1},
		"not watched":                    {name: types.NamespacedName{Namespace: "argocd", Name: "other"}, live: liveSet{listErr: broken, set: read}, want: read, wantGets: 1},
		"its version cannot be read":     {name: name, live: liveSet{at: Version{UID: "s1", ResourceVersion: "1"}, listErr: broken}, wantErr: broken},
		"changed, and it cannot be read": {name: name, live: liveSet{at: Version{UID: "s1", ResourceVersion: "2"}, getErr: broken}, wantGets: 1, wantErr: broken},
	} {
		t.Run(it, func(t *testing.T) {
			g := NewWithT(t)
			set, err := NewReader(&row.live, known).ApplicationSet(t.Context(), row.name)
			if row.wantErr == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.wantErr))
			}
			g.Expect(set).To(Equal(row.want))
			g.Expect(row.live.gets).To(Equal(row.wantGets))
		})
	}
}

// liveSet answers the reads of one ApplicationSet.
type liveSet struct {
	Live
	at              Version
	set             *argocd.ApplicationSet
	listErr, getErr error
	gets            int
}

// SetVersion lists it.
func (l *liveSet) SetVersion(context.Context, types.NamespacedName, int) (Version, error) {
	return l.at, l.listErr
}

// ApplicationSet reads it.
func (l *liveSet) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	l.gets++
	return l.set, l.getErr
}

// knownSet knows one ApplicationSet.
type knownSet struct {
	Known
	name types.NamespacedName
}

// Set knows it.
func (k knownSet) Set(name types.NamespacedName) (*argocd.ApplicationSet, Version) {
	if name == k.name {
		return &argocd.ApplicationSet{}, Version{}
	}
	return nil, Version{}
}

// hangingSet never answers for any other ApplicationSet.
type hangingSet struct {
	Live
	name types.NamespacedName
}

// ApplicationSet reads it.
func (l hangingSet) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if name == l.name {
		return &argocd.ApplicationSet{}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestMadeUpNamesDoNotDelayOthers has many reads of ApplicationSets that nobody has seen under way.
func TestMadeUpNamesDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
		reader := NewReader(hangingSet{name: name}, knownSet{name: name})
		for i := range 10 {
			go func() {
				_, _ = reader.ApplicationSet(t.Context(), types.NamespacedName{
					Namespace: "argocd", Name: fmt.Sprint("made-up-", i),
				})
			}()
		}
		synctest.Wait()
		before := time.Now()
		set, err := reader.ApplicationSet(t.Context(), name)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(set).NotTo(BeNil())
		g.Expect(time.Since(before)).To(BeZero())
	})
}
