// Package certs gives the HTTPS server its certificate, and keeps the API server able to verify it.
//
// NewSelf signs its own: a CA in one Secret, a leaf per replica in memory, and the CA bundle written into the
// ValidatingWebhookConfiguration. NewFiles serves what somebody else put into a directory. Neither ever creates a
// configuration, removes a CA that has not expired, or writes any field but caBundle. A certificate that the API
// server would refuse makes Ready fail; it never makes anything be admitted. Called by cmd/stepgate only.
package certs
