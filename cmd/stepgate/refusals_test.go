// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// A refusal by the admission webhook is shown as it is; a right that lacks is named.
func TestExplainedRefusals(t *testing.T) {
	g := NewWithT(t)
	sets := schema.GroupResource{Group: "argoproj.io", Resource: "applicationsets"}
	refusal := apierrors.NewForbidden(sets, "guestbook", nil)
	refusal.ErrStatus.Message = `admission webhook "approval.stepgate.io" denied the request: bob may not approve step 3`
	c, asked := newCLI(genericiooptions.IOStreams{}), &cobra.Command{}
	g.Expect(c.explained(asked, refusal)).To(MatchError(refusal.ErrStatus.Message))
	lacking := apierrors.NewForbidden(sets, "guestbook", nil)
	lacking.ErrStatus.Message = `applicationsets.argoproj.io "guestbook" is forbidden: User "bob" cannot patch resource "applicationsets"`
	g.Expect(c.explained(asked, lacking)).To(MatchError(lacking.ErrStatus.Message +
		"; ask for the right to patch applicationsets of argoproj.io"))
}
