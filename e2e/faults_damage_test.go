package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// readers are all commands that read a session, each with what it reads most of.
var readers = [][]string{
	{"report", "S"}, {"report", "S", "calltree"}, {"report", "S", "functions", "--json"},
	{"report", "S", "types", "--csv"},
	{"export", "S", "--format", "pprof", "-o", "-"}, {"sql", "S", "select * from functions"}, {"check-session", "S"},
}

// TestDamagedSessions: whatever became of a session's file, each command says it in one line, or does not notice
// since it reads something else; it never stops in the middle with a stack trace, and never changes the file.
func TestDamagedSessions(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	r := s.record(s.target(in.Newest(), "Exits", "return"))
	whole, err := os.ReadFile(r.session)
	if r.exit != 7 || err != nil {
		t.Fatalf("exit code %d, %v: %s", r.exit, err, r.stderr)
	}
	page := int(whole[16])<<8 | int(whole[17]) // sqlite.org/fileformat.html, 1.3.2
	random := rand.New(rand.NewPCG(1, 2))
	damaged := map[string][]byte{"text": []byte("not a session, but long enough for a header: " +
		strings.Repeat("text ", 100)), "zeros": make([]byte, len(whole)),
		"itself twice": append(bytes.Clone(whole), whole...), "reversed pages": reversePages(whole, page)}
	for _, n := range []int{0, 1, 15, 16, 17, 60, 72, 99, 100, 101, 108, page - 1, page, page + 1, 2 * page,
		len(whole) / 3, len(whole) / 2, len(whole) - page, len(whole) - 1} {
		damaged["cut at "+itoa(n)] = whole[:n]
	}
	for range 24 { // a page, which is what a disk or a copy loses
		at := random.IntN(len(whole)/page) * page
		for what, b := range map[string]byte{"zeros": 0, "ones": 0xff} {
			bad := bytes.Clone(whole)
			copy(bad[at:], bytes.Repeat([]byte{b}, page))
			damaged[what+" at "+itoa(at)] = bad
		}
	}
	for range 40 {
		bad, at := bytes.Clone(whole), random.IntN(len(whole))
		bad[at] ^= 1 << random.IntN(8)
		damaged["a bit at "+itoa(at)] = bad
	}
	noticed := 0
	for name, content := range damaged {
		noticed += s.readDamaged(name, content, strings.HasPrefix(name, "cut at") || !strings.Contains(name, " at "))
	}
	if noticed < 100 {
		t.Errorf("of all the damage only %d was noticed", noticed)
	}
}

func reversePages(whole []byte, page int) []byte {
	var out []byte
	for at := len(whole) - page; at >= 0; at -= page {
		out = append(out, whole[at:at+page]...)
	}
	return out
}

// readDamaged runs all readers and says how many noticed; check-session must, if the damage is certain.
func (s *sandbox) readDamaged(name string, content []byte, certain bool) (noticed int) {
	s.t.Helper()
	path := filepath.Join(s.out, "damaged.clrprof")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, reader := range readers {
		args := append([]string{reader[0], path}, reader[2:]...)
		r := runHere(args...) // a hundred files for each reader: to start as many processes takes minutes
		switch {
		case r.exit == codeUnreadable:
			noticed++
			if reader[0] != "check-session" || r.stderr != "" { // which prints what contradicts on standard output
				oneLine(s.t, r, path)
			}
		case r.exit != 0 || r.stderr != "":
			s.t.Errorf("%s: %v: exit code %d: %s", name, reader, r.exit, r.stderr)
		case certain && reader[0] == "check-session" && name != "itself twice":
			s.t.Errorf("%s: %v: no damage is noticed", name, reader)
		}
		if strings.Contains(r.stderr+r.stdout, "goroutine ") {
			s.t.Errorf("%s: %v: a stack trace: %s", name, reader, r.stderr)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, content) {
		s.t.Errorf("%s: reading changed the file: %v", name, err)
	}
	return noticed
}
