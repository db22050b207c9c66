package dashboard

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

func inNamespace(namespace string) client.DeleteAllOfOption { return client.InNamespace(namespace) }

// TestTheClusterGoesAway and comes back: the page says so meanwhile, keeps what it has, and goes on.
func TestTheClusterGoesAway(t *testing.T) {
	write(t, "outage", mixed())
	b := serve(t, "outage", cluster.Human)
	b.open(desk, "guestbook")
	b.Expect(b.Count(".sg-banner")).To(Equal(0))
	outage, err := shared.Kill()
	b.Expect(err).NotTo(HaveOccurred())
	b.Sees(".sg-banner >> text=the API server does not answer")
	b.Expect(b.Count("[data-tile]")).To(Equal(7))
	b.Expect(b.Accessibility()).To(BeEmpty())
	b.Expect(outage.End(t.Context())).To(Succeed())
	b.Eventually(func() int { return b.Count(".sg-banner") }).Should(Equal(0))
	edit(t, "outage", "qa-us", func(app *argo.Application) {
		app.Status.Health.Status = "Degraded"
		app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
	})
	b.Sees(".sg-tile-failed [data-tile='qa-us']")
}
