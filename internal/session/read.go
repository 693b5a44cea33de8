package session

import (
	"cmp"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
)

// The keys of the table info. docs/session.md describes their values.
const (
	KeyState     = "state"             // how far the session got: a State
	KeyVersion   = "clrprof_version"   // version of clrprof that recorded it
	KeyCreated   = "created"           // RFC 3339 time of the session's start
	KeyMode      = "mode"              // data sets, separated by commas: "memory", "memory,lifetime"
	KeyCommand   = "command"           // JSON array: the command that was run
	KeyArguments = "arguments"         // what was kept of the arguments of commands: none | program; absent: all
	KeyDirectory = "working_directory" // where it was run
	KeyOptions   = "options"           // JSON object: the flags that were set
	KeyHost      = "host"              // host name
	KeySystem    = "system"            // kernel name and release
	KeyCPU       = "architecture"      // x64
	KeyDuration  = "duration_ns"       // from start to end of the recording
	KeyExitCode  = "exit_code"         // of the command; absent if it did not end
	KeyNote      = "note"              // a remark for the reader, one line
	KeyRedacted  = "redacted"          // version of clrprof that replaced texts in it; absent: nobody did
	KeySuspended = "suspended_ns"      // the machine slept for so long during the recording; absent if it did not
	KeyObjects   = "objects"           // which objects are counted: ObjectsLarge, ObjectsSampled (none); absent: all
)

// ObjectsLarge is the value of KeyObjects for a process that was started without the agent: objects on the large object
// heap, which are those of 85,000 bytes and more. The others may be sampled: Process.Sampler.
const ObjectsLarge = "large"

// ObjectsSampled is the value of KeyObjects for what was imported from a file that has samples of all objects.
const ObjectsSampled = "sampled"

// Samplers: how the runtime chooses the objects of which it tells.
const (
	SamplerRandom = "random" // each byte is as likely as any other
	SamplerTicks  = "ticks"  // one whenever about 100 KB were given out, with which a regular program can be in step
)

// Values of KeyMode.
const (
	ModeMemory       = "memory"
	ModeLifetime     = "memory,lifetime"
	ModeTime         = "time"
	ModeMemoryTime   = "memory,time"
	ModeLifetimeTime = "memory,lifetime,time"
)

// IsSampled reports whether objects of a process were sampled: then values are estimates.
func (s *Session) IsSampled() (bool, error) {
	rows, err := s.Processes()
	return slices.ContainsFunc(rows, func(p Process) bool { return p.Sampler != "" }), err
}

// each runs query and calls fn for each row of the result.
func (s *Session) each(query string, fn func(*sqlite.Stmt) error) error {
	stmt, err := s.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if err := fn(stmt); err != nil {
			return err
		}
	}
}

// rows reads a table for a method of Session.
func rows[T any](s *Session, t table[T]) ([]T, error) { return rowsOf(s, t, nil) }

// places are functions and what is in them, which several parts of a view read: a row of SQLite takes a microsecond.
type places struct {
	keep         bool // nobody writes to the session
	functions    []Function
	instructions []Instruction
	lines        []Line
}

// keptRows is rows for a table that is kept, if it does not change.
func keptRows[T any](s *Session, t table[T], kept *[]T) ([]T, error) {
	if *kept != nil {
		return *kept, nil
	}
	out, err := rows(s, t)
	if s.places.keep && err == nil {
		*kept = out
	}
	return out, err
}

// rowsOf reads rows by a span of the table's first column (nil: all).
func rowsOf[T any](s *Session, t table[T], of *span) ([]T, error) {
	var out []T
	var err error
	if s.absent[t.name] {
		return nil, nil
	} else if isPacked(t.name) {
		out, err = packedRows(s, t, of)
	} else {
		out, err = selectRows(s, t, of)
	}
	return out, s.explain(err)
}

// scan reads a packed table row by row for a method of Session: rows of a span of its first column (nil: all), in the
// order in which they were written.
func scan[T any](s *Session, t table[T], of *span, fn func(*T)) error {
	return s.explain(eachPacked(s, t, of, fn))
}

