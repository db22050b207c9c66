// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push pushes an image to a repository, as the user that `docker login` has left in Docker's configuration. The tag
// comes last, when everything that it names is there.
func push(ctx context.Context, index v1.ImageIndex, repository, version string) error {
	tag, err := name.NewTag(repository+":"+version, name.StrictValidation)
	if err != nil {
		return err
	}
	return remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
