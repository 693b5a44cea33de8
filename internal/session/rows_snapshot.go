package session

import (
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Snapshot is a row of the table snapshot. In amounts, Allocations are objects; All is the sum of the other four.
type Snapshot struct {
	Process     ProcessID
	GCNumber    int64
	All         q.Amount
	Reachable   q.Amount
	Finalizable q.Amount
	Frozen      q.Amount
	Unreachable q.Amount
	Outside     q.Count

	StaticsLeftOut q.Count // classes
}

// SnapshotType is a row of the table snapshot_type; Allocations are objects, of which the last three are not
// reachable from a root.
type SnapshotType struct {
	Process ProcessID
	Type    TypeID // 0: the runtime did not say
	q.Amount
	Retained    q.Bytes
	Finalizable q.Count
	Frozen      q.Count
	Unreachable q.Count
	Static      int64   // SnapshotStatic.ID of the field that retains most bytes of the type; 0: none does
	StaticBytes q.Bytes // how many
}

// SnapshotSite is a row of the table snapshot_site; Allocations are objects.
type SnapshotSite struct {
	Site SiteID
	q.Amount
	Retained    q.Bytes
	Static      int64 // as of a type
	StaticBytes q.Bytes
}

// SnapshotRoot is a row of the table snapshot_root; Allocations are the objects that the references are to, each once.
type SnapshotRoot struct {
	Process    ProcessID
	Kind       string
	Flags      int64
	Function   FunctionID
	References q.Count
	q.Amount
}

// SnapshotPath is a row of the table snapshot_path.
type SnapshotPath struct {
	Process    ProcessID
	Type       TypeID // of the last object
	Position   int64  // 0: the object that the root refers to
	ObjectType TypeID
	Bytes      q.Bytes
	Retained   q.Bytes
	Kind       string // of the root; "" from position 1 on
	Flags      int64
	Function   FunctionID
	Static     int64 // SnapshotStatic.ID; 0: none
}

// Kinds of holders that are no kinds of roots.
const (
	HolderStatic    = "static"
	HolderDependent = "dependent" // a dependent handle alone
	HolderSeveral   = "several"   // several holders together, and none of them alone
	HolderNone      = "none"      // no root that the runtime told of
	HolderFrozen    = "frozen"    // none, and nothing frees it
)

// SnapshotHolder is a row of the table snapshot_holder: of the objects of a type and a site, those with one holder.
type SnapshotHolder struct {
	Process  ProcessID
	Type     TypeID
	Site     SiteID // 0: none
	Kind     string
	Flags    int64      // of a root
	Function FunctionID // whose frame the root is in
	Static   int64      // SnapshotStatic.ID; 0: none
	Through  TypeID     // what is held directly; of HolderDependent: the key; 0: not known, or a static field
	q.Amount
}

// SnapshotStatic is a row of the table snapshot_static.
type SnapshotStatic struct {
	Process    ProcessID
	ID         int64
	Type       TypeID // whose field it is
	Token      Token
	Name       string // in metadata
	ObjectType TypeID
	Bytes      q.Bytes
	Retained   q.Bytes
	OfThread   bool // each thread has its own
}

// Member is the name of the field as its source has it: that of the property, if the compiler made the field for one.
// C# and Visual Basic call it <Name>k__BackingField, F# Name@.
func (s *SnapshotStatic) Member() string {
	if name, ok := strings.CutSuffix(s.Name, ">k__BackingField"); ok && strings.HasPrefix(name, "<") {
		return name[1:]
	}
	if name, ok := strings.CutSuffix(s.Name, "@"); ok && name != "" {
		return name
	}
	return s.Name
}