// Info returns all facts about the session, by key.
func (s *Session) Info() (map[string]string, error) {
	info := map[string]string{}
	err := s.each("SELECT key, value FROM info", func(stmt *sqlite.Stmt) error {
		info[stmt.ColumnText(0)] = stmt.ColumnText(1)
		return nil
	})
	if err != nil {
		return nil, s.explain(fmt.Errorf("reading table info: %w", err))
	}
	return info, nil
}

// State returns how far the session got.
func (s *Session) State() (State, error) {
	info, err := s.Info()
	return State(info[KeyState]), err
}

// Processes returns the table process in the order of id.
func (s *Session) Processes() ([]Process, error) { return rows(s, processTable) }

// Threads returns the table thread in the order of id.
func (s *Session) Threads() ([]Thread, error) { return rows(s, threadTable) }

// ThreadSets returns the table thread_set in the order of thread.
func (s *Session) ThreadSets() ([]ThreadSet, error) { return rows(s, threadSetTable) }

// TestCases returns the table test_case in the order of function, arguments and number.
func (s *Session) TestCases() ([]TestCase, error) { return rows(s, testCaseTable) }

// ThreadScopes returns the table thread_scope in the order of thread.
func (s *Session) ThreadScopes() ([]ThreadScope, error) { return rows(s, threadScopeTable) }

// Interactions returns the table interaction in the order of id.
func (s *Session) Interactions() ([]Interaction, error) { return rows(s, interactionTable) }

// InteractionFrames returns the table interaction_frame in the order of stack and depth.
func (s *Session) InteractionFrames() ([]InteractionFrame, error) {
	return rows(s, interactionFrameTable)
}

// Modules returns the table module in the order of id.
func (s *Session) Modules() ([]Module, error) { return rows(s, moduleTable) }

// Types returns the table type in the order of id.
func (s *Session) Types() ([]Type, error) { return rows(s, typeTable) }

// TypeArguments returns the table type_argument in the order of type and position.
func (s *Session) TypeArguments() ([]TypeArgument, error) { return rows(s, typeArgumentTable) }

// Functions returns the table function in the order of id. The rows are not to be changed.
func (s *Session) Functions() ([]Function, error) {
	return keptRows(s, functionTable, &s.places.functions)
}

// FunctionArguments returns the table function_argument in the order of function and position.
func (s *Session) FunctionArguments() ([]FunctionArgument, error) {
	return rows(s, functionArgumentTable)
}

// Bodies returns the table body in the order of id.
func (s *Session) Bodies() ([]Body, error) { return rows(s, bodyTable) }

// Instructions returns the table instruction in the order of id. The rows are not to be changed.
func (s *Session) Instructions() ([]Instruction, error) {
	return keptRows(s, instructionTable, &s.places.instructions)
}

// Nodes returns the table node in the order of id.
func (s *Session) Nodes() ([]Node, error) { return rows(s, nodeTable) }

// Sites returns the table site in the order of id.
func (s *Session) Sites() ([]Site, error) { return rows(s, siteTable) }

// Slices returns the table slice in the order of id.
func (s *Session) Slices() ([]Slice, error) { return rows(s, sliceTable) }

// SiteValues returns the table site_value in the order of slice and site.
func (s *Session) SiteValues() ([]SiteValue, error) { return rows(s, siteValueTable) }

// EachSiteValue calls fn for each row of site_value from one slice to another, both included; slices come in their
// order. There can be many millions. The row is overwritten by the next one.
func (s *Session) EachSiteValue(from, to SliceID, fn func(*SiteValue)) error {
	return scan(s, siteValueTable, &span{int64(from), int64(to)}, fn)
}

// EachSiteDeath is EachSiteValue for the table site_death.
func (s *Session) EachSiteDeath(from, to SliceID, fn func(*SiteDeath)) error {
	return scan(s, siteDeathTable, &span{int64(from), int64(to)}, fn)
}

// ProcessLifetimes returns the table process_lifetime in the order of process.
func (s *Session) ProcessLifetimes() ([]ProcessLifetime, error) {
	return rows(s, processLifetimeTable)
}

