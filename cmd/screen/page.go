// SPDX-License-Identifier: Apache-2.0

package screen

// Page is the address of a page of the documentation, such as docs/install.md#which-argo-cd. Whoever reads a message
// has the program and no checkout.
func Page(path string) string { return "https://github.com/stepgate/stepgate/blob/main/" + path }
