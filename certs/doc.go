// SPDX-License-Identifier: Apache-2.0

// Package certs gives the HTTPS server its certificate, and sees to it that the API server can verify it.
//
// NewSelf signs its own certificate: it stores a CA in one Secret, keeps a leaf per replica in memory, and publishes
// the CA bundle to any number of webhook configurations, validating and mutating. NewFiles serves a certificate that
// somebody else put into a directory. Neither creates a configuration, removes a CA that has not expired, or writes any
// field but caBundle. A certificate that the API server would refuse makes Ready fail; it never causes a request to be
// admitted. Only cmd/stepgate calls this package.
package certs
