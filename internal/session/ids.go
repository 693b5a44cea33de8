package session

// Ids of rows. They are positive and belong to the whole session; 0 means none. Those that rows of packed tables refer
// to have 32 bits: there are millions of such rows, and a session has fewer than 2³² of a kind (package collect sees to
// it). A file that says otherwise is damaged.
type (
	// ProcessID identifies a process of the session. It is not the pid.
	ProcessID uint32
	// ThreadID identifies a thread of the session. It is not the operating system's id.
	ThreadID uint32
	// ModuleID identifies a loaded module of one process.
	ModuleID int64
	// TypeID identifies a runtime type of one process.
	TypeID uint32
	// FunctionID identifies a function of one process.
	FunctionID uint32
	// BodyID identifies a native compilation of a function.
	BodyID int64
	// InstructionID identifies a return address in a body.
	InstructionID uint32
	// InteractionID identifies a row of the table interaction.
	InteractionID uint32
	// InteractionStackID identifies the stack of who made an interaction.
	InteractionStackID uint32
	// NodeID identifies a node of the calling-context tree.
	NodeID uint32
	// PathID identifies a node of the call tree without call sites.
	PathID uint32
	// SystemEventID identifies a row of the table system_event.
	SystemEventID int64
	// SiteID identifies a site: thread × node × type.
	SiteID uint32
	// FileID identifies a source file.
	FileID int64
	// LineID identifies a statement of a source file.
	LineID int64
	// SliceID identifies a span of time.
	SliceID int64
	// PauseID identifies a pause.
	PauseID int64
	// MarkID identifies a mark.
	MarkID int64
	// GCID identifies a garbage collection of one process.
	GCID int64
)

// Address is an address in a process.
type Address uint64

// Token is an ECMA-335 metadata token (II.22.2).
type Token uint32