// LeftOut returns the table process_left_out in the order of process.
func (s *Session) LeftOut() ([]LeftOut, error) { return rows(s, leftOutTable) }

// ProcessEndings returns the table process_ending in the order of process.
func (s *Session) ProcessEndings() ([]ProcessEnding, error) { return rows(s, endingTable) }

// GCFreed returns the table gc_freed in the order of collection and generation.
func (s *Session) GCFreed() ([]GCFreed, error) { return rows(s, gcFreedTable) }

// SiteFreed returns the table site_freed in the order of site and generation. It is not known of a session that was
// made before the table.
func (s *Session) SiteFreed() (list []SiteFreed, known bool, err error) {
	list, err = rows(s, siteFreedTable)
	return list, !s.absent[siteFreedTable.name], err
}

// GCs returns the table gc in the order of id.
func (s *Session) GCs() ([]GC, error) { return rows(s, gcTable) }

// GCGenerations returns the table gc_generation in the order of collection and generation.
func (s *Session) GCGenerations() ([]GCGeneration, error) { return rows(s, gcGenerationTable) }

// GCDetails returns the table gc_detail in the order of collection.
func (s *Session) GCDetails() ([]GCDetail, error) { return rows(s, gcDetailTable) }

// GCCallers returns the table gc_caller in the order of collection.
func (s *Session) GCCallers() ([]GCCaller, error) { return rows(s, gcCallerTable) }

// GCHeaps returns the table gc_heap in the order of collection and generation.
func (s *Session) GCHeaps() ([]GCHeap, error) { return rows(s, gcHeapTable) }

// GCBirths returns the table gc_birth in the order of collection and site, for the collections with the ids from one to
// another.
func (s *Session) GCBirths(from, to GCID) ([]GCBirth, error) {
	return rowsOf(s, gcBirthTable, &span{int64(from), int64(to)})
}

// GCDeaths returns the table gc_death in the order of collection, site and generation, for the collections with the ids
// from one to another.
func (s *Session) GCDeaths(from, to GCID) ([]GCDeath, error) {
	return rowsOf(s, gcDeathTable, &span{int64(from), int64(to)})
}

// ProcessDeaths returns the table process_death in the order of process and generation.
func (s *Session) ProcessDeaths() ([]ProcessDeath, error) { return rows(s, processDeathTable) }

// SummarySections returns the table summary_section in the order of section.
func (s *Session) SummarySections() ([]SummarySection, error) {
	return rows(s, summarySectionTable)
}

// SummarySites returns the table summary_site in the order of section and position.
func (s *Session) SummarySites() ([]SummarySite, error) { return rows(s, summarySiteTable) }

// TypeDeaths returns the table type_death in the order of type and generation.
func (s *Session) TypeDeaths() ([]TypeDeath, error) { return rows(s, typeDeathTable) }

// TypeLifetimes returns the table type_lifetime in the order of position. A session that an older clrprof completed
// has no rows in it.
func (s *Session) TypeLifetimes() ([]TypeLifetime, error) { return rows(s, typeLifetimeTable) }

// FunctionLifetimes returns the table function_lifetime in the order of position, likewise.
func (s *Session) FunctionLifetimes() ([]FunctionLifetime, error) {
	return rows(s, functionLifetimeTable)
}

// TypePaths returns the table type_path in the order of type and position.
func (s *Session) TypePaths() ([]TypePath, error) { return rows(s, typePathTable) }

// CauseTotals returns the table cause_total in the order of part.
func (s *Session) CauseTotals() ([]CauseTotal, error) { return rows(s, causeTotalTable) }

// Causes returns the table cause in the order of position.
func (s *Session) Causes() ([]Cause, error) { return rows(s, causeTable) }

// RulesJudged returns the table rule_judged in the order of rule.
func (s *Session) RulesJudged() ([]RuleJudged, error) { return rows(s, ruleJudgedTable) }

// Findings returns the table finding in the order of position.
func (s *Session) Findings() ([]Finding, error) { return rows(s, findingTable) }

