// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// A reference has every flag of every command that a help shows, and only these.
func TestReference(t *testing.T) {
	g := NewWithT(t)
	shown := &cobra.Command{
		Use: "get [APPSET]", Short: "Show it", Long: "Show it.\n\nAll of it.", Example: "  stepgate get",
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	f := shown.Flags()
	f.BoolP("watch", "w", false, "go on")
	f.Duration("poll", time.Minute, "how often it asks `SERVER`")
	f.StringArray("fail", nil, "may be repeated")
	f.String("secret", "", "nobody needs it")
	g.Expect(f.MarkHidden("secret")).To(Succeed())
	root := Root("stepgate", "short")
	root.AddCommand(shown, &cobra.Command{Use: "gone", Hidden: true, RunE: shown.RunE})
	var stdout, stderr bytes.Buffer
	code := Execute(t.Context(), root, []string{"reference"}, genericiooptions.IOStreams{Out: &stdout, ErrOut: &stderr},
		func(*cobra.Command) int { return ExitError })
	g.Expect(code).To(Equal(0), stderr.String())
	var all []Reference
	g.Expect(json.Unmarshal(stdout.Bytes(), &all)).To(Succeed())
	g.Expect(all).To(Equal([]Reference{{
		Path: "stepgate get", Use: "stepgate get [APPSET] [flags]", Short: "Show it", Long: "Show it.\n\nAll of it.",
		Example: "  stepgate get",
		Flags: []FlagReference{
			{Name: "fail", Type: "stringArray", Usage: "may be repeated"},
			{Name: "poll", Type: "SERVER", Default: "1m0s", Usage: "how often it asks SERVER"},
			{Name: "watch", Shorthand: "w", Usage: "go on"},
		},
	}}))
}
