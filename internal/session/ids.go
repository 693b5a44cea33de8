package session

// Ids of rows. They are positive and belong to the whole session; 0 means none.
type (
	// ProcessID identifies a process of the session. It is not the pid.
	ProcessID int64
	// ThreadID identifies a thread of the session. It is not the operating system's id.
	ThreadID int64
	// ModuleID identifies a loaded module of one process.
	ModuleID int64
	// TypeID identifies a runtime type of one process.
	TypeID int64
	// FunctionID identifies a function of one process.
	FunctionID int64
	// BodyID identifies a native compilation of a function.
	BodyID int64
	// InstructionID identifies a return address in a body.
	InstructionID int64
	// NodeID identifies a node of the calling-context tree.
	NodeID int64
	// PathID identifies a node of the call tree without call sites.
	PathID int64
	// SiteID identifies a site: thread × node × type.
	SiteID int64
	// FileID identifies a source file.
	FileID int64
	// LineID identifies a statement of a source file.
	LineID int64
	// SliceID identifies a span of time.
	SliceID int64
	// GCID identifies a garbage collection of one process.
	GCID int64
)

// Address is an address in a process.
type Address uint64

// Token is an ECMA-335 metadata token (II.22.2).
type Token uint32
