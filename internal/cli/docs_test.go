package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var updateDocs = flag.Bool("update", false, "write the output in the documents")

// documents are those whose commands and queries are run.
var documents = []string{"cli.md", "metrics.md", "session.md"}

// TestDocuments runs the commands in the console blocks of the documents and
// compares their output with what the document says; queries in sql blocks must give rows.
func TestDocuments(t *testing.T) {
	folder, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := writeComplete(sessiontest.Shop(), "shop.clrprof"); err != nil {
		t.Fatal(err)
	}
	if err := writeComplete(sessiontest.Several(), "several.clrprof"); err != nil {
		t.Fatal(err)
	}
	if err := writeComplete(sessiontest.Aging(), "aging.clrprof"); err != nil {
		t.Fatal(err)
	}
	if err := writeComplete(sessiontest.Heap(), "heap.clrprof"); err != nil {
		t.Fatal(err)
	}
	if err := writeComplete(sessiontest.Kitchen(), "kitchen.clrprof"); err != nil {
		t.Fatal(err)
	}
	if err := writeComplete(sessiontest.Timed(), "timed.clrprof"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"orders.filter": "# What orders are made of, wherever that is, and all that the tree does.\n" +
			"(module = Shop.dll and type <> string)\nor focus = Shop.Tree.Insert\n",
		"wrong.filter": "type = string\nand function < Shop.Tree\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range documents {
		path := filepath.Join(folder, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, ran := runDocument(t, name, string(b))
		if ran == 0 {
			t.Errorf("%s: nothing was run", name)
		}
		if *updateDocs {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(b), got); diff != "" && !*updateDocs {
			t.Errorf("%s (-document +output; -update writes it):\n%s", name, diff)
		}
	}
}

// runDocument returns the document with the output of its commands, and how many were run.
func runDocument(t *testing.T, name, text string) (string, int) {
	var out strings.Builder
	ran, inside, query := 0, "", ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```") && inside != "":
			if inside == "sql" {
				ran++
				output := runLine(t, []string{"sql", sessionFor(query), query, "--csv"})
				if strings.Count(output, "\n") < 2 || strings.Contains(output, "clrprof: ") {
					t.Errorf("%s: this query gives no rows:\n%s%s", name, query, output)
				}
			}
			inside = ""
		case strings.HasPrefix(line, "```"):
			inside, query = strings.TrimSpace(line[3:]), ""
		case inside == "sql":
			query += line
		case inside == "console" && strings.HasPrefix(line, "$ clrprof "):
			ran++
			out.WriteString(line + runLine(t, splitWords(t, strings.TrimSpace(line[len("$ clrprof "):]))))
			continue
		case inside == "console":
			continue // the old output
		}
		out.WriteString(line)
	}
	return out.String(), ran
}

// sessionFor is a session in which a query finds something.
func sessionFor(query string) string {
	if strings.Contains(query, "losses") {
		return "several.clrprof"
	}
	for _, view := range []string{"lifetime", "deaths", "gcs", "ages", "alive", "survivors", "roots", "gc_deaths"} {
		if strings.Contains(query, "FROM "+view) || strings.Contains(query, "JOIN "+view) {
			return "aging.clrprof"
		}
	}
	if strings.Contains(query, "_times") || strings.Contains(query, "FROM timings") {
		return "timed.clrprof"
	}
	if strings.Contains(query, "snapshot") {
		return "heap.clrprof"
	}
	return "shop.clrprof"
}

// runLine runs clrprof and returns what it printed, with its exit code if that is not 0.
func runLine(t *testing.T, args []string) string {
	var out bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &out); code != 0 {
		fmt.Fprintf(&out, "[exit %d]\n", code)
	}
	return out.String()
}

// splitWords splits a command as a shell does, as far as the documents need it: words, and
// words in single quotes.
func splitWords(t *testing.T, s string) []string {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexByte(s, ' ')
		if s[0] == '\'' {
			closing := strings.IndexByte(s[1:], '\'')
			if closing < 0 {
				t.Fatalf("no closing quote in %q", s)
			}
			words = append(words, s[1:closing+1])
			s = s[closing+2:]
			continue
		}
		if end < 0 {
			end = len(s)
		}
		words = append(words, s[:end])
		s = s[end:]
	}
	return words
}
