package siblings

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// fewRecorded is up to how many recorded Applications a GET of an ApplicationSet is cheap: the whole of it is decoded and
// encoded by the API server. Beyond, its version is listed first. The list is answered from the watch cache, and while other
// objects are written fast the API server may take 100 ms to prove that it is current.
const fewRecorded = 100

// mostGets is how many Applications one decision reads at a time.
const mostGets = 8

// Version is the metadata of one live Application or ApplicationSet.
type Version struct {
	Name            string
	UID, Owner      types.UID
	ResourceVersion string
	Labels          map[string]string
}

// Live are the reads at the API server. Each is linearizable (resourceVersion unset), and complete or an error.
type Live interface {
	// ApplicationSet reads an ApplicationSet; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*ApplicationSet, error)
	// SetVersion lists the metadata of one ApplicationSet; the zero Version without an error means that none was listed.
	SetVersion(ctx context.Context, name types.NamespacedName) (Version, error)
	// Application reads one Application; nil without an error means that it does not exist.
	Application(ctx context.Context, name types.NamespacedName) (*Projection, error)
	// Versions lists the metadata of the Applications that a selector selects.
	Versions(ctx context.Context, namespace string, selector labels.Selector) ([]Version, error)
}

// Known is what is known without a read; it may be out of date.
type Known interface {
	// Owned returns the Applications that an ApplicationSet controls. The caller owns the slice, and not what is in it.
	Owned(owner types.UID) []*Projection
	// Set returns an ApplicationSet, and its version; nil when none is known. It is only read.
	Set(name types.NamespacedName) (*ApplicationSet, Version)
}

// Reader judges on live siblings at the price of a few small reads. The invariant: what is known may only make a
// decision stricter; only a live read makes it more permissive.
//
//   - The ApplicationSet is read live. Of a large one, a live LIST of its metadata tells the resourceVersion first: what is
//     known at that version is current.
//   - A blocker found among what is known is confirmed by one live GET: a denial costs two reads, with that of the
//     ApplicationSet, whatever the number of siblings.
//   - Otherwise a live LIST of metadata tells every sibling's resourceVersion. What is known at that version is current;
//     what differs, is new or is missing is read live. An allow rests on that alone.
type Reader struct {
	// live is what is trusted.
	live Live
	// known is never trusted.
	known    Known
	sets     *batches[*ApplicationSet]
	versions *batches[[]Version]
}

// NewReader returns a Reader.
func NewReader(live Live, known Known) *Reader {
	return &Reader{live: live, known: known, sets: newBatches[*ApplicationSet](), versions: newBatches[[]Version]()}
}

// ApplicationSet reads an ApplicationSet; nil without an error means that it does not exist.
func (r *Reader) ApplicationSet(ctx context.Context, name types.NamespacedName) (*ApplicationSet, error) {
	return r.sets.do(ctx, name.Namespace, name.Name, func(ctx context.Context) (*ApplicationSet, error) {
		known, at := r.known.Set(name)
		if known == nil || len(known.Recorded) <= fewRecorded {
			return r.live.ApplicationSet(ctx, name)
		}
		now, err := r.live.SetVersion(ctx, name)
		if err != nil {
			return nil, err
		}
		if now.UID == at.UID && now.ResourceVersion == at.ResourceVersion {
			return known, nil
		}
		return r.live.ApplicationSet(ctx, name)
	})
}

// Judge evaluates the rule on the siblings as the API server holds them now. The input's Siblings are ignored. It
// reads nothing when the ApplicationSet alone settles the write. On an error there is no decision.
func (r *Reader) Judge(ctx context.Context, in policy.Input) (policy.Decision, error) {
	scope, settled := policy.Scope(in)
	if settled {
		return scope, nil
	}
	known := r.known.Owned(types.UID(in.ApplicationSet.UID))
	if d, confirmed, err := r.confirm(ctx, in, known); confirmed || err != nil {
		return d, err
	}
	siblings, err := r.prove(ctx, in.ApplicationSet, scope.Step, known)
	if err != nil {
		return policy.Decision{}, err
	}
	in.Siblings = siblings
	return policy.Evaluate(in), nil
}

