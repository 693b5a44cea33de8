package policy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exportedUnused lists names that may be exported although no other package has them, each with why.
var exportedUnused = map[string]string{
	"cli.Commit": "the linker sets it: Makefile",
}

// exports is what a package exports as its files declare it.
type exports struct {
	names map[string]string // exported, with where they are declared
	// Names that exported declarations mention: a reader of the package meets them, though they may name no
	// variable of other packages.
	mentioned map[string]bool
	groups    [][]string // constants and variables that are declared together: one of them is never alone
}

// TestExported requires that an exported name is used by another package, or that a name that is used says what it is:
// a type in the signature or the fields of one, the other constants of its group. What wire exports is the agent's, too.
func TestExported(t *testing.T) {
	used := map[string]bool{}
	nothing := func(string) bool { return false }
	walkGo(t, nothing, func(_ string, _ *token.FileSet, f *ast.File) { usedNames(f, used) })
	needed := map[string]bool{}
	for pkg, d := range exported(t) {
		for _, group := range d.groups {
			for _, name := range group {
				if used[pkg+"."+name] {
					for _, other := range group {
						d.mentioned[other] = true
					}
				}
			}
		}
		for name, where := range d.names {
			full := pkg + "." + name
			switch {
			case used[full] || d.mentioned[name]:
			case exportedUnused[full] != "":
				needed[full] = true
			default:
				t.Errorf("%s: no other package uses %s", where, full)
			}
		}
	}
	for full := range exportedUnused {
		if !needed[full] {
			t.Errorf("exportedUnused names %s, which needs no exception", full)
		}
	}
}

// exported returns what the packages below internal/ export, by their paths there, without wire and generated files.
func exported(t *testing.T) map[string]*exports {
	t.Helper()
	packages := map[string]*exports{}
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		pkg, internal := strings.CutPrefix(path.Dir(rel), "internal/")
		if !internal || pkg == "wire" || ast.IsGenerated(f) {
			return
		}
		if packages[pkg] == nil {
			packages[pkg] = &exports{names: map[string]string{}, mentioned: map[string]bool{}}
		}
		for _, d := range f.Decls {
			packages[pkg].add(d, func(p token.Pos) string { return rel + ":" + strconv.Itoa(fset.Position(p).Line) })
		}
	})
	return packages
}

// usedNames adds the names of other packages that a file has. An external test is another package than what it tests.
func usedNames(f *ast.File, used map[string]bool) {
	imported := map[string]string{}
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		pkg, ours := strings.CutPrefix(imp, module+"/internal/")
		if !ours {
			continue
		}
		name := path.Base(pkg)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = pkg
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != "" {
				used[imported[x.Name]+"."+s.Sel.Name] = true
			}
		}
		return true
	})
}

// add adds a declaration of a package.
func (d *exports) add(decl ast.Decl, at func(token.Pos) string) {
	name := func(id *ast.Ident) {
		if id.IsExported() {
			d.names[id.Name] = at(id.Pos())
		}
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			name(decl.Name)
		}
		if decl.Name.IsExported() {
			d.mention(decl.Type)
		}
	case *ast.GenDecl:
		var group []string
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				name(spec.Name)
				if spec.Name.IsExported() {
					d.mention(spec.Type)
				}
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					name(id)
					group = append(group, id.Name)
					if id.IsExported() && spec.Type != nil {
						d.mention(spec.Type)
					}
				}
			}
		}
		d.groups = append(d.groups, group)
	}
}

// mention adds the names that a type consists of; of a structure, those of exported and embedded fields.
func (d *exports) mention(typ ast.Node) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			exported := len(n.Names) == 0
			for _, id := range n.Names {
				exported = exported || id.IsExported() || !isField(typ, n)
			}
			if exported {
				d.mention(n.Type)
			}
			return false
		case *ast.Ident:
			d.mentioned[n.Name] = true
		}
		return true
	})
}

// isField reports whether a field is one of a structure, not a parameter.
func isField(typ ast.Node, f *ast.Field) bool {
	s, ok := typ.(*ast.StructType)
	return ok && slices.Contains(s.Fields.List, f)
}

// mostLines, mostFiles and mostNames bound a package: tests and generated files are not counted. mostFields bounds the
// exported fields of a structure. The package wire describes the agent's memory, structure for structure, and is left out.
const mostLines, mostFiles, mostNames, mostFields = 6000, 40, 60, 20

// steps are how far below its limit in large a size may be.
var steps = map[string]int{"lines": 500, "files": 5, "names": 10, "fields": 1}

// large are the limits of packages and structures that are above these bounds. They may only become less: what makes a
// package larger is a reason to take something out of it first.
var large = map[string]int{
	"analysis files":                     80,
	"analysis lines":                     18000,
	"analysis names":                     170,
	"capture/collect files":              50,
	"capture/collect lines":              9500,
	"capture/collect.Options fields":     27,
	"capture/launch.Options fields":      31,
	"cli files":                          55,
	"cli lines":                          10000,
	"dotnet/clrmeta names":               90,
	"dotnet/il names":                    80,
	"present/report files":               80,
	"present/report lines":               15500,
	"present/report names":               240,
	"present/report.Options fields":      22,
	"present/report.Summary fields":      27,
	"session files":                      45,
	"session lines":                      9000,
	"session names":                      360,
	"session.Derived fields":             30,
	"session.ProcessTime fields":         22,
	"testkit/sessiontest.Builder fields": 37,
	"testkit/wiretest.Arena fields":      24,
}

// TestPackageSize requires that a package, and a structure, is of a size that a reader can take in.
func TestPackageSize(t *testing.T) {
	sizes := map[string]int{}
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		pkg, internal := strings.CutPrefix(path.Dir(rel), "internal/")
		if !internal || pkg == "wire" || ast.IsGenerated(f) {
			return
		}
		sizes[pkg+" lines"] += fset.File(f.Pos()).LineCount()
		sizes[pkg+" files"]++
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					sizes[pkg+"."+spec.Name.Name+" fields"] = exportedFields(s)
				}
			}
			return true
		})
	})
	for pkg, e := range exported(t) {
		sizes[pkg+" names"] = len(e.names)
	}
	bounds := map[string]int{"lines": mostLines, "files": mostFiles, "names": mostNames, "fields": mostFields}
	for what, n := range sizes {
		_, unit, _ := strings.Cut(what, " ")
		limit, listed := large[what]
		if !listed {
			limit = bounds[unit]
		}
		switch {
		case n > limit:
			t.Errorf("%s: %d, limit %d", what, n, limit)
		case listed && n <= max(limit-steps[unit], bounds[unit]):
			t.Errorf("%s: %d, far below its limit %d in large: make that less", what, n, limit)
		}
	}
	for what := range large {
		if sizes[what] == 0 {
			t.Errorf("large names %s, which does not exist", what)
		}
	}
}

func exportedFields(s *ast.StructType) int {
	n := 0
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			if id.IsExported() {
				n++
			}
		}
	}
	return n
}
