// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/cluster"
)

// numberInfo is the name of the info entry by which operations are told apart.
const numberInfo = "write"

// writeTimeout limits one write. It is longer than the webhook's timeout, so that the API server's answer is seen.
const writeTimeout = 20 * time.Second

// Writer sends merge PATCHes of Applications, as Argo CD's accounts. It decodes nothing of an answer but its status and
// its operation, so that it costs little.
type Writer struct {
	cluster *cluster.Cluster
	// applicationSet and controller write as the ApplicationSet controller and the application controller.
	applicationSet, controller rest.Interface
	tally                      atomic.Pointer[Tally]
}

// NewWriter returns a Writer that counts the outcomes of its writes. The cluster needs InstallWriters.
func NewWriter(c *cluster.Cluster, tally *Tally) (*Writer, error) {
	w := &Writer{cluster: c}
	w.Count(tally)
	for user, into := range map[string]*rest.Interface{
		cluster.ApplicationSetAccount: &w.applicationSet, cluster.ControllerAccount: &w.controller,
	} {
		config := rest.CopyConfig(c.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
		config.WarningHandler = rest.NoWarnings{}
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientFor(config)
		if err != nil {
			return nil, err
		}
		*into = client
	}
	return w, nil
}

// Count counts the outcomes of its writes with another tally from now on.
func (w *Writer) Count(tally *Tally) { w.tally.Store(tally) }

// write is one merge PATCH.
type write struct {
	as   rest.Interface
	app  *argo.Application
	body map[string]any
	want Want
	// within is the request's own timeout, for the API server to keep; 0: it has none.
	within time.Duration
	// number is in the operation, if the write has a new one. holdable says that it may be held.
	number   string
	holdable bool
}

// send sends one write and counts it.
func (w *Writer) send(ctx context.Context, one write) Outcome {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	text, err := json.Marshal(one.body)
	if err != nil {
		panic(err) // it is made of maps and Argo CD's types
	}
	request := one.as.Patch(types.MergePatchType).Namespace(one.app.Namespace).Resource("applications").
		Name(one.app.Name).Body(text).MaxRetries(0)
	if one.within > 0 {
		request = request.Param("timeout", one.within.String())
	}
	start := time.Now()
	result := request.Do(ctx)
	err = result.Error()
	held := err == nil && one.number != "" && !one.stored(result)
	if held && !one.holdable {
		one.want, err, held = Regardless, errors.New("an operation is held that has to be refused or admitted"), false
	}
	return w.tally.Load().add(&one, start, err, held)
}

// stored reports whether the Application in the answer has the operation that was sent.
func (w *write) stored(result rest.Result) bool {
	var app struct{ Operation struct{ Info []argo.Info } }
	text, err := result.Raw()
	return err == nil && json.Unmarshal(text, &app) == nil &&
		slices.Contains(app.Operation.Info, argo.Info{Name: numberInfo, Value: w.number})
}
