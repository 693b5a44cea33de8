package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
)

// inFolderWith is inFolder, with recordings by dotnet-trace of the target Sampled.
func inFolderWith(t *testing.T, names ...string) {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range names {
		packed, err := os.ReadFile("../capture/imported/testdata/" + name + ".nettrace.gz")
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	inFolder(t)
	for name, data := range files {
		if err := os.WriteFile(name+".nettrace", data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// saysAll runs clrprof and checks its exit code, and that it says some texts.
func saysAll(t *testing.T, exit int, arguments []string, texts ...string) (output string) {
	t.Helper()
	code, output := runMain(arguments, "")
	if code != exit {
		t.Errorf("clrprof %s: exit code %d:\n%s", strings.Join(arguments, " "), code, output)
	}
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("clrprof %s does not say %q:\n%s", strings.Join(arguments, " "), text, output)
		}
	}
	return output
}

// TestImport: what a session of an imported file says of it, and of what it lacks.
func TestImport(t *testing.T) {
	inFolderWith(t, "ticks-10.0.12", "cpu-10.0.12")
	saysAll(t, exitOK, []string{"import", "ticks-10.0.12.nettrace"}, "221 samples of allocations (AllocationTick), "+
		"1 garbage collection, ", " Sampled\n", "clrprof: not imported: 144 events of other kinds\n",
		"clrprof: session ticks-10.0.12.clrprof\n")
	saysAll(t, exitOK, []string{"check-session", "ticks-10.0.12.clrprof"}, "ok")
	said := saysAll(t, exitOK, []string{"report", "ticks-10.0.12.clrprof"}, "Imported: all numbers of objects are estimates",
		"allocated  ≈", "Program.Elsewhere")
	for _, wrong := range []string{"running", "without clrprof", "Alive", "--lifetime"} {
		if strings.Contains(said, wrong) {
			t.Errorf("the report says %q:\n%s", wrong, said)
		}
	}
	gcs := saysAll(t, exitOK, []string{"report", "ticks-10.0.12.clrprof", "gcs"}, "Heap size", "38.28 ms", "3.49 MiB", "all of its stops together")
	for _, wrong := range []string{"Background GC was off", "the agent's own work", "0 B"} {
		if strings.Contains(gcs, wrong) {
			t.Errorf("the collections say %q:\n%s", wrong, gcs)
		}
	}
	saysAll(t, exitUsage, []string{"report", "ticks-10.0.12.clrprof", "lifetime"}, "this session holds no lifetimes")
	saysAll(t, exitOK, []string{"import", "cpu-10.0.12.nettrace", "-o", "cpu.clrprof", "--arguments", "none"},
		" CPU samples (a session has no place for them)\n", "without allocations: ")
	saysAll(t, exitOK, []string{"sql", "cpu.clrprof", "select arguments from process"}, "[]")
	saysAll(t, exitOK, []string{"report", "cpu.clrprof", "header"}, "CPU samples (a session has no place for them)")
}

// TestImportRefuses: what cannot be imported is one line with an exit code, and replaces nothing.
func TestImportRefuses(t *testing.T) {
	inFolderWith(t, "ticks-10.0.12")
	data, err := os.ReadFile("ticks-10.0.12.nettrace")
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"short.nettrace": data[:300], "other.nettrace": []byte("no such file")} {
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		exit      int
		arguments string
		says      string
	}{
		{exitUnreadable, "import missing.nettrace", "missing.nettrace: no such file"},
		{exitUnreadable, "import short.nettrace -o good.clrprof -f", "it ends before the first event"},
		{exitUnreadable, "import other.nettrace -o good.clrprof -f", "not a stream of events of version 4"},
		{exitUnreadable, "import good.clrprof -o good.clrprof -f", "not a stream of events of version 4"},
		{exitUnreadable, "import .", "not a regular file"},
		{exitUnwritable, "import ticks-10.0.12.nettrace -o good.clrprof", "good.clrprof exists: use -f to replace it"},
		{exitUnwritable, "import ticks-10.0.12.nettrace -o no/good.clrprof", "no/good.clrprof"},
		{exitUsage, "import ticks-10.0.12.nettrace -o -", "import needs a file for -o"},
		{exitUsage, "import", "import needs a FILE"},
	} {
		if said := saysAll(t, c.exit, strings.Fields(c.arguments), c.says); strings.Count(said, "\n") != 1 {
			t.Errorf("clrprof %s says:\n%s", c.arguments, said)
		}
	}
	saysAll(t, exitOK, []string{"check-session", "good.clrprof"}, "ok")
	saysAll(t, exitOK, []string{"report", "good.clrprof"}, "Shop")
	saysAll(t, exitOK, []string{"import", "ticks-10.0.12.nettrace", "-o", "good.clrprof", "-f"}, "session good.clrprof")
}
