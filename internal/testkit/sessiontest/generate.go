package sessiontest

import (
	"fmt"
	"math/rand/v2"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Random returns a small session with everything that makes sessions hard: several
// processes and threads, recursion, call sites of one function in several places, pseudo
// and dynamic functions, missing symbols, several slices, and every second time
// lifetimes. The same seed gives the same session.
func Random(seed uint64) *Builder {
	r := rand.New(rand.NewPCG(seed, 1))
	b := New()
	b.Slices = nil
	for i := range 1 + r.IntN(4) {
		b.Slices = append(b.Slices, session.Slice{ID: session.SliceID(i + 1), Begin: q.Nanoseconds(i * 100),
			End: q.Nanoseconds(i*100 + 100)})
	}
	for p := range 1 + r.IntN(3) {
		id := b.Process(fmt.Sprintf("App%d", p), int64(100+p))
		randomProcess(b, r, id)
	}
	if seed%2 == 0 {
		b.follow(r)
	}
	return b
}

func randomProcess(b *Builder, r *rand.Rand, p session.ProcessID) {
	var threads []session.ThreadID
	for i := range 1 + r.IntN(3) {
		threads = append(threads, b.Thread(p, fmt.Sprintf("worker %d", i)))
	}
	var types []session.TypeID
	var functions []session.FunctionID
	for m := range 1 + r.IntN(3) {
		module := b.Module(p, fmt.Sprintf("M%d.dll", m), r.IntN(2) == 0)
		for i := range 1 + r.IntN(3) {
			types = append(types, b.Type(module, fmt.Sprintf("N%d.Type%d", m, i)))
		}
		for i := range 1 + r.IntN(4) {
			file := ""
			if b.Modules[module-1].Symbols != session.SymbolsNone {
				file = fmt.Sprintf("/src/M%d.cs", m)
			}
			functions = append(functions, b.Function(module, fmt.Sprintf("N%d.C.F%d()", m, i), file, int64(10*i+1)))
		}
	}
	if r.IntN(2) == 0 {
		f := &b.Functions[functions[0]-1]
		f.Kind, f.Module, f.Token, f.Name = session.FunctionPseudo, 0, 0, "(truncated)"
	}
	for range r.IntN(40) {
		var stack []Frame
		for range 1 + r.IntN(9) {
			f := Frame{Function: functions[r.IntN(len(functions))]}
			if b.Functions[f.Function-1].File != 0 {
				f.Line = b.Functions[f.Function-1].Line + int64(r.IntN(3))
			}
			stack = append(stack, f)
		}
		n := 1 + r.Int64N(20)
		b.Allocate(session.SliceID(1+r.IntN(len(b.Slices))), threads[r.IntN(len(threads))], types[r.IntN(len(types))],
			q.Count(n), q.Bytes(n*(24+8*r.Int64N(10))), stack...)
	}
}

// Size says how big a generated session is.
type Size struct {
	Nodes     int
	Functions int
	Types     int
	Threads   int
	// Sites, if more than Nodes, are the sites in all: each node has one, and any of them has one of the others too.
	Sites int
	// Chain, if not 0, makes the first Chain nodes one path, as deep recursion does.
	Chain int
}

// Million is the size that opening times are stated for.
var Million = Size{Nodes: 1_000_000, Functions: 20_000, Types: 3_000, Threads: 16}

// callees is how many different functions a generated function calls.
const callees = 7

// Generate returns a session with one process and exactly the given numbers of rows.
// Each node has a site; names are as long as real ones. The same size and seed
// give the same session.
func Generate(size Size, seed uint64) *Builder {
	r := rand.New(rand.NewPCG(seed, 2))
	b := New()
	p := b.Process("Big", 4242)
	for i := range size.Threads {
		b.Thread(p, fmt.Sprintf("worker %d", i))
	}
	for i := range 40 {
		b.Module(p, fmt.Sprintf("Company.Product.Area%d.dll", i), true)
	}
	for i := range size.Types {
		b.Type(session.ModuleID(1+i%len(b.Modules)),
			fmt.Sprintf("Company.Product.Area%d.Model.Entity%d<System.Collections.Generic.Dictionary<string, int>>",
				i%40, i))
	}
	for i := range size.Functions {
		m := i % len(b.Modules)
		b.Function(session.ModuleID(1+m),
			fmt.Sprintf(
				"Company.Product.Area%d.Services.Service%d.HandleRequestAsync<Company.Product.Request%d>(string, int[])", m, i/7, i),
			fmt.Sprintf("/src/Company.Product/Area%d/Services/Service%d.cs", m, i/7), int64(20+i%500))
	}
	for i := range size.Functions { // two call sites in each function
		b.instruction(Frame{session.FunctionID(i + 1), b.Functions[i].Line + 1})
		b.instruction(Frame{session.FunctionID(i + 1), b.Functions[i].Line + 2})
	}
	for i := range size.Nodes {
		n := session.Node{ID: session.NodeID(i + 1), Process: p}
		switch {
		case i < size.Chain:
			n.Parent = session.NodeID(i)
		case i > 0:
			n.Parent = session.NodeID(1 + r.IntN(i)) // a random recursive tree: depth about e·ln(n)
		}
		f := r.IntN(size.Functions)
		if n.Parent != 0 { // a function calls a few others, not all
			f = (int(b.Nodes[n.Parent-1].Function)*callees + r.IntN(callees)) % size.Functions
		}
		n.Function, n.Instruction = session.FunctionID(f+1), session.InstructionID(2*f+1+r.IntN(2))
		b.Nodes = append(b.Nodes, n)
		b.generateSite(r, size, n.ID)
	}
	for range size.Sites - size.Nodes {
		b.generateSite(r, size, session.NodeID(1+r.IntN(size.Nodes)))
	}
	return b
}

// generateSite adds a site of a node, and what was allocated there.
func (b *Builder) generateSite(r *rand.Rand, size Size, node session.NodeID) {
	site := session.SiteID(len(b.Sites) + 1)
	b.Sites = append(b.Sites, session.Site{ID: site, Thread: session.ThreadID(1 + r.IntN(size.Threads)), Node: node,
		Type: session.TypeID(1 + r.IntN(size.Types))})
	count := 1 + r.Int64N(100)
	b.SiteValues = append(b.SiteValues, session.SiteValue{Slice: 1, Site: site,
		Amount: q.Amount{Allocations: q.Count(count), Bytes: q.Bytes(count * (24 + 8*r.Int64N(8)))}})
}
