// SPDX-License-Identifier: Apache-2.0

package policy

// sharesTrack reports whether a sibling is in the track of the target: the label that Settings.Track names has the same
// value on both. One without the label is in every track. To change the label is no way round the gate: the target
// counts by its old labels, too, and for SettlingTime after a change both count in every track.
func (in *Input) sharesTrack(a *Application) bool {
	return in.Settings.Track == "" || in.inTrack(a.Labels, in.History.Past(a.Name))
}

// inTrack reports whether an Application with these labels, of which this was seen, is in the track of the target.
func (in *Input) inTrack(labels map[string]string, past Past) bool {
	key, t := in.Settings.Track, &in.Target
	return key == "" || past.Relabelled || in.History.Past(t.Name).Relabelled ||
		sameValue(labels, t.Labels, key) || t.OldLabels != nil && sameValue(labels, t.OldLabels, key)
}

func sameValue(a, b map[string]string, key string) bool {
	return a[key] == "" || b[key] == "" || a[key] == b[key]
}

// TrackOf is the track of an Application; empty if it is in every track, and where the ApplicationSet has none.
func (s *Settings) TrackOf(labels map[string]string) string {
	if s.Track == "" {
		return ""
	}
	return labels[s.Track]
}
