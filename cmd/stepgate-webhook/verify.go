// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/client-go/dynamic"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// newEvidence returns what --verify-kinds reads, and what --verify-create creates; the Creator is nil without that.
func newEvidence(o *flags.Options, c *kube.Cluster) (*evidence.Source, *evidence.Creator, error) {
	objects, err := evidence.NewObjects(c.Config)
	if err != nil {
		return nil, nil, err
	}
	source := serve.Evidence(&o.Rule, c, objects)
	runs, _ := o.Verify.Kinds().Of(settings.Templated)
	if !o.VerifyCreate {
		return source, nil, nil
	}
	creates, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("API server client: %w", err)
	}
	return source, evidence.NewCreator(runs, objects, creates), nil
}
