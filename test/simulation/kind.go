package simulation

// kind guesses which finding an early start belongs to.
func (w *world) kind(m *member, i, n int, e *member) string { return "?" }
