// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// mostToCreate bounds what waits to be created. What has no room is asked for again when the ApplicationSet is looked
	// at again.
	mostToCreate = 100
	// createTimeout bounds one creation.
	createTimeout = 10 * time.Second
	// createdFor is how long an object that was created, or that could not be, is not created again.
	createdFor = 5 * time.Minute
	// mostCreated bounds what is remembered of that.
	mostCreated = 256
	// longestName leaves room for the rest of the name of an object.
	longestName = 200
)

// Creator creates AnalysisRuns from AnalysisTemplates, for an ApplicationSet in its own namespace: whoever may write the
// ApplicationSet may not be allowed to run anything elsewhere. There is one for each step, template and revision, as its
// name says, and another one, with the next number, if that is older than the spec that is about to be deployed. So it
// does not matter how many replicas do it, and an AnalysisRun that somebody deletes is created again, as long as
// something waits for it.
type Creator struct {
	kind, templates schema.GroupVersionResource
	reads           Getter
	objects         dynamic.Interface
	wanted          chan run
	created         *cache.LRUExpireCache
}

// run is an AnalysisRun to create.
type run struct {
	set  *policy.ApplicationSet
	v    settings.Verification
	what string
	// after is what it has to be younger than, and number which one it is for the same step, template and revision.
	after  time.Time
	number int
}

// NewCreator returns a Creator of AnalysisRuns of a version.
func NewCreator(kind schema.GroupVersionResource, reads Getter, objects dynamic.Interface) *Creator {
	return &Creator{
		kind: kind, templates: kind.GroupVersion().WithResource("analysistemplates"), reads: reads,
		objects: objects, wanted: make(chan run, mostToCreate), created: cache.NewLRUExpireCache(mostCreated),
	}
}

// Create has an AnalysisRun created that says whether a step of an ApplicationSet may deploy something, unless there is
// one that was created after a moment. It never waits.
func (c *Creator) Create(set *policy.ApplicationSet, v settings.Verification, what string, after time.Time) {
	r := run{set: set, v: v, what: what, after: after}
	last, created := c.created.Get(r.key())
	if before, ok := last.(time.Time); created && ok && !after.After(before) || v.Template == "" ||
		v.Namespace != set.Namespace || LabelOf(what) == "" {
		return
	}
	select {
	case c.wanted <- r:
		c.created.Add(r.key(), after, createdFor)
	default:
	}
}

// Run creates what is wanted until ctx is done.
func (c *Creator) Run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-c.wanted:
			log := log.WithValues("applicationset", r.set.Namespace+"/"+r.set.Name, "step", policy.StepNumber(r.v.Step),
				"template", r.v.Template, "revision", LabelOf(r.what))
			if err := c.create(ctx, &r); err != nil {
				log.Error(err, "AnalysisRun not created")
				continue
			}
			log.Info("AnalysisRun created", "analysisrun", r.name())
		}
	}
}

func (r *run) key() string { return r.v.Namespace + "/" + r.name() }

// name is the same for the same step, template, revision and number.
func (r *run) name() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s %d %s %s", r.set.UID, r.v.Step, r.v.Template, r.what)))
	set := r.set.Name[:min(len(r.set.Name), longestName)]
	name := fmt.Sprintf("%s-%d-%s", set, policy.StepNumber(r.v.Step), hex.EncodeToString(sum[:5]))
	if r.number > 0 {
		name += "-" + strconv.Itoa(r.number+1)
	}
	return name
}

// create creates one, or finds the one that counts. That it exists already is no error.
func (c *Creator) create(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	if exists, err := c.find(ctx, r); exists || err != nil {
		return err
	}
	template, err := c.reads.Get(ctx, c.templates, types.NamespacedName{Namespace: r.v.Namespace, Name: r.v.Template})
	if err != nil {
		return fmt.Errorf("AnalysisTemplate %s/%s: %w", r.v.Namespace, r.v.Template, err)
	}
	runs := c.objects.Resource(c.kind).Namespace(r.v.Namespace)
	_, err = runs.Create(ctx, r.of(template, c.kind), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// find numbers the AnalysisRun that is to be created: it is the first that there is not, or that counts. There are no more
// than a Reader reads.
func (c *Creator) find(ctx context.Context, r *run) (exists bool, err error) {
	for ; r.number < mostObjects; r.number++ {
		o, err := c.reads.Get(ctx, c.kind, types.NamespacedName{Namespace: r.v.Namespace, Name: r.name()})
		switch {
		case apierrors.IsNotFound(err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("AnalysisRun %s: %w", r.key(), err)
		case r.after.IsZero() || o.GetCreationTimestamp().After(r.after):
			return true, nil
		}
	}
	return false, fmt.Errorf("there are %d already: delete those that are older than the spec", mostObjects)
}

// of is the AnalysisRun of a template. As the Argo Rollouts controller does, it takes over what the template measures
// (NewAnalysisRunFromTemplates of argo-rollouts v1.8, utils/analysis/helpers.go).
func (r *run) of(template *unstructured.Unstructured, kind schema.GroupVersionResource) *unstructured.Unstructured {
	spec := map[string]any{}
	for _, field := range []string{"metrics", "dryRun", "measurementRetention", "args"} {
		if value, found, _ := unstructured.NestedFieldCopy(template.Object, "spec", field); found {
			spec[field] = value
		}
	}
	r.fill(spec["args"])
	labels := map[string]string{}
	for key, value := range r.v.Selector {
		labels[key] = value
	}
	labels[RevisionLabel], labels[ForLabel] = LabelOf(r.what), r.set.UID
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(kind.GroupVersion().String())
	o.SetKind("AnalysisRun")
	o.SetName(r.name())
	o.SetLabels(labels)
	owner := metav1.OwnerReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: r.set.Name, UID: types.UID(r.set.UID),
	}
	if parent, is := policy.ParentNamed(r.set.Name); is {
		owner.Kind, owner.Name, owner.UID = "Application", parent, types.UID(r.set.ParentUID)
	}
	o.SetOwnerReferences([]metav1.OwnerReference{owner})
	return o
}

// fill gives the arguments a value that have none, and that stepgate knows.
func (r *run) fill(args any) {
	known := map[string]string{
		"revision": LabelOf(r.what), "applicationset": r.set.Name, "namespace": r.set.Namespace,
		"step": strconv.Itoa(policy.StepNumber(r.v.Step)),
	}
	list, _ := args.([]any)
	for _, a := range list {
		arg, ok := a.(map[string]any)
		if !ok || arg["value"] != nil || arg["valueFrom"] != nil {
			continue
		}
		if name, ok := arg["name"].(string); ok && known[name] != "" {
			arg["value"] = known[name]
		}
	}
}
