package ppdb_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/ppdb"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestEqualsMicrosoftsReader compares debug directories, documents and all
// sequence points with what System.Reflection.Metadata reads. The programs are
// compiled here, optimized and not, with the PDB beside and inside the
// assembly; the application with many libraries adds embedded PDBs of other
// compilers.
func TestEqualsMicrosoftsReader(t *testing.T) {
	in := dotnettest.Need(t)
	dump, err := in.Compile([]string{"../clrmeta/testdata/Dump.cs"}, "", dotnettest.Options{Name: "Dump"})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, o := range []dotnettest.Options{
		{Debug: dotnettest.DebugPortable}, {Debug: dotnettest.DebugPortable, NoOptimize: true, Deterministic: true},
		{Debug: dotnettest.DebugEmbedded}, {Debug: dotnettest.DebugEmbedded, NoOptimize: true},
		{Debug: dotnettest.DebugNone},
	} {
		o.Name, o.Unsafe = "Shapes", true
		dll, err := in.Compile([]string{"testdata/Shapes.cs"}, "", o)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, dll, dump)
	}
	for _, debug := range []dotnettest.DebugType{dotnettest.DebugPortable, dotnettest.DebugEmbedded} {
		dll, err := in.Compile([]string{"testdata/Sources.cs", "testdata/Small.cs"}, "",
			dotnettest.Options{Debug: debug, Library: true, Embed: true})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, dll)
	}
	more, err := filepath.Glob(filepath.Dir(in.MCP()) + "/*.dll")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, more...)
	out, err := in.Net9().Command(dump, append([]string{"points"}, files...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(out), "\n")
	var have []string
	points := 0
	for _, file := range files {
		lines, err := dumpPoints(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		have = append(append(have, "file "+file), lines...)
		points += strings.Count(strings.Join(lines, " "), "@")
	}
	if diff := cmp.Diff(want, append(have, "")); diff != "" {
		t.Errorf("(-theirs +ours)\n%s", diff[:min(len(diff), 4000)])
	}
	if embedded := strings.Count(string(out), " source "); embedded < 4 {
		t.Errorf("%d sources are embedded", embedded)
	}
	t.Logf("%d files, %d lines, %d sequence points", len(files), len(have), points)
}

// dumpPoints writes what "Dump points" writes.
func dumpPoints(file string) (lines []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	image, err := clrmeta.Open(f, info.Size())
	if err != nil {
		if strings.Contains(err.Error(), clrmeta.ErrNotManaged.Error()) {
			return []string{"none"}, nil
		}
		return nil, err
	}
	debug, err := image.Debug()
	if err != nil {
		return nil, err
	}
	for _, c := range debug.CodeView {
		lines = append(lines, fmt.Sprintf("codeview %v %08x %d %s %s", c.GUID, c.Stamp, c.Age, boolText(c.Portable),
			c.Path))
	}
	for _, c := range debug.Checksums {
		lines = append(lines, fmt.Sprintf("checksum %s %x", c.Algorithm, c.Sum))
	}
	lines = append(lines, "reproducible "+boolText(debug.Reproducible))
	b, err := pdbOf(file, debug)
	if err != nil || b == nil {
		return append(lines, "none"), err
	}
	pdb, err := ppdb.Open(b)
	if err != nil {
		return nil, err
	}
	more, err := dumpPDB(pdb)
	return append(lines, more...), err
}

// boolText writes a truth value as C# does.
func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pdbOf returns the PDB beside or in an assembly, nil if there is none.
func pdbOf(file string, debug *clrmeta.Debug) ([]byte, error) {
	for _, c := range debug.CodeView {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(file), filepath.Base(strings.ReplaceAll(c.Path, `\`, "/"))))
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	if debug.HasEmbedded() {
		return debug.Embedded()
	}
	return nil, nil
}

func dumpPDB(pdb *ppdb.PDB) (lines []string, err error) {
	guid := pdb.ID().GUID
	id := binary.LittleEndian.AppendUint32(slices.Clone(guid[:]), pdb.ID().Stamp)
	lines = append(lines, fmt.Sprintf("id %x %08x", id, uint32(pdb.EntryPoint())))
	for d := 1; d <= pdb.Documents(); d++ {
		name, err := pdb.DocumentName(ppdb.Document(d))
		if err != nil {
			return nil, err
		}
		source, err := pdb.EmbeddedSource(ppdb.Document(d))
		if err != nil {
			return nil, err
		}
		hash, err := pdb.DocumentHash(ppdb.Document(d))
		if err != nil {
			return nil, err
		}
		said := ""
		if source != nil {
			said = fmt.Sprintf(" source %d %x %s", len(source), sha256.Sum256(source), boolText(hash.Is(source)))
		}
		lines = append(lines, "document "+name+said)
	}
	kickoffs := map[clrmeta.Token]clrmeta.Token{}
	for _, m := range pdb.StateMachines() {
		kickoffs[m.MoveNext] = m.Kickoff
	}
	for row := 1; row <= pdb.Methods(); row++ {
		token := clrmeta.MakeToken(clrmeta.TableMethodDef, uint32(row))
		points, err := pdb.SequencePoints(token)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "points %08x", uint32(token))
		for _, p := range points {
			fmt.Fprintf(&b, " %d@%d:", p.Offset, p.Document)
			if p.Hidden {
				b.WriteString("hidden")
			} else {
				fmt.Fprintf(&b, "%d,%d-%d,%d", p.LineBegin, p.ColumnBegin, p.LineEnd, p.ColumnEnd)
			}
		}
		if k := kickoffs[token]; k != 0 {
			fmt.Fprintf(&b, " kickoff %08x", uint32(k))
		}
		lines = append(lines, b.String())
	}
	return lines, nil
}
