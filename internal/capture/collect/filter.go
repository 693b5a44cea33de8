package collect

import "github.com/clrprof/clrprof/internal/capture/instrument"

// Filter chooses whose frames are recorded. A frame that is left out does not lose its allocations: they count for
// the nearest caller that is kept, or for the pseudo function "(excluded)".
type Filter = instrument.Rules
