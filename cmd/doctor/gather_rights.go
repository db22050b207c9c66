// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"
)

// reviewsAtOnce bounds the questions about rights that are under way.
const reviewsAtOnce = 8

// rightsNeeded are the rights that the checks need in this cluster: those that are about a release's own objects only
// in its namespace.
func (f *Facts) rightsNeeded() []Right {
	var all []Right
	for _, right := range neededByDoctor() {
		var namespaces []string
		switch right.Resource {
		case "pods", "endpointslices", "poddisruptionbudgets":
			for _, r := range f.Installations {
				namespaces = append(namespaces, r.Namespace)
			}
		case "networkpolicies":
			for _, r := range f.Installations {
				if r.obeysStrangers() {
					namespaces = append(namespaces, r.Namespace)
				}
			}
			if len(namespaces) == 0 {
				continue
			}
		case "configmaps":
			if right.Verb == "list" {
				for _, r := range f.Installations {
					if r.Flags != nil && r.Flags.Ledger {
						namespaces = append(namespaces, r.Namespace)
					}
				}
				if len(namespaces) == 0 {
					continue
				}
				break
			}
			for _, a := range f.ArgoCDs.Value {
				namespaces = append(namespaces, a.Namespace)
			}
		}
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, n := range namespaces {
			right.Namespace = n
			all = append(all, right)
		}
	}
	return all
}

// rights asks whether a user has rights; "" is the person who asks.
func (s *Sources) rights(ctx context.Context, rights []Right, user string) []RightRead {
	answers := make([]RightRead, len(rights))
	var group errgroup.Group
	group.SetLimit(reviewsAtOnce)
	for i, right := range rights {
		group.Go(func() error {
			answers[i] = s.right(ctx, right, user)
			return nil
		})
	}
	_ = group.Wait()
	return answers
}

func (s *Sources) right(ctx context.Context, right Right, user string) RightRead {
	answer := RightRead{Right: right}
	if user == "" {
		review, err := s.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right.attributes()},
			}, metav1.CreateOptions{})
		if answer.Err = err; err == nil {
			answer.Allowed = review.Status.Allowed
		}
		return answer
	}
	review, err := s.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: serviceAccountGroups(user), ResourceAttributes: right.attributes(),
		},
	}, metav1.CreateOptions{})
	if answer.Err = err; err == nil {
		answer.Allowed = review.Status.Allowed
	}
	return answer
}

// serviceAccountGroups are the groups that the API server gives to a service account: RBAC may bind to them.
func serviceAccountGroups(user string) []string {
	groups := []string{"system:serviceaccounts", "system:authenticated"}
	if parts := splitAccount(user); parts != "" {
		groups = slices.Insert(groups, 1, "system:serviceaccounts:"+parts)
	}
	return groups
}