// confirm denies if the first blocker among what is known is one live, too. Of the other blockers that it names, none
// was read: they are what is known.
func (r *Reader) confirm(ctx context.Context, in policy.Input, known []*Projection) (d policy.Decision, confirmed bool, err error) {
	in.Siblings = make([]*policy.Application, 0, len(known))
	for _, p := range known {
		in.Siblings = append(in.Siblings, &p.Application)
	}
	d = policy.Evaluate(in)
	if len(d.Blockers) == 0 {
		return d, false, nil
	}
	first := d.Blockers[0]
	live, err := r.live.Application(ctx, types.NamespacedName{Namespace: in.ApplicationSet.Namespace, Name: first.Application})
	if err != nil {
		return policy.Decision{}, false, err
	}
	in.Siblings = nil
	if live != nil && string(live.Owner) == in.ApplicationSet.UID {
		in.Siblings = []*policy.Application{&live.Application}
	}
	// Alone, it is a blocker or it is not: the rule never weighs one sibling against another.
	alone := *in.ApplicationSet
	alone.Recorded = map[string]policy.Recorded{}
	for _, name := range []string{first.Application, in.Target.Name} {
		if r, ok := in.ApplicationSet.Recorded[name]; ok {
			alone.Recorded[name] = r
		}
	}
	in.ApplicationSet = &alone
	for _, b := range policy.Evaluate(in).Blockers {
		if b.Application == first.Application && b.Step == first.Step {
			d.Blockers[0], d.Reason = b, b.Reason
			return d, true, nil
		}
	}
	// It is not. What was read need not be read again.
	if i := slices.IndexFunc(known, func(p *Projection) bool { return p.Name == first.Application }); i >= 0 && live != nil {
		known[i] = live
	}
	return d, false, nil
}

// prove returns the live siblings: of the steps before step as they are now, of the others at least that they exist.
func (r *Reader) prove(ctx context.Context, set *policy.ApplicationSet, step int, owned []*Projection) ([]*policy.Application, error) {
	selector, exact := selectorFor(set.Steps[:step])
	if !exact {
		selector = labels.Everything()
	}
	versions, err := r.versions.do(ctx, set.Namespace, selector.String(), func(ctx context.Context) ([]Version, error) {
		return r.live.Versions(ctx, set.Namespace, selector)
	})
	if err != nil {
		return nil, err
	}
	known := make(map[string]*Projection, len(owned))
	for _, p := range owned {
		known[p.Name] = p
	}
	var current []*policy.Application
	var outdated []string
	listed := map[string]bool{}
	for _, v := range versions {
		if string(v.Owner) != set.UID {
			continue
		}
		listed[v.Name] = true
		p := known[v.Name]
		switch at := policy.StepOf(set.Steps, v.Labels); {
		case at < 0 || at >= step:
			current = append(current, &policy.Application{Name: v.Name, Labels: v.Labels})
		case p != nil && p.UID == v.UID && p.ResourceVersion == v.ResourceVersion:
			current = append(current, &p.Application)
		default:
			outdated = append(outdated, v.Name)
		}
	}
	// With a selector, what the ApplicationSet's status records and the list lacks may have been relabelled.
	for name, recorded := range set.Recorded {
		if exact && recorded.Step > 0 && recorded.Step <= step && !listed[name] {
			outdated = append(outdated, name)
		}
	}
	read, err := r.read(ctx, set, outdated)
	return append(current, read...), err
}

// read reads Applications live; those that do not exist or are not controlled by the ApplicationSet are left out.
func (r *Reader) read(ctx context.Context, set *policy.ApplicationSet, names []string) ([]*policy.Application, error) {
	found := make([]*Projection, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostGets)
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = guarded(func() (*Projection, error) {
				return r.live.Application(ctx, types.NamespacedName{Namespace: set.Namespace, Name: name})
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var read []*policy.Application
	for _, p := range found {
		if p != nil && string(p.Owner) == set.UID {
			read = append(read, &p.Application)
		}
	}
	return read, nil
}
