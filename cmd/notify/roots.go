// SPDX-License-Identifier: Apache-2.0

package notify

import (
	// The image has no certificates: without these, no service on the internet could be verified. They count where the
	// system has none, and SSL_CERT_FILE names no others.
	_ "golang.org/x/crypto/x509roots/fallback"
)
