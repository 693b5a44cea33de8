package dotnettest

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template of a unit
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"
)

// source returns a C# 8 program of exactly that many lines, at least 200. It is
// always the same: a large input for a compiler that is a target itself. It uses
// what real programs do (classes, structs, generics, LINQ, lambdas, iterators,
// async methods, patterns, interpolated strings), compiles without errors, and
// when run prints one number.
func source(lines int) []byte {
	var b bytes.Buffer
	b.WriteString(sourceHead)
	random := sequence(1)
	units := 0
	for {
		var unit bytes.Buffer
		if err := unitTemplate.Execute(&unit, newUnit(units, &random)); err != nil {
			panic(fmt.Sprintf("executing the constant template of a unit: %v", err))
		}
		if bytes.Count(b.Bytes(), []byte("\n"))+bytes.Count(unit.Bytes(), []byte("\n"))+units+1+mainLines > lines {
			break
		}
		b.Write(unit.Bytes())
		units++
	}
	writeMain(&b, units)
	for n := bytes.Count(b.Bytes(), []byte("\n")); n < lines; n++ {
		b.WriteString("// so that the number of lines is as asked for\n")
	}
	return b.Bytes()
}

// Large writes source(lines) to a file in the cache, whose path is always the
// same, and returns it.
func (in *Install) Large(lines int) (string, error) {
	return in.Made(fmt.Sprintf("Large%d.cs", lines), source(lines))
}

// maxSources bounds the sources that Made and kept keep. A run of all tests makes
// about 120, of some kilobytes each.
const maxSources = 500

// Made writes the text of a source to a file of that name in the cache and returns
// its path, which is always the same for the same text: so Compile knows what it
// has compiled before. The file must not be changed.
func (in *Install) Made(name string, text []byte) (string, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s", name, text))
	dir := filepath.Join(in.cache, "sources", hex.EncodeToString(sum[:16]))
	path := filepath.Join(dir, name)
	if exists(dir) {
		return path, touch(dir)
	}
	if err := fill(dir, func(tmp string) error {
		return os.WriteFile(filepath.Join(tmp, name), text, 0o644)
	}); err != nil {
		return "", fmt.Errorf("writing the source %s: %w", name, err)
	}
	return path, prune(filepath.Dir(dir), maxSources)
}

// kept copies source files into the cache and returns their paths there, which are
// always the same for the same texts: what is compiled of them is so found again
// from another checkout, although PDBs hold the paths. A copy keeps its name and
// that of its directory. The copies must not be changed.
func (in *Install) kept(files []string) ([]string, error) {
	h := sha256.New()
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.Join(filepath.Base(filepath.Dir(f)), filepath.Base(f))
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("two sources are %s", names[i])
		}
		if err := hashFile(h, names[i], f); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(in.cache, "sources", hex.EncodeToString(h.Sum(nil)[:16]))
	paths := make([]string, len(files))
	for i, name := range names {
		paths[i] = filepath.Join(dir, name)
	}
	if exists(dir) {
		return paths, touch(dir)
	}
	if err := fill(dir, func(tmp string) error {
		for i, f := range files {
			to := filepath.Join(tmp, names[i])
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := copyFile(f, to); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("copying sources: %w", err)
	}
	return paths, prune(filepath.Dir(dir), maxSources)
}

const sourceHead = `// Generated. Always the same for the same number of lines.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Threading.Tasks;

public interface IPart { int Id { get; } string Name { get; } decimal Value(int at); }
public abstract class Part : IPart
{
    public abstract int Id { get; }
    public virtual string Name => GetType().Name;
    public abstract decimal Value(int at);
    public override string ToString() => $"{Name}#{Id.ToString(CultureInfo.InvariantCulture)}";
}
`

// mainLines is the number of lines that writeMain writes besides one per unit.
const mainLines = 12

// writeMain writes the entry point, which uses every unit once.
func writeMain(b *bytes.Buffer, units int) {
	b.WriteString("public static class EntryPoint\n{\n    public static int Main()\n    {\n        long sum = 0;\n")
	for i := range units {
		fmt.Fprintf(b, "        sum = sum * 31 + Unit%d.Use(%d).GetAwaiter().GetResult();\n", i, i%17)
	}
	b.WriteString("        Console.WriteLine(sum);\n        return 0;\n    }\n}\n")
}

// unit is what differs between two pieces of the source.
type unit struct {
	N        int
	Before   []int // earlier units that this one refers to
	Fields   []field
	Cases    []int
	Query    bool // LINQ's query syntax costs a compiler most
	Constant int
	Modulus  int
	Word     string
}

type field struct{ Type, Name, Init string }

var fieldTypes = []field{
	{"int", "count", "%d"},
	{"long", "total", "%dL"},
	{"double", "rate", "%d / 7.0"},
	{"string", "label", `"label %d"`},
	{"decimal", "price", "%d.5m"},
	{"List<int>", "numbers", "new List<int> { 1, 2, %d }"},
	{"Dictionary<string, int>", "index", `new Dictionary<string, int> { ["a"] = %d }`},
	{"(int Low, int High)", "range", "(0, %d)"},
	{"int[,]", "grid", "new int[2, %d]"},
	{"Func<int, int>", "map", "x => x + %d"},
}

var words = []string{"order", "account", "invoice", "customer", "shipment", "ledger", "quote", "batch", "route",
	"policy", "claim", "stock"}

func newUnit(n int, random *sequence) unit {
	u := unit{N: n, Query: n%3 == 0, Constant: random.below(1000) + 1, Modulus: random.below(90) + 10,
		Word: words[random.below(len(words))]}
	for range min(n, 3) {
		u.Before = append(u.Before, random.below(n))
	}
	for i := range 4 + random.below(6) {
		f := fieldTypes[random.below(len(fieldTypes))]
		u.Fields = append(u.Fields,
			field{f.Type, fmt.Sprintf("%s%d", f.Name, i), fmt.Sprintf(f.Init, random.below(50)+1)})
	}
	for i := range 4 + random.below(8) {
		u.Cases = append(u.Cases, i*10+random.below(10))
	}
	return u
}

// sequence is a linear congruential generator (Knuth's MMIX). It stays the same
// in all versions of Go, and so does the source.
type sequence uint64

// below returns a number from 0 to n-1.
func (s *sequence) below(n int) int {
	*s = *s*6364136223846793005 + 1442695040888963407
	return int(uint64(*s) >> 33 % uint64(n))
}

//go:embed unit.cs.tmpl
var unitText string

var unitTemplate = template.Must(template.New("unit").Parse(unitText))
