// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestJudge(t *testing.T) {
	applications := schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
	denied := apierrors.NewForbidden(applications, "a", errors.New(denial+"step 2 of ApplicationSet a/b may not sync yet"))
	unpinned := apierrors.NewForbidden(applications, "a",
		errors.New(denial+"step 2 of ApplicationSet a/b may not sync yet: a (NotPinned: the operation names no revision"))
	forbidden := apierrors.NewForbidden(applications, "a", errors.New("RBAC"))
	broken := apierrors.NewInternalError(errors.New(`failed calling webhook "operation.stepgate.io": EOF`))
	for name, tc := range map[string]struct {
		want Want
		err  error
		is   Outcome
		held bool
	}{
		"a hold that is right":                {Denied, nil, Right, true},
		"a hold that is wrong":                {Admitted, nil, WrongDeny, true},
		"a denial that is right":              {Denied, denied, Right, false},
		"a denial that is wrong":              {Admitted, denied, WrongDeny, false},
		"a denial of what was not pinned":     {Admitted, unpinned, Failed, false},
		"a right one of what was not pinned":  {Denied, unpinned, Right, false},
		"an admission that is right":          {Admitted, nil, Right, false},
		"an admission that is wrong":          {Denied, nil, WrongAllow, false},
		"no answer to a write to be admitted": {Admitted, broken, Failed, false},
		"no answer to a write to be denied":   {Denied, broken, Failed, false},
		"a 403 by RBAC is no denial":          {Denied, forbidden, Failed, false},
		"a free write that passes":            {Regardless, nil, Right, false},
		"a free write that is denied":         {Regardless, denied, WrongDeny, false},
		"a free write that has no answer":     {Regardless, broken, WrongDeny, false},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(Judge(tc.want, tc.err, tc.held)).To(Equal(tc.is)) })
	}
}
