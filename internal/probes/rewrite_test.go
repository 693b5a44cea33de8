package probes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clrprof/clrprof/internal/il"
)

// Results of the rewriter: enum il_result.
const (
	done = iota
	malformed
	unknown
	tooLarge
	jump
	varargs
	tail
)

const flags = "-std=c11 -O2 -g -Wall -Wextra -Wconversion -Werror"

var (
	buildDir  = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "clrprof-probes-") })
	builtPath = sync.OnceValues(func() (string, error) {
		return build("rewrite", "test/rewrite.c", "src/il_read.c", "src/il_write.c")
	})
)

// build compiles a program of the agent's sources, with sanitizers, and returns its path.
func build(name string, sources ...string) (string, error) {
	dir, err := buildDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	args := strings.Fields(flags + " -fsanitize=address,undefined -fno-sanitize-recover=all -o " + path)
	for _, f := range sources {
		args = append(args, "../../agent/"+f)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling %s: %w\n%s", name, err, out)
	}
	return path, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// rewriter is the agent's rewriter in a process of its own.
type rewriter struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startRewriter(t testing.TB) *rewriter {
	t.Helper()
	path, err := builtPath()
	if err != nil {
		t.Fatal(err)
	}
	r := &rewriter{t: t, cmd: exec.Command(path)}
	r.cmd.Stderr = &r.stderr
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReaderSize(out, 1<<16)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.in.Close()
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("the rewriter ended with %v\n%s", err, &r.stderr)
		}
	})
	return r
}

// rewritten is an answer; the new body is there if the result is done.
type rewritten struct {
	result  int
	body    []byte
	offsets []uint32 // of the old code, for each byte of the new
}

func (r *rewriter) rewrite(body []byte, sites int, offsets bool) rewritten {
	r.t.Helper()
	a, err := r.ask(body, sites, offsets)
	if err != nil {
		r.in.Close()
		r.cmd.Wait()
		r.t.Fatalf("the rewriter of % x gave up: %v\n%s", body[:min(len(body), 200)], err, &r.stderr)
	}
	return a
}

func (r *rewriter) ask(body []byte, sites int, offsets bool) (a rewritten, err error) {
	head := []uint32{uint32(len(body)), uint32(sites), 0}
	if offsets {
		head[2] = 1
	}
	request, _ := binary.Append(nil, binary.LittleEndian, head)
	if _, err := r.in.Write(append(request, body...)); err != nil {
		return a, err
	}
	var n uint32
	if err := binary.Read(r.out, binary.LittleEndian, &n); err != nil {
		return a, err
	}
	if a.result = int(n); a.result != done {
		return a, nil
	}
	if err := binary.Read(r.out, binary.LittleEndian, &n); err != nil {
		return a, err
	}
	a.body = make([]byte, n)
	if _, err := io.ReadFull(r.out, a.body); err != nil || !offsets {
		return a, err
	}
	a.offsets = make([]uint32, binary.LittleEndian.Uint32(a.body[4:]))
	return a, binary.Read(r.out, binary.LittleEndian, a.offsets)
}

// inserted are the probes of the rewriter's process.
func inserted(sites int) *Probes {
	p := &Probes{
		Signature: 0x11FFFFFF, TailSignature: 0x11FFFFFE, Enter: 0x1111111111111111, Leave: 0x2222222222222222,
		Tail:      0x6666666666666666,
		SiteEnter: 0x3333333333333333, SiteLeave: 0x4444444444444444, SiteJump: 0x7777777777777777,
		Method: 0x5555555555555555,
	}
	if sites != 0 {
		p.Site = func(offset, _ int, token uint32) uint64 {
			if (uint32(offset)^token)*2654435761>>16%uint32(sites) != 0 {
				return 0
			}
			return uint64(token)<<32 | uint64(offset+1)
		}
	}
	return p
}

// compare checks a new body and returns both.
func compare(body []byte, a rewritten, sites int) (old, now *il.Body, err error) {
	if old, err = il.ReadBody(body); err != nil {
		return nil, nil, fmt.Errorf("rewritten, but cannot be read: %w", err)
	}
	if now, err = il.ReadBody(a.body); err != nil {
		return nil, nil, fmt.Errorf("new body: %w", err)
	}
	at, err := Compare(old, now, inserted(sites))
	if err != nil || a.offsets == nil {
		return old, now, err
	}
	return old, now, compareOffsets(old, at, a.offsets)
}

// compareOffsets: each byte of the new code belongs to the instruction that it was made for.
func compareOffsets(old *il.Body, at []int, offsets []uint32) error {
	last := -1
	for o, n := range at {
		if n < 0 || o == len(old.Code) {
			continue
		}
		i, err := il.Read(old.Code, o)
		if err != nil {
			return err
		}
		if offsets[n] != uint32(o) {
			return fmt.Errorf("new offset %d is %d, not %d: %w", n, offsets[n], o, il.ErrInvalid)
		}
		if i.IsCall() { // wherever in it the runtime sees the call
			for k := n; k < at[i.Next]; k++ {
				if got := int(offsets[k]); got < o || got >= i.Next {
					return fmt.Errorf("new offset %d is %d, not within %d to %d: %w", k, got, o, i.Next, il.ErrInvalid)
				}
			}
		}
		last = o
	}
	if last < 0 {
		return nil
	}
	for k, o := range offsets {
		if int(o) >= len(old.Code) || k > 0 && o < offsets[k-1] {
			return fmt.Errorf("new offset %d is %d: %w", k, o, il.ErrInvalid)
		}
	}
	return nil
}
