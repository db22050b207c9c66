// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// LedgerPart is a ConfigMap of the ledger. Problem says why nothing of it counts; nil if it does.
type LedgerPart struct {
	Name, Of string
	Bytes    int
	Problem  error
}

// ledger reads what is kept of the past.
func (s *Sources) ledger(ctx context.Context, r *Installation, now time.Time) (all Read[[]LedgerPart]) {
	list, err := s.Kube.CoreV1().ConfigMaps(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ledger.Label})
	if err != nil {
		return Read[[]LedgerPart]{Err: err}
	}
	for i := range list.Items {
		o, ours := ledger.ObjectOf(&list.Items[i])
		part := LedgerPart{Name: list.Items[i].Name, Of: o.Of, Bytes: len(o.Completions) + len(o.Rollouts)}
		if part.Problem = o.Problem(now); !ours {
			part.Problem = errors.New("its name and its label are not of one ApplicationSet")
		}
		all.Value = append(all.Value, part)
	}
	return all
}

// kept checks the ledger.
func (f *Facts) kept(r *Installation) Check {
	const name = "ledger"
	switch {
	case r.Flags == nil:
		return r.unsettled(name)
	case !r.Flags.Ledger:
		return skipped(name, "It is off: a restart forgets what Applications have completed.")
	case r.Ledger.Err != nil:
		return notRead(name, "the ConfigMaps of the ledger", r.Ledger.Err)
	}
	var broken, remove []string
	bytes := 0
	for _, p := range r.Ledger.Value {
		bytes += p.Bytes
		if p.Problem != nil {
			broken = append(broken, fmt.Sprintf("ConfigMap %s, of %s: %s", p.Name, p.of(), oneLine(p.Problem.Error())))
			remove = append(remove, fmt.Sprintf("kubectl -n %s delete configmap %s", r.namespace(), p.Name))
		}
	}
	if len(broken) > 0 {
		c := warning(name, "Of %s, %d cannot be used: stepgate is as strict there as after a restart without a ledger.",
			count(len(r.Ledger.Value), "ConfigMap", "ConfigMaps"), len(broken))
		c.Details = broken
		return c.do("One of a newer stepgate is left to that. Others are written again with the next change of their "+
			"ApplicationSet, or once they are deleted.", remove...)
	}
	if n := f.withApplications(r); n > 0 && len(r.Ledger.Value) == 0 {
		return warning(name, "Nothing is kept of %s: a restart forgets what their Applications have completed.",
			count(n, "ApplicationSet", "ApplicationSets")).do("Unless stepgate has just begun, look at its log.",
			fmt.Sprintf("kubectl -n %s logs -l app.kubernetes.io/instance=%s --tail=20", r.namespace(), r.helm()))
	}
	return ok(name, "%s, %d KiB.", count(len(r.Ledger.Value), "ConfigMap", "ConfigMaps"), (bytes+1023)>>10)
}

// withApplications counts the ApplicationSets that a release gates, and that have Applications.
func (f *Facts) withApplications(r *Installation) (n int) {
	for i := range f.ApplicationSets.Value {
		if set := &f.ApplicationSets.Value[i]; r.Flags.Gated(set.Namespace) && len(set.Status.Resources) > 0 {
			n++
		}
	}
	return n
}

// of is the ApplicationSet of a part, for people.
func (p *LedgerPart) of() string {
	if p.Of == "" {
		return "no ApplicationSet"
	}
	return "ApplicationSet " + p.Of
}
