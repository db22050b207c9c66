// SPDX-License-Identifier: Apache-2.0

package certs

import "strings"

// problems are errors of independent configurations. In contrast to errors.Join, their text is one line.
type problems []error

// add keeps an error; nil is none.
func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// err returns nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Error lists all of them.
func (p problems) Error() string {
	var texts []string
	for _, err := range p {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap is for errors.Is and errors.As.
func (p problems) Unwrap() []error { return p }
