// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAnImageWithoutCertificatesVerifiesServices runs itself as in the image: the system has no certificates there.
func TestAnImageWithoutCertificatesVerifiesServices(t *testing.T) {
	g := NewWithT(t)
	const inside = "STEPGATE_TEST_WITHOUT_CERTIFICATES"
	if os.Getenv(inside) != "" {
		pool, err := x509.SystemCertPool()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pool.Equal(x509.NewCertPool())).To(BeFalse())
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), inside+"=yes", "SSL_CERT_FILE="+os.DevNull, "SSL_CERT_DIR="+t.TempDir())
	output, err := child.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
}
