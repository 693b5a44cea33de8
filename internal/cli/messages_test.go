package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messageFolders are where what people read is written, by what they read.
var messageFolders = []struct{ title, folder string }{
	{"The command line", "internal/cli"},
	{"Notes, findings and losses", "internal/present/report/words"},
	{"Views", "internal/present/report"},
	{"Views as text", "internal/present/report/text"},
	{"Rules", "internal/analysis/rules"},
	{"Budgets", "internal/analysis/budget"},
	{"Selections and comparisons", "internal/analysis"},
	{"Reasons of losses", "internal/session"},
	{"Requests to a recording", "internal/capture/steer"},
	{"Recordings", "internal/capture/collect"},
	{"Starting programs", "internal/capture/launch"},
	{"A running recording in a terminal", "internal/present/top"},
	{"The Model Context Protocol", "internal/present/mcp"},
	{"The page's server", "internal/present/web"},
	{"The page", "web/src"},
}

var (
	isMessage = regexp.MustCompile(`\pL{2}[^\s\pL]* [^\s\pL]*\pL{2}`)  // two words
	isKeys    = regexp.MustCompile(`^[a-z0-9…_ ]*[a-z]_[a-z0-9…_ ]*$`) // of columns
	isSQL     = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|PRAGMA|ALTER|WITH|ATTACH|ANALYZE|BEGIN|PRIMARY|WITHOUT|ORDER|AND)\b`)
	ofPage    = regexp.MustCompile("(\\w+=)?(?:\"([^\"\\n]+)\"|`([^`]+)`|'([^'\\n]+)')|>([^<>{}=;]+)<")
	insertion = regexp.MustCompile(`\$\{[^}]*\}`)
	seeAlso   = regexp.MustCompile(`\s\(see\s[^)]*\)`)
	spaces    = regexp.MustCompile(`\s+`)
	notWords  = []string{"class=", "d=", "viewBox=", "style=", "from=", "points="}
)

// folderMessages writes the messages in a folder: by file and declaration, whose comment says on which occasion.
func folderMessages(t *testing.T, out *strings.Builder, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var text strings.Builder
		name := filepath.Base(path)
		switch {
		case strings.HasSuffix(name, "_test.go"), strings.Contains(name, ".test."):
		case strings.HasSuffix(name, ".go"):
			goMessages(t, &text, path)
		case strings.HasSuffix(name, ".ts"), strings.HasSuffix(name, ".tsx"):
			pageMessages(t, &text, path)
		}
		if text.Len() > 0 {
			fmt.Fprintf(out, "\n### %s\n%s", name, text.String())
		}
	}
}

// goMessages writes the messages in a file of Go.
func goMessages(t *testing.T, out *strings.Builder, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			writeMessages(out, d.Name.Name, d.Doc.Text(), textsOf(d))
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, isValue := spec.(*ast.ValueSpec)
				if !isValue {
					continue
				}
				doc := v.Doc.Text()
				if doc == "" {
					doc = d.Doc.Text()
				}
				writeMessages(out, v.Names[0].Name, doc, textsOf(v))
			}
		}
	}
}

// writeMessages writes the messages of a declaration below what its comment says.
func writeMessages(out *strings.Builder, name, doc string, texts []string) {
	if len(texts) == 0 {
		return
	}
	doc = seeAlso.ReplaceAllString(doc, "") // it is said without sources
	doc, _, _ = strings.Cut(spaces.ReplaceAllString(doc, " "), ". ")
	if doc = strings.TrimSuffix(strings.TrimSpace(doc), "."); doc == "" {
		doc = name
	}
	fmt.Fprintf(out, "\n%s:\n\n", doc)
	for _, text := range texts {
		fmt.Fprintf(out, "* `` %s ``\n", strings.TrimSpace(spaces.ReplaceAllString(text, " ")))
	}
}

// textsOf returns the texts of a declaration that are messages, with … where a text is inserted.
func textsOf(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			return x.Tag == nil // tags are no texts
		case *ast.BasicLit, *ast.BinaryExpr:
			text, isText := joined(x.(ast.Expr))
			if !isText {
				return true
			}
			if isMessage.MatchString(text) && !isKeys.MatchString(text) && !isSQL.MatchString(text) &&
				!strings.Contains(text, "\x00") && !slices.Contains(out, text) { // which begins a file
				out = append(out, text)
			}
			return false
		}
		return true
	})
	return out
}

// joined is a text, or a sum of which one part is a text.
func joined(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(x.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(x.X)
	case *ast.BinaryExpr:
		left, isLeft := joined(x.X)
		right, isRight := joined(x.Y)
		if x.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}

// pageMessages writes the messages in a file of the page.
func pageMessages(t *testing.T, out *strings.Builder, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^\s*(//|\*|/\*|import ).*$`).ReplaceAllString(string(text), "")
	var texts []string
	for _, m := range ofPage.FindAllStringSubmatch(code, -1) {
		said := strings.TrimSpace(insertion.ReplaceAllString(m[2]+m[3]+m[4]+m[5], "…"))
		if isMessage.MatchString(said) && !slices.Contains(notWords, m[1]) && !slices.Contains(texts, said) &&
			!strings.ContainsAny(said, "{}|&;\\") {
			texts = append(texts, said)
		}
	}
	writeMessages(out, filepath.Base(path), "", texts)
}

// TestDocumentsMessages: docs/messages.md has all messages, so that they can be read one after the other, by somebody
// who sees them for the first time. A message that changes shows there, and none has words that only authors know.
func TestDocumentsMessages(t *testing.T) {
	var out strings.Builder
	out.WriteString("# All messages\n\nWhat clrprof says, with the occasion, to be read as a whole. `%s` and `…` are " +
		"what is inserted. It is made from the source: `go test ./internal/cli -run TestDocumentsMessages -update`.\n")
	for _, f := range messageFolders {
		fmt.Fprintf(&out, "\n## %s\n", f.title)
		folderMessages(t, &out, f.folder)
	}
	const path = "../../docs/messages.md"
	if *updateDocs {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), out.String()); diff != "" {
		t.Errorf("%s (-document +messages; -update writes it):\n%s", path, diff)
	}
	for line := range strings.Lines(out.String()) {
		for _, word := range riddles {
			if strings.HasPrefix(line, "* ") && strings.Contains(line, word) {
				t.Errorf("%q is a riddle for who reads it first: %s", word, line)
			}
		}
	}
}

// riddles are words that messages do not have: they point at something instead of naming it, or name parts of clrprof.
var riddles = []string{"those of", "of those", "taken out", "another one", "under way"}
