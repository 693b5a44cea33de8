package analysis

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Keys name what a session is about so that the same thing has the same key in every process and session of a
// program, also after it was built again: they are made of names and signatures, and of no id, token, address, path
// or MVID.
//
//   - A module's key is the name of its file.
//   - A type's is its module and name, with type arguments. A function's has its parameters too.
//   - A line's is its function and how far it is from the function's first line, so that it stays when code above the
//     function changes.
//   - A path's is a hash of the functions from the root. A site's is a hash of the functions and lines of its stack and
//     its type; it says nothing of the thread.
//
// Numbers that compilers put into names by how much comes before (`<lambda #22_5>` is the sixth in the 23rd method
// of a class) are left out, as far as they do not tell things of one method apart. Things of one process that have
// the same names then are numbered in the order of their tokens: name, name#2, name#3.
type Keys struct {
	data      *Data
	modules   []string
	types     []string
	functions []string
	lines     []string
	paths     []string // nil until something needs it
	nodes     []string // likewise: of stacks with lines
}

// positions are parts of names that change when something is written before, with what remains of them. Looking for
// them takes a while, so it is asked first whether a name has one of some texts.
var positions = []struct {
	has   []string
	found *regexp.Regexp
	keep  string
}{
	// the number of the method
	{[]string{"<lambda #", "<closure "}, regexp.MustCompile(`<(lambda #|closure )\d+([_-]\d+)>`), "<$1$2>"},
	{[]string{" #"}, regexp.MustCompile(`<(async|iterator|async iterator) ([^<>]*) #\d+>`), "<$1 $2>"}, // the same
	{[]string{"@"}, regexp.MustCompile(`@\d+(-\d+)?\b`), "@"},                                          // F#: the line
	{[]string{"DisplayClass", "b__", "|"}, regexp.MustCompile(`(DisplayClass|b__|\|)\d+_`), "${1}_"},   // without symbols
	{[]string{">d__"}, regexp.MustCompile(`>d__\d+`), ">d__"},                                          // likewise
}

// stable returns a name without what depends on what is written before.
func stable(name string) string {
	if !strings.ContainsAny(name, "<@") {
		return name
	}
	for _, p := range positions {
		if slices.ContainsFunc(p.has, func(text string) bool { return strings.Contains(name, text) }) {
			name = p.found.ReplaceAllString(name, p.keep)
		}
	}
	return name
}

// hashBytes is how much of a hash a key has: enough that no two paths of any number of sessions share it.
const hashBytes = 16

// Keys makes the keys of modules, types, functions and lines.
func (d *Data) Keys() *Keys {
	k := &Keys{data: d}
	for i := range d.Modules {
		k.modules = append(k.modules, d.Modules[i].Name)
	}
	modules := newIndex(d.Modules, func(r *session.Module) session.ModuleID { return r.ID })
	module := func(id session.ModuleID) string {
		if at, ok := modules.find(id); ok && at >= 0 {
			return k.modules[at]
		}
		return ""
	}
	types := newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
	get := func(id session.TypeID) *session.Type { return at(d.Types, types, id) }
	k.types = numbered(d.Types, func(t *session.Type) (owner, session.Token, string) {
		return owner(t.Process), t.Token, module(t.Module) + "!" + stable(session.TypeDisplayName(t.ID, get))
	})
	k.functions = numbered(d.Functions, func(f *session.Function) (owner, session.Token, string) {
		return owner(f.Process), f.Token, module(f.Module) + "!" + stable(f.DisplayName())
	})
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	k.lines = numbered(d.Lines, func(l *session.Line) (owner, session.Token, string) {
		f, key := at(d.Functions, functions, l.Function), ""
		if pos, ok := functions.find(l.Function); ok && pos >= 0 {
			key = k.functions[pos]
		}
		return owner(f.Process), session.Token(l.ColumnBegin), lineKey(key, l.LineBegin-f.Line)
	})
	return k
}

// lineKey is the key of a line so far from the first one of a function: "function:+2".
func lineKey(function string, distance int64) string {
	text := append(make([]byte, 0, len(function)+21), function...)
	if text = append(text, ':'); distance >= 0 {
		text = append(text, '+')
	}
	return string(strconv.AppendInt(text, distance, 10))
}

// owner is a process: what has the same names in two of them is the same.
type owner session.ProcessID

// numbered returns the names of rows. Of those with one name in a process all but the first, by token, get a number.
func numbered[Row any](rows []Row, of func(*Row) (owner, session.Token, string)) []string {
	type name struct {
		owner owner
		name  string
	}
	names, tokens, same := make([]string, len(rows)), make([]session.Token, len(rows)), map[name][]int{}
	for i := range rows {
		var by owner
		by, tokens[i], names[i] = of(&rows[i])
		same[name{by, names[i]}] = append(same[name{by, names[i]}], i)
	}
	for _, all := range same {
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(tokens[a], tokens[b]) })
		for n, i := range all[1:] {
			names[i] = fmt.Sprintf("%s#%d", names[i], n+2)
		}
	}
	return names
}

// FunctionKeys returns the keys of all functions.
func (v *Source) FunctionKeys() (map[session.FunctionID]string, error) {
	d, err := v.named()
	if err != nil {
		return nil, err
	}
	keys := d.Keys()
	out := make(map[session.FunctionID]string, len(d.Functions))
	for i := range d.Functions {
		out[d.Functions[i].ID] = keys.Function(i)
	}
	return out, nil
}

// Module returns the key of a module, by position, and so do the others for what they are about.
func (k *Keys) Module(at int) string { return k.modules[at] }

// Type returns the key of a type.
func (k *Keys) Type(at int) string { return k.types[at] }

// Function returns the key of a function.
func (k *Keys) Function(at int) string { return k.functions[at] }

// Line returns the key of a line.
func (k *Keys) Line(at int) string { return k.lines[at] }

// Path returns the key of a path: a node of the tree without call sites, as samples number them.
func (k *Keys) Path(at int32) string {
	if k.paths == nil {
		all := k.data.merged()
		k.paths = chain(all.Parent, func(i int) string { return k.functions[all.Group[i]] })
	}
	return k.paths[at]
}

// Site returns the key of a site.
func (k *Keys) Site(at int) string {
	d := k.data
	if k.nodes == nil {
		k.nodes = chain(d.tree.Parent, func(i int) string {
			if in := d.nodeInstruction[i]; in >= 0 && d.instructionLine[in] >= 0 {
				return k.lines[d.instructionLine[in]]
			}
			return k.functions[d.nodeFunction[i]]
		})
	}
	node, typ := "", ""
	if n := d.siteNode[at]; n >= 0 {
		node = k.nodes[n]
	}
	if t := d.siteType[at]; t >= 0 {
		typ = k.types[t]
	}
	return digest(node, typ)
}

// chain returns a hash for each node of a tree: of its parent's and its own name.
func chain(parent []int32, name func(int) string) []string {
	out := make([]string, len(parent))
	for i, p := range parent { // parents first
		above := ""
		if p >= 0 {
			above = out[p]
		}
		out[i] = digest(above, name(i))
	}
	return out
}

// digest is the hash of two texts. The first is a hash or empty, so no two pairs are the same bytes.
func digest(above, name string) string {
	text := append(make([]byte, 0, 512), above...)
	text = append(append(text, 0), name...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashBytes])
}
