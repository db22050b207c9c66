package main

import "context"

func soakCerts(context.Context, *stand, options) error { return nil }
