// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// Judged returns a reader like objects that keeps the fields of Applications that Argo CD's types do not have here. What
// it reads may be judged, and not written. Every call goes to the API server.
func Judged(config *rest.Config, objects client.Reader) (client.Reader, error) {
	client, err := judged(config)
	if err != nil {
		return nil, err
	}
	return reader{objects, client}, nil
}

func judged(config *rest.Config) (*rest.RESTClient, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
	config.NegotiatedSerializer = keeping{serializer.NewCodecFactory(scheme, serializer.EnableStrict).WithoutConversion()}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return client, nil
}

// keeping decodes strictly. An object without unknown fields, as nearly all are, is decoded once.
type keeping struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (k keeping) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return keeper{k.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type keeper struct{ runtime.Decoder }

// Decode implements runtime.Decoder. An unknown field is no error.
func (k keeper) Decode(
	raw []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	object, kind, err := k.Decoder.Decode(raw, defaults, into)
	if runtime.IsStrictDecodingError(err) {
		err = argocd.KeepUnknown(raw, object)
	}
	return object, kind, err
}

// reader reads Applications in its own way.
type reader struct {
	client.Reader
	judged rest.Interface
}

// Get implements client.Reader.
func (r reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, is := into.(*argo.Application); !is {
		return r.Reader.Get(ctx, key, into, options...)
	}
	return r.judged.Get().Namespace(key.Namespace).Resource("applications").Name(key.Name).Do(ctx).Into(into)
}

// List implements client.Reader.
func (r reader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, is := into.(*argo.ApplicationList); !is {
		return r.Reader.List(ctx, into, options...)
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	return r.judged.Get().NamespaceIfScoped(o.Namespace, o.Namespace != "").Resource("applications").
		VersionedParams(o.AsListOptions(), metav1.ParameterCodec).Do(ctx).Into(into)
}
