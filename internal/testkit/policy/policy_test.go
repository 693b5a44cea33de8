package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/present/report"
)

const (
	module       = "github.com/clrprof/clrprof"
	root         = "../../.."
	maxFuncLines = 70
	maxFileLines = 1000
)

// floors is a statement of policy, not a description: the groups of packages below internal/, the ground first. A package
// may import its own group and the groups to the right of its colon, which lines above it declare: so groups cannot have
// a cycle, as packages cannot in Go. ARCHITECTURE.md has the picture.
const floors = `
quantity:
pattern:
printable:
shell:
files:
wire:
dotnet: files
session: wire files dotnet quantity
capture: wire files dotnet session quantity pattern
analysis: dotnet session files quantity pattern printable shell
present: analysis session dotnet files quantity printable shell
export: present analysis session dotnet quantity printable
cli: capture analysis present export session dotnet files quantity pattern shell
testkit: capture wire files dotnet session analysis quantity
`

// doors are imports across floors that floors does not allow, each with why.
var doors = map[string]string{
	"present/top capture/live": "top shows the messages of a recording, which are a contract of their own: docs/live.md",
}

// notShipped are folders of programs that are not in the binary: they see the program and what tests need.
var notShipped = []string{"bench", "tools/"}

// thirdParty lists the modules that the shipped binary may use, each with why.
var thirdParty = map[string]string{
	"charm.land/bubbletea/v2":      "keys and screens of terminals",
	"github.com/chromedp/cdproto":  "what chromedp speaks, for tests alone: testkit/webtest",
	"github.com/chromedp/chromedp": "drives a browser, for tests alone: testkit/webtest",
	"github.com/BurntSushi/toml": "the format of budgets, with comments and errors that name " +
		"the line",
	"github.com/google/go-cmp/cmp":       "readable differences, for tests alone: testkit/differ",
	"github.com/spf13/cobra":             "commands, help, completions, man pages",
	"github.com/spf13/pflag":             "the flags of cobra: its errors say which value was wrong",
	"golang.org/x/sys":                   "mapping and locking of the shared memory",
	"golang.org/x/term":                  "is it a terminal, and how wide",
	"github.com/klauspost/compress/zstd": "Zstandard without cgo: packed tables are a tenth in size",
	"github.com/klauspost/compress/gzip": "several times as fast as the standard library's: profiles of a " +
		"million sites",
	"github.com/modelcontextprotocol/go-sdk/mcp":    "the official SDK of the Model Context Protocol",
	"google.golang.org/protobuf/encoding/protowire": "the wire format of pprof and OTLP, written field by field",
	"github.com/parquet-go/parquet-go":              "the Parquet format",
	"zombiezen.com/go/sqlite":                       "SQLite without cgo; fast bulk inserts",
	"modernc.org/sqlite/vfs":                        "SQLite reads files that were opened, by no names",
	"modernc.org/sqlite/lib":                        "a limit of the memory of queries, which zombiezen.com/go/sqlite has not",
	"modernc.org/libc":                              "the arguments of modernc.org/sqlite/lib",
}

// platformDependent lists the packages that may differ by operating system or CPU.
// All others must read any session on any machine.
var platformDependent = []string{"capture/arena", "capture/launch", "capture/agentbin", "capture/control"}

// funcsOverLimit lists functions allowed past maxFuncLines, each with why.
var funcsOverLimit = map[string]string{}

// parseFloors returns which groups each group may import.
func parseFloors(t *testing.T) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(floors)) {
		group, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("malformed line %q", line)
		}
		for _, below := range strings.Fields(rest) {
			if _, known := allowed[below]; !known {
				t.Errorf("%s names %s, which no line above declares", group, below)
			}
		}
		allowed[group] = strings.Fields(rest)
	}
	return allowed
}

// goFiles parses every Go file of the program, for all platforms, and calls fn: no tests, nothing of others, and no module
// of its own, which is not in the binary.
func goFiles(t *testing.T, fn func(rel string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	isOutside := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		return err == nil || filepath.Base(dir) == "third_party"
	}
	walkGo(t, isOutside, func(rel string, fset *token.FileSet, f *ast.File) {
		if !strings.HasSuffix(rel, "_test.go") {
			fn(rel, fset, f)
		}
	})
}

