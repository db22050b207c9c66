// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// mostAnswers bounds what is kept of what was read, and answerKept is for how long.
	mostAnswers = 1024
	answerKept  = 24 * time.Hour
	// mostLooks bounds what waits to be read. What has no room is asked for again when somebody looks again.
	mostLooks = 256
	// looksPerSecond and looksAtOnce bound the reads in the background: objects may change all the time.
	looksPerSecond, looksAtOnce = 10, 20
	// lookTimeout bounds one of them.
	lookTimeout = 10 * time.Second
)

// question is what is asked of the objects of a Verification.
type question struct {
	policy.Verification
	namespace, set, template string
	program                  *expression.Program
	what                     string
}

func questionOf(v *settings.Verification, what string) question {
	return question{v.Verification, v.Namespace, v.For, v.Template, v.If, what}
}

// looks read in the background what is asked for, one question after the other, and keep the answers.
type looks struct {
	reader  *Reader
	read    func(*settings.Verification) // is told what was read
	limit   flowcontrol.RateLimiter
	answers *cache.LRUExpireCache
	wanted  chan look
	mu      sync.Mutex
	// waiting are the questions in wanted.
	waiting map[question]bool
}

// look is a question, and the versions of the objects of which it is asked.
type look struct {
	question
	v        settings.Verification
	versions string
}

// answer is what objects of these versions, or newer ones, have said.
type answer struct {
	versions string
	found    policy.Finding
}

func newLooks(reader *Reader, read func(*settings.Verification)) *looks {
	return &looks{
		reader: reader, read: read, limit: flowcontrol.NewTokenBucketRateLimiter(looksPerSecond, looksAtOnce),
		answers: cache.NewLRUExpireCache(mostAnswers), wanted: make(chan look, mostLooks), waiting: map[question]bool{},
	}
}

// known is what objects of these versions say. If that was not read yet, it is read, and what they said before counts
// until then: nobody is allowed anything because of it.
func (l *looks) known(v *settings.Verification, what, versions string) policy.Finding {
	q := questionOf(v, what)
	kept, _ := l.answers.Get(q)
	a, answered := kept.(answer)
	if !answered || a.versions != versions {
		l.want(look{q, *v, versions})
	}
	if !answered {
		return policy.Finding{Detail: "stepgate has yet to read what they say"}
	}
	return a.found
}

// want has a question asked, unless it is about to be.
func (l *looks) want(asked look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[asked.question] {
		return
	}
	select {
	case l.wanted <- asked:
		l.waiting[asked.question] = true
	default:
	}
}

// run reads what is asked for until ctx is done.
func (l *looks) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case asked := <-l.wanted:
			if l.limit.Wait(ctx) != nil {
				return
			}
			l.mu.Lock()
			delete(l.waiting, asked.question)
			l.mu.Unlock()
			l.look(ctx, &asked)
		}
	}
}

// look reads. That it cannot be read is an answer, too, until the objects change.
func (l *looks) look(ctx context.Context, asked *look) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := l.reader.Read(ctx, &asked.v, asked.what)
	kept := answerKept
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("evidence not read", "problem", err.Error())
		found, kept = policy.Finding{Detail: "stepgate could not read what they say"}, lookTimeout
	}
	before, _ := l.answers.Get(asked.question)
	l.answers.Add(asked.question, answer{asked.versions, found}, kept)
	if a, ok := before.(answer); !ok || !reflect.DeepEqual(a.found, found) {
		l.read(&asked.v)
	}
}
