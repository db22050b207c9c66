package record

import "github.com/stepgate/stepgate/policy"

// maxText bounds text that a client chose.
const maxText = 1024

// printable is text that a client chose, on one line of printable ASCII of bounded length.
func printable(s string) string { return policy.Printable(s, maxText) }
