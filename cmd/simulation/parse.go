// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/webhook/settings"
)

// Read reads a scenario from a file.
func Read(file string) (*Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// Parse reads the notation.
func Parse(text string) (*Scenario, error) {
	s := &Scenario{Replicas: 1}
	for number, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := s.line(words); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", number+1, line, err)
		}
	}
	if len(s.Applications) == 0 {
		return nil, fmt.Errorf("a scenario needs an app")
	}
	if n := len(s.waves()); n > 0 && n < len(s.Steps) {
		return nil, fmt.Errorf("either all steps have a wave, or none")
	}
	return s, nil
}

func (s *Scenario) line(words []string) (err error) {
	switch {
	case words[0] == "argocd" && len(words) > 1:
		s.Version = words[1]
		return s.options(words[2:])
	case words[0] == "expect" && len(words) > 1:
		if words[1] != "nothing" {
			s.Expect = strings.Join(words[1:], " ")
		}
		return nil
	case words[0] == "without" && len(words) > 2:
		if s.Without == nil {
			s.Without = map[string]string{}
		}
		s.Without[words[1]] = strings.Join(words[2:], " ")
		return nil
	case words[0] == "set" && len(words) == 2:
		s.Set.Namespace, s.Set.Name, _ = strings.Cut(words[1], "/")
		return nil
	case words[0] == "after" && len(words) == 3:
		s.Chain = append(s.Chain, Link{Set: words[1], After: strings.Split(words[2], ",")})
		return nil
	case words[0] == "step":
		s.Steps = append(s.Steps, Step{})
		return s.Steps[len(s.Steps)-1].options(words[1:])
	case words[0] == "app" && len(words) > 2:
		a := Application{Name: words[1]}
		if a.Step, err = strconv.Atoi(words[2]); err != nil {
			return err
		}
		s.Applications = append(s.Applications, a)
		return s.Applications[len(s.Applications)-1].options(words[3:])
	case strings.HasPrefix(words[0], "+") && len(words) > 1:
		e := Event{Do: strings.Join(words[1:], " ")}
		e.After, err = time.ParseDuration(words[0][1:])
		s.Events = append(s.Events, e)
		return err
	}
	return fmt.Errorf("not understood")
}

func (s *Step) options(words []string) error {
	for _, word := range words {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "wave":
			wave, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			s.Wave = &wave
		case "maxUpdate":
			most := intstr.Parse(value)
			if text, err := strconv.Unquote(most.StrVal); err == nil {
				most = intstr.FromString(text)
			}
			s.MaxUpdate = &most
		default:
			return fmt.Errorf("no such option: %s", name)
		}
	}
	return nil
}

func (a *Application) options(words []string) error {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "from":
			a.From = strings.Split(value, ",")
			continue
		case "track":
			a.Track = value
			continue
		case "set":
			a.Set = value
			continue
		case "automated":
			a.Automated = true
			continue
		case "retries":
			limit, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			a.Retries = limit
			continue
		}
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return err
		case name == "skew":
			a.Skew = d
		case name == "compared":
			a.Compared = d
		case name == "compares":
			a.Compares = d
		default:
			return fmt.Errorf("no such option: %s", name)
		}
	}
	return nil
}

func (s *Scenario) options(words []string) (err error) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "layout":
			s.Layout = value
		case "poll":
			s.Poll, err = time.ParseDuration(value)
		case "requeue":
			s.Requeue, err = time.ParseDuration(value)
		case "replicas":
			s.Replicas, err = strconv.Atoi(value)
		case "jitter":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 32)
			s.Jitter = uint32(n)
		case "ledger":
			s.Ledger = true
		case "hashes":
			s.Hashes = true
		case "start":
			s.Start = true
		case "max-update":
			s.MaxUpdate = value
			if value != keepMaxUpdate && value != countMaxUpdate {
				err = fmt.Errorf("max-update is keep or count")
			}
		case "audit":
			s.Audit = true
		case "refuses":
			s.Refuses = true
		case "four-eyes":
			s.FourEyes = true
		case "patience":
			s.Patience, err = time.ParseDuration(value)
		case "takes":
			s.Takes, err = time.ParseDuration(value)
		case "retry-refresh":
			s.RetryRefresh = true
		case "history":
			var limit int64
			limit, err = strconv.ParseInt(value, 10, 64)
			s.History = &limit
		case "unstamped":
			s.Unstamped = true
		case "no-grace":
			s.NoGrace = true
		case "pin":
			s.Pin = value
			_, err = settings.ParsePin(value)
		default:
			err = fmt.Errorf("no such option: %s", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
