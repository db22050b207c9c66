// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// setsOfRepository is how many ApplicationSets deploy from one repository.
	setsOfRepository = 10
	// rolling is how many ApplicationSets there are for each one of which a sync waits at any time.
	rolling  = 100
	creators = 8
	// fleetResources is how many resources an Application of the fleet has: 50,000 of them have to fit into the memory
	// of this machine's API server. stepgate keeps none of them.
	fleetResources = 20
)

// grow creates ApplicationSets and their Applications until there are so many Applications.
func (f *fleet) grow(ctx context.Context, applications int) {
	began, before := time.Now(), f.sets
	progress("creating ApplicationSets for %d Applications in %d namespaces", applications, len(f.namespaces))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for ; f.sets*perSet < applications; f.sets++ {
		set := f.set(f.sets)
		group.Go(func() error { return set.create(groupCtx, f) })
		f.add(set)
	}
	script.Must(group.Wait())
	f.caughtUp(ctx)
	for _, r := range append(append(f.allowed, f.denied...), f.operated...) {
		if r.review == nil {
			script.Must(r.read(ctx, f.Admin))
		}
	}
	if f.sets > before {
		progress("%d ApplicationSets with %d Applications of %d bytes of JSON each (%s)", f.sets, f.sets*perSet,
			f.bytes(ctx), time.Since(began).Round(time.Second))
	}
}

// caughtUp waits until the API server's watch cache has what was stored: until then it answers that the list is not as
// new as it has to be.
func (f *fleet) caughtUp(ctx context.Context) {
	for began := time.Now(); ; {
		err := f.raw.Get().Resource("applications").Param("limit", "1").Param("labelSelector",
			"nobody=has-it").Do(ctx).Error()
		if err == nil {
			return
		}
		if time.Since(began) > longestStart {
			script.Must(err)
		}
		script.Must(sleep(ctx, time.Second))
	}
}

// bytes is the size of an Application.
func (f *fleet) bytes(ctx context.Context) int {
	at := f.applications[0]
	return len(script.Get(f.raw.Get().Namespace(at.Namespace).Resource("applications").Name(at.Name).DoRaw(ctx)))
}

// fleetSet is an ApplicationSet of the fleet. A sync waits for its last Application in some, and its first one is
// Degraded in some of these.
type fleetSet struct {
	*argo.ApplicationSet
	repository        int
	waits, degraded   bool
	allowed, operated bool
}

// set is ApplicationSet i. The first two of each namespace are those that decisions are asked about.
func (f *fleet) set(i int) *fleetSet {
	s := &fleetSet{ApplicationSet: guestbook.Set(f.namespaces[i%len(f.namespaces)]), repository: i / setsOfRepository}
	s.Name = fmt.Sprintf("set-%05d", i)
	switch i / len(f.namespaces) {
	case 0:
		s.waits, s.allowed = true, true
	case 1:
		s.waits, s.degraded = true, true
	default:
		s.operated = i%rolling == rolling-1
		s.waits = s.operated
	}
	return s
}

// add has the Applications of an ApplicationSet written, except those that decisions are asked about, and remembers its
// rollout.
func (f *fleet) add(s *fleetSet) {
	for j := range perSet {
		if j < perSet-1 || !s.waits {
			f.applications = append(f.applications, types.NamespacedName{Namespace: s.Namespace, Name: s.application(j)})
		}
	}
	r := &rollout{siblings: perSet, namespace: s.Namespace, first: s.application(0), target: s.application(perSet - 1)}
	switch {
	case s.allowed:
		f.allowed = append(f.allowed, r)
	case s.degraded:
		f.denied = append(f.denied, r)
	case s.operated:
		f.operated = append(f.operated, r)
	}
}

func (s *fleetSet) application(j int) string { return fmt.Sprintf("%s-%02d", s.Name, j) }

// create stores the ApplicationSet with its status, and its Applications with theirs, as the API server stores them.
func (s *fleetSet) create(ctx context.Context, f *fleet) error {
	source := s.Spec.Template.Spec.Source
	source.RepoURL = string(s.deploys([]byte(source.RepoURL)))
	stamp(s.ApplicationSet)
	s.record()
	objects := []stored{{Key: keyOf("applicationsets", s.Namespace, s.Name), Value: encode(s.ApplicationSet)}}
	for j := range perSet {
		objects = append(objects, stored{
			Key: keyOf("applications", s.Namespace, s.application(j)), Value: s.body(j, f.managed),
		})
	}
	for _, o := range objects { // each has a revision of its own, as by the API server
		if err := f.store.put(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// stamp sets the metadata that the API server gives to an object.
func stamp(o client.Object) {
	o.SetUID(uuid.NewUUID())
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
}

// body is Application j as JSON, as it was synced ten times.
func (s *fleetSet) body(j int, managed []metav1.ManagedFieldsEntry) []byte {
	app := guestbook.Application(s.ApplicationSet, []string{"dev", "qa", "prod"}[j*3/perSet])
	stamp(app)
	app.Name, app.ManagedFields = s.application(j), managed
	app.Labels["app.kubernetes.io/name"], app.Labels["team"], app.Labels["region"] = s.Name, s.Namespace,
		fmt.Sprint("region-", j%5)
	app.Spec.Source.Path, app.Spec.Destination.Server = "apps/"+app.Name,
		fmt.Sprintf("https://cluster-%02d.example.com", j)
	done(app)
	app.Status.Resources = app.Status.Resources[:fleetResources]
	for i := range app.Status.History[:history-1] {
		app.Status.History[i].Revision = commit(s.repository, i)
	}
	if s.waits && j == perSet-1 {
		pending(app)
	}
	if s.degraded && j == 0 {
		app.Status.Health.Status = "Degraded"
	}
	return s.deploys(encode(app))
}

// deploys gives JSON the repository and the commits of this ApplicationSet.
func (s *fleetSet) deploys(text []byte) []byte {
	for from, to := range map[string]string{
		guestbook.NewCommit: commit(s.repository, history-1), guestbook.OldCommit: commit(s.repository, history-2),
		"cluster-deployments.git": fmt.Sprintf("deployments-%04d.git", s.repository),
	} {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	return text
}

// record is the status that the ApplicationSet controller keeps.
func (s *fleetSet) record() {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for j := range perSet {
		status := argo.ApplicationSetApplicationStatus{
			Application: s.application(j), LastTransitionTime: &now, Status: "Healthy", Step: fmt.Sprint(j*3/perSet + 1),
			Message:         "Application resource became Healthy, updating status from Progressing to Healthy.",
			TargetRevisions: []string{commit(s.repository, history-1)},
		}
		if s.waits && j == perSet-1 {
			status.Status = "Pending"
		}
		s.Status.ApplicationStatus = append(s.Status.ApplicationStatus, status)
	}
}

// commit is a commit of a repository.
func commit(repository, i int) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%d %d", repository, i))
	return hex.EncodeToString(sum[:])
}

// read makes the requests about the target of a rollout.
func (r *rollout) read(ctx context.Context, admin client.Client) error {
	var target argo.Application
	if err := admin.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: r.target}, &target); err != nil {
		return err
	}
	r.review = review(&target)
	r.unpinned = encode(map[string]any{"operation": guestbook.Once(guestbook.RollingSync())})
	r.pinned = encode(map[string]any{"operation": guestbook.Pinned(guestbook.Once(guestbook.RollingSync()), &target)})
	return nil
}
