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
	unpinned := apierrors.NewForbidden(applications, "a", errors.New(denial+"step 2 of ApplicationSet a/b may not sync yet: a (NotPinned: the operation names no revision"))
	forbidden := apierrors.NewForbidden(applications, "a", errors.New("RBAC"))
	broken := apierrors.NewInternalError(errors.New(`failed calling webhook "operation.stepgate.io": EOF`))
	for name, tc := range map[string]struct {
		want Want
		err  error
		is   Outcome
	}{
		"a denial that is right":              {Denied, denied, Right},
		"a denial that is wrong":              {Admitted, denied, WrongDeny},
		"a denial of what was not pinned":     {Admitted, unpinned, Failed},
		"a right one of what was not pinned":  {Denied, unpinned, Right},
		"an admission that is right":          {Admitted, nil, Right},
		"an admission that is wrong":          {Denied, nil, WrongAllow},
		"no answer to a write to be admitted": {Admitted, broken, Failed},
		"no answer to a write to be denied":   {Denied, broken, Failed},
		"a 403 by RBAC is no denial":          {Denied, forbidden, Failed},
		"a free write that passes":            {Regardless, nil, Right},
		"a free write that is denied":         {Regardless, denied, WrongDeny},
		"a free write that has no answer":     {Regardless, broken, WrongDeny},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(Judge(tc.want, tc.err)).To(Equal(tc.is)) })
	}
}
