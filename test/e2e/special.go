package main

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/argocd"
)

// special are the scenarios that are more than a commit and an order of refreshes.
func special() []scenario {
	return []scenario{
		{key: "template-spec", title: "a change of the template that changes every spec, and then a commit; prod refreshed first", each: 1, quick: true, play: templateSpec},
		{key: "template-labels", title: "a change of the template that changes labels only", each: 1, play: templateLabels},
		{key: "nine", title: "3 steps of 3 Applications, named against the order of the steps; prod refreshed first", each: 3, quick: true, play: backwards},
		{key: "install", title: "first installation", each: 1, fresh: true, play: installed},
		{key: "degraded", title: "an Application of step 1 becomes Degraded, and recovers", each: 1, needHealthy: true, play: degraded},
		{key: "failed", title: "the sync of step 1 fails, and a new commit mends it", each: 1, noRetry: true, play: failed},
		{key: "overtaken", title: "a second commit lands while step 2 is still Progressing with the first", each: 1, play: overtaken},
		{key: "overtaken-at-once", title: "a second commit lands the moment that step 2 has synced the first", each: 1, play: overtakenAtOnce},
		{key: "by-hand", title: "step 2 has maxUpdate 0 and is synced with the argocd CLI, before its turn and in its turn", each: 1, byHand: "qa", play: byHand},
		{key: "removed", title: "an Application of step 1 that holds the rollout up is removed from the generator", each: 2, play: removed},
		{key: "deleted", title: "the ApplicationSet is deleted during the rollout", each: 1, reverse: true, play: deleted},
		{key: "resync", title: "a commit; nothing but periodic comparison", each: 1, resync: true, limit: 3 * time.Minute, play: onlyCommit},
		{key: "resync-prod", title: "a commit; prod is refreshed, the others compared periodically", each: 1, resync: true, quick: true, limit: 3 * time.Minute, play: onlyProd},
	}
}

func backwards(ctx context.Context, r *rollout) error {
	return commitRefreshedIn([]string{"prod", "qa", "dev"})(ctx, r)
}

// onlyCommit commits right after all Applications were compared, so that the next periodic comparison is about as far
// away in every mode.
func onlyCommit(ctx context.Context, r *rollout) error {
	if err := r.refresh(ctx, time.Millisecond, r.members...); err != nil {
		return err
	}
	r.begin()
	return r.version("2", healthy, r.members...)
}

func onlyProd(ctx context.Context, r *rollout) error {
	if err := onlyCommit(ctx, r); err != nil {
		return err
	}
	return r.refresh(ctx, 0, r.in("prod")...)
}

// installed is what is measured where the installation is the rollout.
func installed(ctx context.Context, r *rollout) error {
	r.begin()
	return r.install(ctx)
}

// degraded has dev finish the commit and become Degraded at once, while qa and prod have not been compared yet.
func degraded(ctx context.Context, r *rollout) error {
	r.begin()
	if err := r.version("2", healthy, r.members...); err != nil {
		return err
	}
	dev := r.in("dev")[0]
	if err := r.refresh(ctx, between, dev); err != nil {
		return err
	}
	if err := r.settled(ctx, dev); err != nil {
		return err
	}
	if err := r.health(ctx, dev, "Degraded"); err != nil {
		return err
	}
	if err := r.refresh(ctx, between, append(r.in("prod"), r.in("qa")...)...); err != nil {
		return err
	}
	if err := wait(ctx, 5*time.Second); err != nil {
		return err
	}
	return r.health(ctx, dev, "Healthy")
}

// health makes the live ConfigMap of a member say something else than git does, and waits until Argo CD has noticed.
func (r *rollout) health(ctx context.Context, m *member, health string) error {
	live := &corev1.ConfigMap{}
	live.Namespace, live.Name = r.mode.destination(), m.name
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, argocd.HealthAnnotation, health)
	if err := r.admin.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return err
	}
	err := until(ctx, refreshTries*refreshWithin, func() (bool, error) {
		app := r.recorder.app(string(r.mode), m.name)
		return app != nil && string(app.Status.Health.Status) == health, nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.name, health, err)
	}
	return nil
}

