// Package sessiontest builds sessions for tests: small ones by hand, odd ones at
// random, and big ones for measuring. Nothing in the shipped program uses it.
package sessiontest

import (
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Builder collects the recorded and resolved tables of a session. The fields may
// be changed freely before Write.
type Builder struct {
	Info              map[string]string
	State             session.State // that Write leaves the session in
	Processes         []session.Process
	Threads           []session.Thread
	Modules           []session.Module
	Types             []session.Type
	TypeArguments     []session.TypeArgument
	Functions         []session.Function
	FunctionArguments []session.FunctionArgument
	Bodies            []session.Body
	Instructions      []session.Instruction
	Nodes             []session.Node
	Sites             []session.Site
	Slices            []session.Slice
	Marks             []session.Mark
	Pauses            []session.Pause
	NotProbed         []session.NotProbed
	SiteValues        []session.SiteValue
	Lifetimes         []session.ProcessLifetime
	ProcessEndings    []session.ProcessEnding
	GCs               []session.GC
	GCGenerations     []session.GCGeneration
	GCDetails         []session.GCDetail
	GCHeaps           []session.GCHeap
	Counters          []session.Counter
	CounterValues     []session.CounterValue
	GCBirths          []session.GCBirth
	GCDeaths          []session.GCDeath
	deathAt           map[session.GCDeath]int // by key, before they are sorted
	Deaths            []session.SiteDeath
	Ages              []session.SiteAge
	Alive             []session.SiteAlive
	Survivals         []session.Survival
	Roots             []session.Root
	Heaps
	Times
	Losses      []session.Loss
	SourceFiles []session.SourceFile
	Lines       []session.Line
	// ParamsArrays are resolved, as lines are.
	ParamsArrays []session.ParamsArray

	nodes  map[session.Node]session.NodeID // keyed with ID 0
	sites  map[session.Site]session.SiteID // keyed with ID 0
	values map[[2]int64]int                // slice and site to the position in SiteValues
	files  map[string]session.FileID
	places map[place]session.InstructionID
}

// New returns a builder of a session with one slice of a second.
func New() *Builder {
	return &Builder{
		State: session.Resolved,
		Info: map[string]string{
			session.KeyVersion: "0.1.0", session.KeyCreated: "2026-01-02T03:04:05Z", session.KeyMode: "memory",
			session.KeyCommand: `["dotnet","App.dll"]`, session.KeyDirectory: "/app", session.KeyDuration: "1000000000",
		},
		Slices: []session.Slice{{ID: 1, Begin: 0, End: 1_000_000_000}},
		nodes:  map[session.Node]session.NodeID{},
		sites:  map[session.Site]session.SiteID{},
		values: map[[2]int64]int{},
		files:  map[string]session.FileID{},
		places: map[place]session.InstructionID{},
		Times:  newTimes(),
	}
}

// Process adds a process that lives for the whole session.
func (b *Builder) Process(name string, pid int64) session.ProcessID {
	id := session.ProcessID(len(b.Processes) + 1)
	b.Processes = append(b.Processes, session.Process{
		ID: id, PID: pid, ParentPID: 1, Name: name, Path: "/usr/bin/dotnet",
		Arguments:      fmt.Sprintf(`["dotnet","%s.dll"]`, name),
		RuntimeVersion: "9.0.7", End: 1_000_000_000, EndState: session.EndExited, AgentBytes: 1 << 20,
	})
	return id
}

// Thread adds a thread that lives for the whole session.
func (b *Builder) Thread(p session.ProcessID, name string) session.ThreadID {
	id := session.ThreadID(len(b.Threads) + 1)
	b.Threads = append(b.Threads, session.Thread{ID: id, Process: p, OSID: 1000 + int64(id), Name: name,
		End: 1_000_000_000})
	return id
}

// Module adds a module with a file and, if symbols, a PDB beside it: then it is user code.
func (b *Builder) Module(p session.ProcessID, name string, symbols bool) session.ModuleID {
	id := session.ModuleID(len(b.Modules) + 1)
	m := session.Module{ID: id, Process: p, Name: name, Path: "/app/" + name, Symbols: session.SymbolsNone}
	if symbols {
		m.Symbols, m.SymbolsPath = session.SymbolsFile, m.Path+".pdb"
		m.Origin = "project"
	}
	b.Modules = append(b.Modules, m)
	return id
}

// Type adds a class.
func (b *Builder) Type(m session.ModuleID, name string) session.TypeID {
	id := session.TypeID(len(b.Types) + 1)
	b.Types = append(b.Types, session.Type{ID: id, Process: b.Modules[m-1].Process, Module: m,
		Token: 0x02000000 + session.Token(id), Kind: session.TypeClass, RawName: name, Name: name})
	return id
}

// Function adds a method with one body. A file of "" means that it has no symbols.
func (b *Builder) Function(m session.ModuleID, name, file string, line int64) session.FunctionID {
	id := session.FunctionID(len(b.Functions) + 1)
	f := session.Function{ID: id, Process: b.Modules[m-1].Process, Module: m, Token: 0x06000000 + session.Token(id),
		Kind: session.FunctionMethod, RawType: "Raw.Type", RawName: "Raw", Signature: []byte{0, 0, 1}, Name: name}
	if file != "" {
		f.File, f.Line = b.file(file), line
	}
	b.Functions = append(b.Functions, f)
	b.Bodies = append(b.Bodies, session.Body{ID: session.BodyID(id), Function: id, Address: 0x7f00_0000_0000 +
		session.Address(id)<<12, Size: 4096})
	return id
}

func (b *Builder) file(path string) session.FileID {
	if b.files[path] == 0 {
		b.files[path] = session.FileID(len(b.SourceFiles) + 1)
		b.SourceFiles = append(b.SourceFiles, session.SourceFile{ID: b.files[path], Path: path})
	}
	return b.files[path]
}

// Frame is a function on a stack, at the line (0: unknown) where it calls or allocates.
type Frame struct {
	Function session.FunctionID
	Line     int64
}

// place is an instruction and, when line is not 0, a statement.
type place struct {
	function session.FunctionID
	line     int64
}

func (b *Builder) instruction(f Frame) session.InstructionID {
	if b.Functions[f.Function-1].Kind == session.FunctionPseudo {
		return 0
	}
	key := place{f.Function, f.Line}
	if b.places[key] == 0 {
		id := session.InstructionID(len(b.Instructions) + 1)
		b.places[key] = id
		in := session.Instruction{ID: id, Function: f.Function, Body: session.BodyID(f.Function),
			Address: b.Bodies[f.Function-1].Address + session.Address(16*f.Line), NativeOffset: 16 * f.Line,
			ILOffset: -1}
		if f.Line != 0 {
			in.ILOffset = f.Line
			in.Line = session.LineID(len(b.Lines) + 1)
			b.Lines = append(b.Lines,
				session.Line{ID: in.Line, Function: f.Function, File: b.Functions[f.Function-1].File,
					LineBegin: f.Line, ColumnBegin: 9, LineEnd: f.Line, ColumnEnd: 40})
		}
		b.Instructions = append(b.Instructions, in)
	}
	return b.places[key]
}

// node returns the id of a node, given with ID 0, which it adds if it is new.
func (b *Builder) node(key session.Node) session.NodeID {
	if b.nodes[key] == 0 {
		b.nodes[key] = session.NodeID(len(b.Nodes) + 1)
		b.Nodes = append(b.Nodes, key)
		b.Nodes[len(b.Nodes)-1].ID = b.nodes[key]
	}
	return b.nodes[key]
}

// Allocate records that a thread allocated n objects of a type, of bytes in all, in a
// slice, with the given stack, root first. It returns the site.
func (b *Builder) Allocate(slice session.SliceID, t session.ThreadID, typ session.TypeID, n q.Count, bytes q.Bytes,
	stack ...Frame) session.SiteID {
	process := b.Threads[t-1].Process
	node := session.NodeID(0)
	for _, f := range stack {
		node = b.node(session.Node{Parent: node, Process: process, Function: f.Function, Instruction: b.instruction(f)})
	}
	site := session.Site{Thread: t, Node: node, Type: typ}
	if b.sites[site] == 0 {
		b.sites[site] = session.SiteID(len(b.Sites) + 1)
		b.Sites = append(b.Sites, site)
		b.Sites[len(b.Sites)-1].ID = b.sites[site]
	}
	key := [2]int64{int64(slice), int64(b.sites[site])}
	at, ok := b.values[key]
	if !ok {
		at = len(b.SiteValues)
		b.values[key] = at
		b.SiteValues = append(b.SiteValues, session.SiteValue{Slice: slice, Site: b.sites[site]})
	}
	b.SiteValues[at].Amount = b.SiteValues[at].Add(q.Amount{Allocations: n, Bytes: bytes})
	return b.sites[site]
}

// Write creates the session file; analysis.Complete makes it complete.
func (b *Builder) Write(path string) error {
	w, err := session.Create(path, false)
	if err != nil {
		return err
	}
	err = w.Batch(func() error { return b.insert(w) })
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (b *Builder) insert(w *session.Writer) error {
	for _, step := range []func() error{
		func() error { return w.SetInfo(b.Info) },
		func() error { return w.InsertProcesses(b.Processes) },
		func() error { return w.InsertThreads(b.Threads) },
		func() error { return w.InsertModules(b.Modules) },
		func() error { return w.InsertTypes(b.Types) },
		func() error { return w.InsertTypeArguments(b.TypeArguments) },
		func() error { return w.InsertFunctions(b.Functions) },
		func() error { return w.InsertFunctionArguments(b.FunctionArguments) },
		func() error { return w.InsertBodies(b.Bodies) },
		func() error { return w.InsertInstructions(b.Instructions) },
		func() error { return w.InsertNodes(b.Nodes) },
		func() error { return w.InsertSites(b.Sites) },
		func() error { return w.InsertSlices(b.Slices) },
		func() error { return w.ReplaceMarks(b.Marks) },
		func() error { return w.ReplacePauses(b.Pauses) },
		func() error { return w.ReplaceNotProbed(b.NotProbed) },
		func() error { return w.InsertSiteValues(b.SiteValues) },
		func() error { return w.ReplaceProcessLifetimes(b.Lifetimes) },
		func() error { return w.InsertProcessEndings(b.ProcessEndings) },
		func() error { return w.InsertGCs(b.GCs) },
		func() error { return w.InsertGCGenerations(b.GCGenerations) },
		func() error { return w.InsertGCDetails(b.GCDetails) },
		func() error { return w.InsertGCHeaps(b.GCHeaps) },
		func() error { return w.InsertGCBirths(b.GCBirths) },
		func() error { return w.InsertGCDeaths(b.GCDeaths) },
		func() error { return w.InsertSiteDeaths(b.Deaths) },
		func() error { return w.ReplaceSiteAges(b.Ages) },
		func() error { return w.InsertSiteAlive(b.Alive) },
		func() error { return w.ReplaceSurvivals(b.Survivals) },
		func() error { return w.ReplaceRoots(b.Roots) },
		func() error { return b.Heaps.write(w) },
		func() error { return b.Times.write(w) },
		func() error { return w.ReplaceCounters(b.Counters) },
		func() error { return w.InsertCounterValues(b.CounterValues) },
		func() error { return w.ReplaceLosses(b.Losses) },
		func() error { return w.InsertSourceFiles(b.SourceFiles) },
		func() error { return w.InsertLines(b.Lines) },
		func() error { return w.InsertParamsArrays(b.ParamsArrays) },
		func() error { return w.SetState(b.State) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
