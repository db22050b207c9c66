// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"maps"
	"reflect"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// createOrUpdate is CreateOrUpdate of applicationset/utils: one merge patch, made against the cache and without a
// resourceVersion.
func (c *setController) createOrUpdate(want *argo.Application) error {
	found := c.cache.apps[want.Name]
	if found == nil {
		return c.create(want)
	}
	m := c.w.members[want.Name]
	spec := !reflect.DeepEqual(found.Spec, m.keepsImage(want.Spec, &found.Spec))
	adopts := found.OwnerReferences[0].UID != want.OwnerReferences[0].UID
	labels := !maps.Equal(found.Labels, want.Labels)
	operation := want.Operation != nil && !reflect.DeepEqual(found.Operation, want.Operation)
	if !spec && !labels && !operation && !adopts {
		return nil
	}
	if spec || adopts {
		c.waitToWrite(want.Name)
	}
	live := c.w.api.apps[want.Name]
	if live == nil {
		delete(c.cache.apps, want.Name) // NotFound evicts
		return errors.New("NotFound")
	}
	app := *live
	if spec {
		app.Spec = m.keepsImage(want.Spec, &live.Spec)
	}
	if labels {
		app.Labels, m.relabelled = want.Labels, false
		c.w.putWave(&app, stepOf(want))
	}
	if adopts {
		app.OwnerReferences = want.OwnerReferences
	}
	if operation {
		app.Operation = merged(live.Operation, found.Operation, want.Operation)
	}
	if spec || labels {
		app.ManagedFields = c.w.written(want.Name)
	}
	return c.write(&app)
}

// written notes that the ApplicationSet controller writes a spec, and returns what the API server keeps of that.
func (w *world) written(name string) []metav1.ManagedFieldsEntry {
	w.members[name].specified = w.now
	return managedSince(w.stampAt(w.now))
}

// managedSince are the managedFields of an Application whose spec was written at a time. That a write of an operation
// renews the time is not modelled.
func managedSince(at metav1.Time) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "argocd-applicationset-controller", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
	}
}

// merged is what a merge patch leaves of an operation: fields that the cache did not show stay.
func merged(live, cached, want *argo.Operation) *argo.Operation {
	if live == nil || cached != nil || live.Sync == nil {
		return want
	}
	both, sync := *want, *want.Sync
	sync.Revision, sync.Revisions, sync.Source, sync.Sources = live.Sync.Revision, live.Sync.Revisions, live.Sync.Source,
		live.Sync.Sources
	both.Sync = &sync
	return &both
}

// waitToWrite waits as long as the next write of a spec takes.
func (c *setController) waitToWrite(name string) {
	m := c.w.members[name]
	wait := m.slowWrite
	if m.slowWrite = 0; wait > 0 {
		c.w.logf("the write of %s by the ApplicationSet controller takes %s", name, wait)
		c.w.advance(wait)
	}
}

func (c *setController) create(want *argo.Application) error {
	c.waitToWrite(want.Name)
	if c.w.api.apps[want.Name] != nil {
		return errors.New("AlreadyExists")
	}
	app := *want
	app.UID = types.UID(want.Name + "-uid-" + c.w.api.next())
	app.ManagedFields = c.w.written(want.Name)
	c.w.members[want.Name].settled = c.w.now
	return c.write(&app)
}

func (c *setController) write(app *argo.Application) error {
	if stepOf(c.w.api.apps[app.Name]) != stepOf(app) {
		c.w.members[app.Name].settled = c.w.now
	}
	m, before := c.w.members[app.Name], c.w.api.apps[app.Name]
	if err := c.w.api.operationWrite(app, applicationSetAccount); err != nil {
		return err
	}
	answer := c.w.api.apps[app.Name]
	if m.slowAnswer > 0 && answer == before {
		// The API server answers a write that changes nothing with the object as it was read, before the webhooks were
		// asked.
		wait := m.slowAnswer
		m.slowAnswer = 0
		c.w.logf("the API server answers a write of %s that changes nothing after %s", app.Name, wait)
		c.w.advance(wait)
	}
	if c.w.traits.writesBack {
		c.cache.put(answer)
	}
	return nil
}
