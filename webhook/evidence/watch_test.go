// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// watched is a Watch of AnalysisRuns, of which metadata and objects are changed apart.
type watched struct {
	*WithT
	t       *testing.T
	names   *fake.FakeMetadataClient
	objects *getter
	watch   *Watch
	v       settings.Verification
	version int
	looked  chan types.NamespacedName
}

func newWatched(t *testing.T) *watched {
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	w := &watched{WithT: NewWithT(t), t: t, names: fake.NewSimpleMetadataClient(scheme), objects: &getter{},
		v: checkedBy("a", ""), looked: make(chan types.NamespacedName, 100)}
	kinds := Kinds{runs}
	w.watch = NewWatch(kinds, []string{""}, w.names, NewReader(kinds, w.names, w.objects))
	w.watch.OnChange(func(_ schema.GroupResource, object types.NamespacedName) { w.looked <- object })
	go func() { _ = w.watch.Run(t.Context()) }()
	w.Eventually(w.watch.stores[0].informer.HasSynced).Should(BeTrue())
	return w
}

// run stores an AnalysisRun.
func (w *watched) run(name, phase string, labels map[string]string) {
	w.t.Helper()
	w.version++
	text := fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {namespace: argocd, name: %s, "+
		"uid: %s, resourceVersion: '%d'}, status: {phase: %s}}", name, name, w.version, phase)
	o := object(w.WithT, text)
	o.SetLabels(labels)
	o.SetAnnotations(map[string]string{"long": strings.Repeat("x", 100_000)})
	w.objects.have(o)
	meta := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "AnalysisRun"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: name, UID: types.UID(name), ResourceVersion: o.GetResourceVersion(), Labels: labels,
			Annotations: o.GetAnnotations(), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
		},
	}
	if w.version == 1 {
		w.Expect(w.names.Tracker().Create(runs, meta, "argocd")).To(Succeed())
		return
	}
	w.Expect(w.names.Tracker().Update(runs, meta, "argocd")).To(Succeed())
}

func (w *watched) known() policy.Finding {
	return w.watch.Known([]settings.Verification{w.v})(w.v.Verification, commit)
}

func (w *watched) says(answer policy.Answer, detail string) {
	w.t.Helper()
	w.Eventually(w.known).Should(Equal(policy.Finding{Answer: answer, Detail: detail}))
}

// TestWatchReadsWhatItSees has an object change, and looks at what is known of it.
func TestWatchReadsWhatItSees(t *testing.T) {
	w := newWatched(t)
	speaks := map[string]string{"check": "smoke", RevisionLabel: commit}
	w.Expect(w.known().Detail).To(Equal("there is none with the label stepgate.io/revision=" + commit))
	w.Expect(w.objects.count()).To(BeZero(), "what nobody asks about is not read")

	w.run("smoke", "Running", speaks)
	w.Eventually(w.looked).Should(Receive())
	w.Eventually(w.known).Should(HaveField("Detail", "stepgate has yet to read what they say"))
	w.Eventually(w.looked).Should(Receive(), "it was read")
	w.Expect(w.known()).To(Equal(policy.Finding{Detail: "smoke says not yet (Progressing)"}))
	reads := w.objects.count()
	w.Consistently(w.known, "50ms").Should(Equal(policy.Finding{Detail: "smoke says not yet (Progressing)"}))
	w.Expect(w.objects.count()).To(Equal(reads), "it is read once")

	w.run("smoke", "Successful", speaks)
	w.says(policy.Yes, "smoke says yes (Healthy)")
	w.run("smoke", "Failed", speaks)
	w.says(policy.No, "smoke says no (Degraded)")

	w.objects.fail(ErrTooLarge)
	w.run("smoke", "Successful", speaks)
	w.says(policy.NoAnswer, "smoke says not yet (it is larger than 256 KiB)")
	w.objects.fail(errors.New("no answer"))
	w.run("smoke", "Successful", speaks)
	w.says(policy.NoAnswer, "stepgate could not read what they say")
	w.objects.fail(nil)

	w.run("smoke", "Successful", map[string]string{"check": "smoke", RevisionLabel: commit, ForLabel: "b"})
	w.says(policy.NoAnswer, "there is none with the label stepgate.io/revision="+commit)
}

// TestWatchKeepsLittle has objects with much in their metadata.
func TestWatchKeepsLittle(t *testing.T) {
	w := newWatched(t)
	w.run("smoke", "Successful", map[string]string{"check": "smoke", RevisionLabel: commit})
	stored := func() *metav1.PartialObjectMetadata {
		o, _, _ := w.watch.stores[0].informer.GetIndexer().GetByKey("argocd/smoke")
		meta, _ := o.(*metav1.PartialObjectMetadata)
		return meta
	}
	w.Eventually(stored).Should(HaveField("ObjectMeta", metav1.ObjectMeta{
		Namespace: "argocd", Name: "smoke", UID: "smoke", ResourceVersion: "1",
		Labels: map[string]string{"check": "smoke", RevisionLabel: commit},
	}))
	many := map[string]string{"check": "smoke", RevisionLabel: commit}
	for i := range mostLabels {
		many[fmt.Sprint("l", i)] = "x"
	}
	w.run("smoke", "Successful", many)
	w.Eventually(func() map[string]string { return stored().Labels }).Should(BeEmpty())
}

// TestReaderReadsFew has more objects than may speak of one revision.
func TestReaderReadsFew(t *testing.T) {
	g := NewWithT(t)
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	var all []runtime.Object
	var whole []*unstructured.Unstructured
	add := func(n int, extra string) {
		for range n {
			name := fmt.Sprint("o", len(all))
			o := object(g, "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {namespace: argocd, name: "+name+
				", labels: {check: smoke, stepgate.io/revision: "+commit+extra+"}}, status: {phase: Successful}}")
			whole = append(whole, o)
			all = append(all, &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "AnalysisRun"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, Labels: o.GetLabels()},
			})
		}
	}
	read := func() (policy.Finding, int) {
		objects := &getter{}
		objects.have(whole...)
		v := checkedBy("a", "")
		reader := NewReader(Kinds{runs}, fake.NewSimpleMetadataClient(scheme, all...), objects)
		found, err := reader.Read(t.Context(), &v, commit)
		g.Expect(err).NotTo(HaveOccurred())
		return found, objects.count()
	}
	add(20, ", stepgate.io/for: b")
	found, reads := read()
	g.Expect(found.Detail).To(HavePrefix("there is none"))
	g.Expect(reads).To(BeZero(), "those of others are not even read")
	add(mostObjects/2, ", stepgate.io/for: a")
	add(mostObjects/2, "")
	found, reads = read()
	g.Expect(found.Answer).To(Equal(policy.Yes))
	g.Expect(reads).To(Equal(mostObjects))
	add(1, "")
	found, reads = read()
	g.Expect(found.Detail).To(Equal("more than 10 have the label stepgate.io/revision=" + commit))
	g.Expect(reads).To(BeZero())
}
