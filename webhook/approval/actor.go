// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// ArgoCDGroup is the group of all users of Argo CD for whom the reporter acts. Argo CD lets them invoke the extension of
// that name. The groups that they have in Argo CD do not count: argocd-server passes on those that a browser sends, where
// the user has none (v3.5.7, server/extension/extension.go:852).
const ArgoCDGroup = policy.ArgoCDUser + "stepgate-act"

// maxManager bounds the name of a field manager: the API server takes no longer one.
const maxManager = 128

// ManagerFor is the field manager by which the reporter names the user of Argo CD for whom it writes. It fails for a name
// that could be taken for another, or is too long.
func ManagerFor(user string) (string, error) {
	manager := policy.ArgoCDUser + user
	switch {
	case user == "":
		return "", errors.New("no name of yours comes from Argo CD")
	case len(manager) > maxManager:
		return "", fmt.Errorf("your name in Argo CD has more than %d characters", maxManager-len(policy.ArgoCDUser))
	case strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("your name in Argo CD has a space, or a character that is not of ASCII")
	}
	return manager, nil
}

// UserOf is the user whom a field manager names. It fails for one that ManagerFor does not make.
func UserOf(manager string) (string, error) {
	user, is := strings.CutPrefix(manager, policy.ArgoCDUser)
	if made, err := ManagerFor(user); !is || err != nil || made != manager {
		return "", fmt.Errorf("the field manager %q names no user of Argo CD", policy.Printable(manager, maxShown))
	}
	return manager, nil
}
