// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/oracle"
)

// TestWhatIsSettledReadsNothing judges writes that the ApplicationSet alone settles.
func TestWhatIsSettledReadsNothing(t *testing.T) {
	for name, row := range map[string]struct {
		edit        func(*policy.Input)
		wantOutcome policy.Outcome
		wantReason  policy.Reason
	}{
		"no operation":         {edit: func(in *policy.Input) { in.Target.Operation.Written = false }, wantOutcome: policy.NotGated, wantReason: policy.NotAnOperationWrite},
		"a dry run":            {edit: func(in *policy.Input) { in.Target.Operation.DryRun = true }, wantOutcome: policy.NotGated, wantReason: policy.DryRunOperation},
		"not managed":          {edit: func(in *policy.Input) { in.Target.Managed = false }, wantOutcome: policy.NotGated, wantReason: policy.NotManaged},
		"no ApplicationSet":    {edit: func(in *policy.Input) { in.ApplicationSet = nil }, wantOutcome: policy.NotGated, wantReason: policy.ApplicationSetNotFound},
		"no RollingSync":       {edit: func(in *policy.Input) { in.ApplicationSet.RollingSync = false }, wantOutcome: policy.NotGated, wantReason: policy.NotRollingSync},
		"off":                  {edit: func(in *policy.Input) { in.Settings.Off = true }, wantOutcome: policy.NotGated, wantReason: policy.GateOff},
		"bypassed":             {edit: func(in *policy.Input) { in.Settings.Bypassed = true }, wantOutcome: policy.NotGated, wantReason: policy.Bypassed},
		"selected by no step":  {edit: func(in *policy.Input) { in.Target.Labels = nil }, wantOutcome: policy.NotGated, wantReason: policy.NotSelected},
		"in the first step":    {edit: func(in *policy.Input) { in.Target.Labels = map[string]string{"env": "dev"} }, wantOutcome: policy.Allow, wantReason: policy.FirstStep},
		"somebody's roll-back": {edit: func(in *policy.Input) { in.Target.Operation.RollsBack = true }, wantOutcome: policy.Allow, wantReason: policy.Rollback},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := input()
			row.edit(&in)
			d, err := oracle.New(untouchable{t}, untouchable{t}).Evaluate(context.Background(), in, policy.Decision{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.Outcome).To(Equal(row.wantOutcome))
			g.Expect(d.Reason).To(Equal(row.wantReason))
		})
	}
}

// TestReadsAreLinearizable looks at what is sent: with any resourceVersion, "0" above all, the API server may answer
// from its own cache; with a limit it answers in part.
func TestReadsAreLinearizable(t *testing.T) {
	g := NewWithT(t)
	gets, lists := 0, 0
	funcs := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			gets++
			sent := (&client.GetOptions{}).ApplyOptions(options)
			g.Expect(sent.AsGetOptions().ResourceVersion).To(BeEmpty())
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists++
			sent := listOptions(options).AsListOptions()
			g.Expect(sent.ResourceVersion).To(BeEmpty())
			g.Expect(sent.ResourceVersionMatch).To(BeEmpty())
			g.Expect(sent.Limit).To(BeZero())
			g.Expect(sent.Continue).To(BeEmpty())
			return c.List(ctx, list, options...)
		},
	}
	reader := oracle.New(cluster(t, funcs, applicationSet(), healthy("dev")), &recorder{})
	_, err := reader.ApplicationSet(context.Background(), setName())
	g.Expect(err).NotTo(HaveOccurred())
	d, err := reader.Evaluate(context.Background(), input(), policy.Decision{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Allow), d.Message())
	g.Expect([]int{gets, lists}).To(Equal([]int{1, 1}))
}

// untouchable fails the test when anything is read.
type untouchable struct{ t *testing.T }

func (u untouchable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	u.t.Error("a GET was made")
	return nil
}

func (u untouchable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	u.t.Error("a LIST was made")
	return nil
}

func (u untouchable) ReadDone(kind string, _ time.Duration, _ error) {
	u.t.Error("a read was reported: " + kind)
}

// failing asks before every read whether it fails.
func failing(fails func() error) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := fails(); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := fails(); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	}
}

func listOptions(options []client.ListOption) *client.ListOptions {
	return (&client.ListOptions{}).ApplyOptions(options)
}
