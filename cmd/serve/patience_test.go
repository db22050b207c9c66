// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/stepgate/stepgate/test/patience"
)

func TestMain(m *testing.M) { patience.Main(m) }
