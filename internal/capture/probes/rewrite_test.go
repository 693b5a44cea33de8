package probes

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/il"
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

const flags = "-std=c11 -I../../../agent/src -O2 -g -Wall -Wextra -Wconversion -Werror"

var (
	buildDir  = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "clrprof-probes-") })
	builtPath = sync.OnceValues(func() (string, error) {
		return build("rewrite", "test/rewrite.c", "src/il/il_read.c", "src/il/il_write.c", "src/il/il_keep.c")
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
		args = append(args, "../../../agent/"+f)
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

// rewrite is told the effects of instructions; nil: they are made up.
func (r *rewriter) rewrite(body []byte, sites int, offsets bool, effects []effect) rewritten {
	r.t.Helper()
	a, err := r.ask(body, sites, offsets, effects)
	if err != nil {
		r.in.Close()
		r.cmd.Wait()
		r.t.Fatalf("the rewriter of % x gave up: %v\n%s", body[:min(len(body), 200)], err, &r.stderr)
	}
	return a
}

func (r *rewriter) ask(body []byte, sites int, offsets bool, effects []effect) (a rewritten, err error) {
	head := []uint32{uint32(len(body)), uint32(sites), 0, uint32(len(effects))}
	if effects == nil {
		head[3] = math.MaxUint32
	}
	if offsets {
		head[2] = 1
	}
	request, _ := binary.Append(nil, binary.LittleEndian, head)
	if request, err = binary.Append(append(request, body...), binary.LittleEndian, effects); err != nil {
		return a, err
	}
	if _, err := r.in.Write(request); err != nil {
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
func inserted(sites int, effects []effect) *probeCalls {
	p := &probeCalls{
		Signature: 0x11FFFFFF, TailSignature: 0x11FFFFFE, Enter: 0x1111111111111111, Leave: 0x2222222222222222,
		Tail:      0x6666666666666666,
		SiteEnter: 0x3333333333333333, SiteLeave: 0x4444444444444444, SiteJump: 0x7777777777777777,
		Method: 0x5555555555555555, Effect: madeUp, Locals: func(token uint32, more int) (uint32, int) {
			return 0x11FFFFFD, int((token + uint32(17*more)) % 300)
		},
	}
	if effects != nil {
		p.Effect = find(effects)
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

// effect is an Effect as the rewriter's process reads it.
type effect struct{ Token, Op, Pops, Pushes, Reference uint32 }

// find looks an effect up.
func find(effects []effect) func(op int, token uint32) (Effect, bool) {
	return func(op int, token uint32) (Effect, bool) {
		i, is := slices.BinarySearchFunc(effects, uint64(op)<<32|uint64(token), func(e effect, want uint64) int {
			return cmp.Compare(uint64(e.Op)<<32|uint64(e.Token), want)
		})
		if !is {
			return Effect{}, false
		}
		e := effects[i]
		return Effect{Pops: int(e.Pops), Pushes: int(e.Pushes), Reference: e.Reference != 0}, true
	}
}

// madeUp is what the rewriter's process says of instructions: what is kept of what the stack does not hold changes
// nothing.
func madeUp(op int, token uint32) (Effect, bool) {
	hash := (uint32(op) ^ token) * 2654435761
	return Effect{Pops: int(hash >> 8 & 3), Pushes: int(hash >> 16 & 1), Reference: hash>>17&1 != 0}, hash>>28 != 0
}

// compare checks a new body and returns both.
func compare(body []byte, a rewritten, sites int, effects []effect) (old, now *il.Body, err error) {
	if old, err = il.ReadBody(body); err != nil {
		return nil, nil, fmt.Errorf("rewritten, but cannot be read: %w", err)
	}
	if now, err = il.ReadBody(a.body); err != nil {
		return nil, nil, fmt.Errorf("new body: %w", err)
	}
	at, err := compareBodies(old, now, inserted(sites, effects))
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
