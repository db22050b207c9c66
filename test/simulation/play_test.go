package simulation

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestPlayOne(t *testing.T) {
	text := `argocd 3.5 layout=shared poll=180s requeue=0s replicas=1 jitter=0
app dev 1
app qa 2
app prod 3
+1s commit app all
+0s refresh prod
`
	if f := os.Getenv("SCENARIO"); f != "" {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := NewPlayer().Play(s, func(at time.Duration, text string) { fmt.Printf("%10s  %s\n", seconds(at), text) })
	t.Logf("%+v", r)
}
