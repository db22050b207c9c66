// SPDX-License-Identifier: Apache-2.0

// Package script lets a command play many steps in a row without handling the error of each: the first step that fails
// ends all of them, as a fatal assertion ends a test.
package script

import "fmt"

// failure is how a failed step reaches Run.
type failure struct{ err error }

// Run calls steps and returns the error of the step that failed. Steps run in the goroutine of Run.
func Run(steps func()) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			err = problem.err
		default:
			panic(problem)
		}
	}()
	steps()
	return nil
}

// Must ends the steps if err is not nil.
func Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Mustf is Must with a text before the error.
func Mustf(err error, format string, args ...any) {
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)})
	}
}

// Get returns a value, or ends the steps if err is not nil.
func Get[T any](value T, err error) T {
	Must(err)
	return value
}

// Fail ends the steps.
func Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }
