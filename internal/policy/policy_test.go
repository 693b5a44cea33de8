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
)

const (
	module       = "github.com/clrprof/clrprof"
	root         = "../.."
	maxFuncLines = 70
	maxFileLines = 1000
)

// deps is a statement of policy, not a description. A package may import only
// the packages to the right of its colon (and the standard library).
// Lines are ordered: a package may name only packages from lines above it,
// so the graph cannot have a cycle.
const deps = `
openfile:
safefs:
safefs/safefstest:
wire:
quantity:
clrmeta:
ppdb: clrmeta
bundle: openfile
pattern:
usercode:
il:
probes: clrmeta il wire
instrument: clrmeta openfile pattern probes usercode wire
agentbin: openfile safefs
inherited:
counter:
cpucounter: wire
systemevent: cpucounter wire
eventpipe: openfile quantity
control: openfile
heapgraph: openfile
pieces:
cgroup:
dotnettest: bundle
differ:
programs:
policy:
atomicfile:
secrets:
sourceroot:
collect: secrets
report: secrets
cli: secrets
printable:
report/text: printable
report/encode: printable
budget: printable
export/vsperf: printable
agentbin: atomicfile
session: atomicfile
wire/gen: wire
wire/wiretest: wire
arena: openfile wire
calltrace: openfile wire
heap: wire
heap/heapsim: heap wire
heap/replay:
timing: wire
timing/timingsim: timing
timing/replay:
columns:
session: columns openfile quantity safefs
session/journaltest:
session/sessiontest: columns dotnettest quantity session
launch: agentbin arena control inherited openfile safefs wire
callee: clrmeta openfile
symbols: bundle callee clrmeta il openfile ppdb session usercode
report/names:
live: quantity report/names session symbols
steer:
recording: live pieces quantity session steer symbols
collect: arena callee calltrace cgroup counter cpucounter eventpipe heapgraph instrument launch live openfile pattern pieces probes quantity recording safefs session steer symbols systemevent usercode wire
calltree: quantity
analysis: calltree pattern pieces quantity session usercode
web/webtest:
analysis/analysistest: analysis session session/sessiontest
rules: analysis quantity session
redact: analysis session
shell:
report: analysis calltree openfile quantity report/names rules session symbols usercode
report/words: quantity report session shell
report/text: quantity report report/names report/words session shell usercode
report/encode: quantity report report/words session shell
report/sheet: report report/encode report/text report/words
export/parquet: session
export/collapsed: analysis session
export/protobuf:
export/pprof: analysis export/protobuf session
export/otlp: analysis export/protobuf session
export/firefox: analysis quantity session
export/chrome: analysis session
export/trace: analysis calltrace session
export/vsperf: analysis report
export/document: analysis report report/encode report/words session
mcp: analysis openfile quantity report report/encode report/text report/words rules session
budget: analysis openfile quantity report/names rules session shell sourceroot usercode
export/speedscope: analysis session
export/sarif: analysis rules session sourceroot
web: analysis openfile quantity report report/encode report/sheet report/text report/words session shell
top: live quantity report/text session
cli: export/sarif redact rules
cli: agentbin analysis budget cgroup collect control counter cpucounter eventpipe export/collapsed export/parquet export/pprof export/speedscope instrument launch live pattern quantity report session steer symbols systemevent top web
cli: calltrace export/trace
cli: export/chrome export/document export/firefox export/otlp export/vsperf
cli: atomicfile mcp openfile report/encode report/text report/words safefs shell
`

// thirdParty lists the modules that the shipped binary may use, each with why.
var thirdParty = map[string]string{
	"charm.land/bubbletea/v2":      "keys and screens of terminals",
	"github.com/chromedp/cdproto":  "what chromedp speaks, for tests alone: web/webtest",
	"github.com/chromedp/chromedp": "drives a browser, for tests alone: web/webtest",
	"github.com/BurntSushi/toml": "the format of budgets, with comments and errors that name " +
		"the line",
	"github.com/google/go-cmp/cmp":       "readable differences, for tests alone: differ",
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
var platformDependent = []string{"arena", "launch", "agentbin", "control"}

// funcsOverLimit lists functions allowed past maxFuncLines, each with why.
var funcsOverLimit = map[string]string{}

func parseDeps(t *testing.T) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(deps)) {
		pkg, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("malformed line %q", line)
		}
		names := strings.Fields(rest)
		for _, n := range names {
			if _, known := allowed[n]; !known {
				t.Errorf("%s names %s, which no line above declares", pkg, n)
			}
		}
		allowed[pkg] = append(allowed[pkg], names...) // a package can have several lines
	}
	return allowed
}

// goFiles parses every non-test Go file, for all platforms, and calls fn.
func goFiles(t *testing.T, fn func(rel string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() && (n == "testdata" || n == "third_party" || strings.HasPrefix(n, ".") &&
			p != root) {
			return filepath.SkipDir
		}
		// a module of its own is not in the binary
		if _, err := os.Stat(filepath.Join(p, "go.mod")); d.IsDir() && p != root && err == nil {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
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
	allowed := parseDeps(t)
	seen := map[string]bool{}
	goFiles(t, func(rel string, _ *token.FileSet, f *ast.File) {
		pkg, internal := strings.CutPrefix(path.Dir(rel), "internal/")
		if !internal {
			// cmd, tools and bench see the program and the .NET to test with
			allowed[pkg] = []string{"cli", "dotnettest"}
			if pkg == "bench" {
				// it runs the reference tracker beside the agent, and makes up large sessions
				allowed[pkg] = append(allowed[pkg], "arena", "heap", "wire", "quantity", "rules", "session",
					"session/sessiontest")
			}
		} else if _, ok := allowed[pkg]; !ok {
			t.Errorf("%s: package is not in the policy", rel)
		}
		seen[pkg] = true
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			dep, ours := strings.CutPrefix(imp, module+"/internal/")
			if ours && !slices.Contains(allowed[pkg], dep) {
				t.Errorf("%s: %s must not import %s", rel, pkg, dep)
			}
			if (imp == "C" || imp == "unsafe") && pkg != "arena" {
				t.Errorf("%s: only arena may import %q", rel, imp)
			}
			first, _, _ := strings.Cut(imp, "/")
			if !ours && strings.Contains(first, ".") && !slices.ContainsFunc(slices.Collect(maps.Keys(thirdParty)),
				func(m string) bool {
					return imp == m || strings.HasPrefix(imp, m+"/")
				}) {
				t.Errorf("%s: third-party import %s is not in the policy", rel, imp)
			}
		}
	})
	for pkg := range maps.Keys(allowed) {
		if !seen[pkg] {
			t.Errorf("policy names %s, which does not exist", pkg)
		}
	}
}

// views are the names of views, of which nobody asks what it is called: package report describes each.
var views = []string{"ages", "callers", "calltree", "diff-gcs", "function", "functions", "gcs", "header", "ips",
	"lifetime", "lines", "losses", "marks",
	"modules", "processes", "rules", "snapshot", "survivors", "threads", "types"}

// TestViewNames requires that who shows views asks what they are like, not what they are called.
func TestViewNames(t *testing.T) {
	goFiles(t, func(rel string, fset *token.FileSet, f *ast.File) {
		pkg := strings.TrimPrefix(path.Dir(rel), "internal/")
		if pkg != "cli" && pkg != "web" && pkg != "mcp" && !strings.HasPrefix(pkg, "export/") &&
			!strings.HasPrefix(pkg, "report") {
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