// failed commits something for dev that cannot be applied; when its sync has failed, a second commit mends it.
func failed(ctx context.Context, r *rollout) error {
	r.begin()
	dev := r.in("dev")[0]
	if err := r.version("2", healthy, r.members...); err != nil {
		return err
	}
	broken := map[string]string{dev.path + "/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n"}
	if err := r.commit(map[*argocd.Repository]map[string]string{dev.repo: broken}, []*argocd.Repository{dev.repo}); err != nil {
		return err
	}
	backwards := append(append(r.in("prod"), r.in("qa")...), dev)
	if err := r.refresh(ctx, between, backwards...); err != nil {
		return err
	}
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		app := r.recorder.app(string(r.mode), dev.name)
		return app != nil && app.Status.OperationState != nil && app.Status.OperationState.Phase.Failed() || app != nil && app.Status.OperationState != nil && app.Status.OperationState.Phase == "Error", nil
	})
	if err != nil {
		return fmt.Errorf("the failed sync of dev: %w", err)
	}
	mended := map[string]string{dev.path + "/broken.yaml": ""}
	if err := r.commit(map[*argocd.Repository]map[string]string{dev.repo: mended}, []*argocd.Repository{dev.repo}); err != nil {
		return err
	}
	return r.refresh(ctx, between, backwards...)
}

// overtaken stops the first commit at qa, whose new version never becomes Healthy; the second commit mends it.
func overtaken(ctx context.Context, r *rollout) error {
	qa := r.in("qa")[0]
	return overtake(ctx, r, func() error { return r.stuck(ctx, qa) })
}

// overtakenAtOnce is overtaken without waiting for the ApplicationSet controller to notice that qa has synced: until
// then, it writes qa's operation again and again, and each would deploy the newest commit there is.
func overtakenAtOnce(ctx context.Context, r *rollout) error {
	qa := r.in("qa")[0]
	return overtake(ctx, r, func() error {
		return until(ctx, r.scenario.within(), func() (bool, error) {
			app := r.recorder.app(string(r.mode), qa.name)
			return app != nil && app.Status.Health.Status == "Progressing" && app.Operation == nil, nil
		})
	})
}

func overtake(ctx context.Context, r *rollout, ready func() error) error {
	r.begin()
	stuck := func(m *member) string {
		if m.env == "qa" {
			return "Progressing"
		}
		return "Healthy"
	}
	if err := r.version("2", stuck, r.members...); err != nil {
		return err
	}
	if err := r.refresh(ctx, between, r.members...); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return fmt.Errorf("qa at the first commit: %w", err)
	}
	if err := r.version("3", healthy, r.members...); err != nil {
		return err
	}
	return r.refresh(ctx, between, append(append(r.in("prod"), r.in("qa")...), r.in("dev")...)...)
}

// stuck waits until a member has synced and is Progressing, and the ApplicationSet controller knows it: until then, it may
// write the operation again.
func (r *rollout) stuck(ctx context.Context, m *member) error {
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		app := r.recorder.app(string(r.mode), m.name)
		if app == nil || app.Status.Health.Status != "Progressing" || app.Operation != nil {
			return false, nil
		}
		recorded, err := r.recorded(ctx)
		return recorded[m.name] == "Progressing", err
	})
	if err != nil {
		return fmt.Errorf("%s Progressing: %w", m.name, err)
	}
	return nil
}

// removed has one of the two Applications of step 1 stay Progressing, and then takes it out of the generator.
func removed(ctx context.Context, r *rollout) error {
	r.begin()
	holdsUp := r.in("dev")[0]
	stuck := func(m *member) string {
		if m == holdsUp {
			return "Progressing"
		}
		return "Healthy"
	}
	if err := r.version("2", stuck, r.members...); err != nil {
		return err
	}
	if err := r.refresh(ctx, between, append(append(r.in("prod"), r.in("qa")...), r.in("dev")...)...); err != nil {
		return err
	}
	if err := r.stuck(ctx, holdsUp); err != nil {
		return err
	}
	holdsUp.removed = true
	return r.edit(ctx, nil)
}

// deleted deletes the ApplicationSet as soon as dev has started. It is complete when nothing is left of it.
func deleted(ctx context.Context, r *rollout) error {
	r.begin()
	if err := r.version("2", healthy, r.members...); err != nil {
		return err
	}
	if err := r.refresh(ctx, 0, append(append(r.in("prod"), r.in("qa")...), r.in("dev")...)...); err != nil {
		return err
	}
	dev := r.in("dev")[0]
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		app := r.recorder.app(string(r.mode), dev.name)
		return app != nil && (app.Operation != nil || dev.settled(app)), nil
	})
	if err != nil {
		return fmt.Errorf("dev's start: %w", err)
	}
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(r.mode), r.name
	for _, m := range r.members {
		m.removed = true
	}
	return r.admin.Delete(ctx, set)
}
