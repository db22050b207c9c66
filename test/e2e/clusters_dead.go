package main

import "context"

type outage struct{ scenario }

func allOutages() []outage { return nil }

func (s *suite) measureOutages(ctx context.Context, all []outage) error { return nil }
