package cli

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// TestVersionFacts: what is printed of the agents is what their files say.
func TestVersionFacts(t *testing.T) {
	before := Commit
	t.Cleanup(func() { Commit = before })
	Commit = "0123456789abcdef0123456789abcdef01234567"
	var out bytes.Buffer
	if code := Main([]string{"version"}, strings.NewReader(""), &out, &out); code != exitOK ||
		out.String() != "clrprof "+Version+" (0123456789ab)\n" {
		t.Errorf("exit code %d: %s", code, &out)
	}
	out.Reset()
	if code := Main([]string{"version", "--json"}, strings.NewReader(""), &out, &out); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	var facts versionFacts
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&facts); err != nil {
		t.Fatal(err)
	}
	if facts.Version != Version || facts.Commit != Commit || facts.Go != runtime.Version() {
		t.Errorf("%+v", facts)
	}
	want := map[string]string{"linux-x64": "glibc x64", "linux-musl-x64": "musl x64", "linux-arm64": "glibc arm64",
		"linux-musl-arm64": "musl arm64"}
	for rid := range want {
		if _, err := agentbin.Bytes(agentbin.Library(rid)); errors.Is(err, agentbin.ErrMissing) {
			delete(want, rid)
		}
	}
	if len(facts.Agents) != len(want) {
		t.Errorf("%d agents, want %d", len(facts.Agents), len(want))
	}
	for _, a := range facts.Agents {
		if want[a.RID] != a.Libc+" "+a.Machine {
			t.Errorf("%+v", a)
		}
		if note := noteOf(t, agentbin.Library(a.RID)); !strings.HasSuffix(note, a.BuildID) || len(a.BuildID) != 40 {
			t.Errorf("%s: build id %s, the file has the note %s", a.RID, a.BuildID, note)
		}
	}
}

// noteOf returns the note with the build id of an agent.
func noteOf(t *testing.T, l agentbin.Library) string {
	t.Helper()
	b, err := agentbin.Bytes(l)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", note)
}
