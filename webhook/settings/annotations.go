package settings

// The annotations of an ApplicationSet that configure its gate. On an Application they would be useless: the
// ApplicationSet controller removes them.
const (
	ModeAnnotation         = "stepgate.io/mode"
	RequireAnnotation      = "stepgate.io/require"
	PinAnnotation          = "stepgate.io/pin"
	BypassUntilAnnotation  = "stepgate.io/bypass-until"
	BypassReasonAnnotation = "stepgate.io/bypass-reason"
	// ExcludeAnnotation names Applications, separated by commas, that hold nobody up until ExcludeUntilAnnotation.
	ExcludeAnnotation       = "stepgate.io/exclude"
	ExcludeUntilAnnotation  = "stepgate.io/exclude-until"
	ExcludeReasonAnnotation = "stepgate.io/exclude-reason"
)

// The annotations of an ApplicationSet that say what its steps wait for beside the order.
const (
	PauseAnnotation       = "stepgate.io/pause"
	PauseReasonAnnotation = "stepgate.io/pause-reason"
	// PausedByAnnotation says who set PauseAnnotation, and when. stepgate writes it.
	PausedByAnnotation = "stepgate.io/paused-by"
	SoakAnnotation     = "stepgate.io/soak"
	// ApproveAnnotation names the steps that need an approval, and ApprovedAnnotation has the approvals.
	ApproveAnnotation  = "stepgate.io/approve"
	ApprovedAnnotation = "stepgate.io/approved"
	// ApprovedByAnnotation says who has approved, and when. stepgate writes it.
	ApprovedByAnnotation  = "stepgate.io/approved-by"
	MaxFailuresAnnotation = "stepgate.io/max-failures"
)

// Annotations are the annotations that an installation may allow or not. Those that end or explain another one belong
// to it.
func Annotations() []string {
	return []string{
		ModeAnnotation, RequireAnnotation, PinAnnotation, BypassUntilAnnotation, ExcludeAnnotation,
		PauseAnnotation, SoakAnnotation, ApproveAnnotation, MaxFailuresAnnotation,
	}
}

// BypassInfo is the name of the operation.info entry that asks for a bypass of this one sync.
const BypassInfo = "stepgate.io/bypass"