// Stack returns a node and those above it, the top of the stack first, at most limit of them.
func (s *Session) Stack(top NodeID, limit int) ([]Node, error) {
	if s.nodes == nil {
		nodes, err := s.Nodes()
		if err != nil {
			return nil, err
		}
		s.nodes = nodes
	}
	var out []Node
	for id := top; id != 0 && len(out) < limit; id = out[len(out)-1].Parent {
		i, ok := slices.BinarySearchFunc(s.nodes, id, func(n Node, id NodeID) int { return cmp.Compare(n.ID, id) })
		if !ok || s.nodes[i].Parent >= id {
			return nil, s.explain(fmt.Errorf("%w: the path of node %d", ErrCorrupt, top))
		}
		out = append(out, s.nodes[i])
	}
	return out, nil
}

// LineOf returns the line of an instruction, 0 if it has none or there is no such instruction.
func (s *Session) LineOf(id InstructionID) (LineID, error) {
	found, err := rowsOf(s, instructionTable, &span{int64(id), int64(id)})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Line, nil
}

// SiteDeaths returns the table site_death in the order of slice, site and generation.
func (s *Session) SiteDeaths() ([]SiteDeath, error) { return rows(s, siteDeathTable) }

// SiteAges returns the table site_age in the order of site, measure and bucket.
func (s *Session) SiteAges() ([]SiteAge, error) { return rows(s, siteAgeTable) }

// SiteAlive returns the table site_alive in the order of site, generation and birth.
func (s *Session) SiteAlive() ([]SiteAlive, error) { return rows(s, siteAliveTable) }

// Survivals returns the table survival in the order of collection and site.
func (s *Session) Survivals() ([]Survival, error) { return rows(s, survivalTable) }

// Roots returns the table root in the order of its key.
func (s *Session) Roots() ([]Root, error) { return rows(s, rootTable) }

// Losses returns the table loss in the order of process and reason.
func (s *Session) Losses() ([]Loss, error) { return rows(s, lossTable) }

// SourceFiles returns the table source_file in the order of id.
func (s *Session) SourceFiles() ([]SourceFile, error) { return rows(s, sourceFileTable) }

// Lines returns the table line in the order of id. The rows are not to be changed.
func (s *Session) Lines() ([]Line, error) { return keptRows(s, lineTable, &s.places.lines) }

// ParamsArrays returns the table params_array in the order of its key. It is not known of a session that is older than
// the table.
func (s *Session) ParamsArrays() (list []ParamsArray, known bool, err error) {
	list, err = rows(s, paramsArrayTable)
	return list, !s.absent[paramsArrayTable.name], err
}

// PathValues returns the table path_value in the order of id.
func (s *Session) PathValues() ([]PathValue, error) { return rows(s, pathValueTable) }

// CallValues returns the table call_value in the order of caller and callee.
func (s *Session) CallValues() ([]CallValue, error) { return rows(s, callValueTable) }

// CallValuesOf returns the rows of CallValues of which a function is the caller or the callee.
func (s *Session) CallValuesOf(function FunctionID) ([]CallValue, error) {
	out, err := selectWhere(s, callValueTable, callsOf, int64(function))
	return out, s.explain(err)
}

// FunctionValues returns the table function_value in the order of function.
func (s *Session) FunctionValues() ([]FunctionValue, error) { return rows(s, functionValueTable) }

// ModuleValues returns the table module_value in the order of module.
func (s *Session) ModuleValues() ([]ModuleValue, error) { return rows(s, moduleValueTable) }

// LineValues returns the table line_value in the order of line.
func (s *Session) LineValues() ([]LineValue, error) { return rows(s, lineValueTable) }

// InstructionValues returns the table instruction_value in the order of instruction.
func (s *Session) InstructionValues() ([]InstructionValue, error) {
	return rows(s, instructionValueTable)
}

// TypeValues returns the table type_value in the order of type.
func (s *Session) TypeValues() ([]TypeValue, error) { return rows(s, typeValueTable) }

// ThreadValues returns the table thread_value in the order of thread.
func (s *Session) ThreadValues() ([]ThreadValue, error) { return rows(s, threadValueTable) }

// ProcessValues returns the table process_value in the order of process.
func (s *Session) ProcessValues() ([]ProcessValue, error) { return rows(s, processValueTable) }