// walkGo parses every Go file, tests included, and calls fn. It leaves out what tests and tools only read, and folders
// that are outside.
func walkGo(t *testing.T, isOutside func(dir string) bool, fn func(rel string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() && p != root && (n == "testdata" || strings.HasPrefix(n, ".") || isOutside(p)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		fn(filepath.ToSlash(rel), fset, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDependencies(t *testing.T) {
	allowed := parseFloors(t)
	seen, opened := map[string]bool{}, map[string]bool{}
	goFiles(t, func(rel string, _ *token.FileSet, f *ast.File) {
		pkg, internal := strings.CutPrefix(path.Dir(rel), "internal/")
		group, _, _ := strings.Cut(pkg, "/")
		if _, ok := allowed[group]; internal && !ok {
			t.Errorf("%s: %s is on no floor", rel, group)
		}
		seen[group] = true
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			dep, ours := strings.CutPrefix(imp, module+"/internal/")
			below, _, _ := strings.Cut(dep, "/")
			switch {
			case !ours:
				checkForeign(t, rel, pkg, imp)
			case !internal:
				checkProgram(t, rel, pkg, dep)
			case doors[pkg+" "+dep] != "":
				opened[pkg+" "+dep] = true
			case below != group && !slices.Contains(allowed[group], below):
				t.Errorf("%s: %s must not import %s", rel, group, dep)
			}
		}
	})
	for group := range maps.Keys(allowed) {
		if !seen[group] {
			t.Errorf("floors names %s, which does not exist", group)
		}
	}
	for door := range maps.Keys(doors) {
		if !opened[door] {
			t.Errorf("doors names %q, which nothing uses", door)
		}
	}
}

// checkProgram requires that commands import the command line alone, and those that are not shipped what tests need.
func checkProgram(t *testing.T, rel, pkg, dep string) {
	t.Helper()
	if dep == "cli" {
		return
	}
	if !slices.ContainsFunc(notShipped, func(dir string) bool { return strings.HasPrefix(pkg, dir) }) {
		t.Errorf("%s: %s must not import %s", rel, pkg, dep)
	}
}

// checkForeign requires that an import of another module is one that thirdParty explains.
func checkForeign(t *testing.T, rel, pkg, imp string) {
	t.Helper()
	if (imp == "C" || imp == "unsafe") && pkg != "capture/arena" {
		t.Errorf("%s: only capture/arena may import %q", rel, imp)
	}
	first, _, _ := strings.Cut(imp, "/")
	if strings.Contains(first, ".") && !slices.ContainsFunc(slices.Collect(maps.Keys(thirdParty)),
		func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }) {
		t.Errorf("%s: third-party import %s is not in the policy", rel, imp)
	}
}

// TestViewNames requires that who shows views asks what they are like, not what they are called.
func TestViewNames(t *testing.T) {
	var views []string
	for _, v := range report.Views() {
		views = append(views, v.Name)
	}
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		pkg := strings.TrimPrefix(path.Dir(rel), "internal/")
		if pkg != "cli" && !strings.HasPrefix(pkg, "export/") && !strings.HasPrefix(pkg, "present/") {
			return
		}
		check := func(e ast.Expr) {
			lit, isLiteral := e.(*ast.BasicLit)
			if !isLiteral || lit.Kind != token.STRING {
				return
			}
			if name, _ := strconv.Unquote(lit.Value); slices.Contains(views, name) {
				t.Errorf("%s: compares with the name of the view %s", fset.Position(lit.Pos()), name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					check(n.X)
					check(n.Y)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					check(e)
				}
			}
			return true
		})
	})
}

func TestPortability(t *testing.T) {
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		pkg, internal := strings.CutPrefix(path.Dir(rel), "internal/")
		if !internal || slices.Contains(platformDependent, pkg) {
			return
		}
		name := strings.TrimSuffix(path.Base(rel), ".go")
		for _, suffix := range []string{"_linux", "_windows", "_darwin", "_unix", "_amd64", "_arm64"} {
			if strings.HasSuffix(name, suffix) {
				t.Errorf("%s: %s must not depend on the platform", rel, pkg)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && x.Name == "runtime" && (sel.Sel.Name == "GOOS" || sel.Sel.Name == "GOARCH") {
				t.Errorf("%s: %s must not use runtime.%s", fset.Position(n.Pos()), pkg, sel.Sel.Name)
			}
			return true
		})
	})
}

func TestTidy(t *testing.T) {
	documented := map[string]bool{}
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		dir := path.Dir(rel)
		documented[dir] = documented[dir] || f.Doc != nil
		if n := fset.File(f.Pos()).LineCount(); n > maxFileLines {
			t.Errorf("%s: %d lines, limit %d", rel, n, maxFileLines)
		}
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := fset.Position(fd.End()).Line - fset.Position(fd.Pos()).Line + 1
			if n > maxFuncLines && funcsOverLimit[rel+":"+fd.Name.Name] == "" {
				t.Errorf("%s: %s has %d lines, limit %d", rel, fd.Name.Name, n, maxFuncLines)
			}
		}
	})
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

// mostColumns bounds lines of Go, a tab being 4. A string that is long stands as it is.
const mostColumns, longString = 120, 60

func TestWidth(t *testing.T) {
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			t.Fatal(err)
		}
		strung := map[int]bool{} // lines with a long string, or a part of one
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && (len(lit.Value) >= longString || lit.Value[0] == '`') {
				for line := fset.Position(lit.Pos()).Line; line <= fset.Position(lit.End()).Line; line++ {
					strung[line] = true
				}
			}
			return true
		})
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > mostColumns && !strung[i+1] {
				t.Errorf("%s:%d has %d columns, limit %d", rel, i+1, n, mostColumns)
			}
		}
	})
}

// TestDocumented requires a comment on each exported name. In a group of
// constants or variables the comment of the group is enough.
func TestDocumented(t *testing.T) {
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) || f.Name.Name == "main" {
			return
		}
		check := func(id *ast.Ident, docs ...*ast.CommentGroup) {
			if id.IsExported() && !slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool { return c != nil }) {
				t.Errorf("%s:%d: %s has no comment", rel, fset.Position(id.Pos()).Line, id.Name)
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !ofError(d) {
					check(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						check(spec.Name, spec.Doc, d.Doc)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							check(id, spec.Doc, spec.Comment, d.Doc)
						}
					}
				}
			}
		}
	})
}

// ofError says whether the method is one of the error interfaces, whose meaning is the language's.
func ofError(d *ast.FuncDecl) bool {
	return d.Recv != nil && (d.Name.Name == "Error" || d.Name.Name == "Unwrap")
}

var bareTODO = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\(#\d+\))?`)

// TestTODO requires an issue number, as in TODO(#12), on each note.
func TestTODO(t *testing.T) {
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		for _, group := range f.Comments {
			for _, m := range bareTODO.FindAllStringSubmatch(group.Text(), -1) {
				if m[1] != "TODO" || m[2] == "" {
					t.Errorf("%s:%d: want TODO(#issue), have %s", rel, fset.Position(group.Pos()).Line, m[0])
				}
			}
		}
	})
}
