package probes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Kinds of images: enum r2r_kind.
const (
	kindNone = iota
	kindListed
	kindUnknown
	kindForeign
)

// Flags of methods.
const (
	isWanted  = 1
	hasWanted = 2
)

var inlinerPath = sync.OnceValues(func() (string, error) { return build("inlining", "test/inlining.c", "src/il/ready_to_run.c") })

// inliner is the agent's reader of lists in a process of its own.
type inliner struct {
	in  io.Writer
	out io.Reader
}

func startInliner(t testing.TB) *inliner {
	t.Helper()
	path, err := inlinerPath()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the reader ended with %v\n%s", err, &stderr)
		}
	})
	return &inliner{in, bufio.NewReader(out)}
}

// ask gives the kind of an image as it is loaded, whether its list may lack something, and the flags of its methods,
// number 0 first.
func (i *inliner) ask(t testing.TB, image, flags []byte) (kind int, lacks bool, marked []byte) {
	t.Helper()
	request, _ := binary.Append(nil, binary.LittleEndian, []uint32{uint32(len(image)), uint32(len(flags) - 1)})
	if _, err := i.in.Write(append(append(request, image...), flags...)); err != nil {
		t.Fatal(err)
	}
	var head [2]uint32
	if err := binary.Read(i.out, binary.LittleEndian, &head); err != nil {
		t.Fatal(err)
	}
	marked = make([]byte, len(flags))
	if _, err := io.ReadFull(i.out, marked); err != nil {
		t.Fatal(err)
	}
	return int(head[0]), head[1] != 0, marked
}

// pair says that a method has another one in its code.
type pair struct{ inlinee, inliner uint32 }

var errForeign = errors.New("methods of other modules")

// nativeReader reads numbers of the runtime's native format, all of a list into memory, and fails by a panic.
type nativeReader struct {
	list []byte
	at   int
}

func (r *nativeReader) number() (value int64, bits int) {
	first := r.list[r.at]
	for n := range 4 {
		if first>>n&1 == 0 {
			for i := n; i >= 0; i-- {
				value = value<<8 | int64(r.list[r.at+i])
			}
			r.at += n + 1
			return value >> (n + 1), 7 * (n + 1)
		}
	}
	if first&0x10 != 0 {
		panic("a number of more than 32 bits")
	}
	value = int64(binary.LittleEndian.Uint32(r.list[r.at+1:]))
	r.at += 5
	return value, 32
}

func (r *nativeReader) unsigned() uint32 { v, _ := r.number(); return uint32(v) }

func (r *nativeReader) signed() int {
	v, bits := r.number()
	if v >= 1<<(bits-1) {
		v -= 1 << bits
	}
	return int(v)
}

// pairsOf decodes a list: a hash table of the native format, whose entries begin with their length in numbers.
func pairsOf(list []byte, modules bool) (pairs []pair, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed: %v", p)
		}
	}()
	starts := []int{}
	for i := range 1<<(list[0]>>2) + 1 {
		switch list[0] & 3 {
		case 0:
			starts = append(starts, 1+int(list[1+i]))
		case 1:
			starts = append(starts, 1+int(binary.LittleEndian.Uint16(list[1+2*i:])))
		default:
			starts = append(starts, 1+int(binary.LittleEndian.Uint32(list[1+4*i:])))
		}
	}
	for i, start := range starts[:len(starts)-1] {
		for r := (&nativeReader{list, start}); r.at < starts[i+1]; {
			r.at++
			from := r.at
			numbers := &nativeReader{list, from + r.signed()}
			all := make([]uint32, numbers.unsigned())
			for k := range all {
				all[k] = numbers.unsigned()
			}
			if pairs, err = appendEntry(pairs, all, modules); err != nil {
				return nil, err
			}
		}
	}
	return pairs, nil
}

func appendEntry(pairs []pair, all []uint32, modules bool) ([]pair, error) {
	inlinee, all := all[0], all[1:]
	if inlinee&3 != 0 {
		return nil, errForeign
	}
	if modules {
		if all[0] != 0 {
			return nil, errForeign
		}
		all = all[1:]
	}
	inliner := uint32(0)
	for _, delta := range all {
		if modules && delta&1 != 0 {
			return nil, errForeign
		}
		if modules {
			delta >>= 1
		}
		inliner += delta
		pairs = append(pairs, pair{inlinee >> 2, inliner})
	}
	return pairs, nil
}

// markAll is what the reader has to do.
func markAll(pairs []pair, flags []byte) []byte {
	flags = bytes.Clone(flags)
	for _, p := range pairs {
		if flags[p.inlinee]&isWanted != 0 {
			flags[p.inliner] |= hasWanted
		}
	}
	return flags
}

// loaded gives a file as it is in memory when it is loaded, and of its precompiled code's header flags, version and the
// list; nil, if it has none.
func loaded(t *testing.T, path string) (image []byte, flags uint32, major uint16, list []byte) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u32 := func(b []byte, at uint32) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	if len(file) < 64 || string(file[:2]) != "MZ" {
		return nil, 0, 0, nil
	}
	pe := u32(file, 60)
	optional := pe + 24
	if binary.LittleEndian.Uint16(file[optional:]) != 0x20B {
		return nil, 0, 0, nil
	}
	image = make([]byte, u32(file, optional+56))
	copy(image, file[:u32(file, optional+60)])
	table := optional + uint32(binary.LittleEndian.Uint16(file[pe+20:]))
	for range binary.LittleEndian.Uint16(file[pe+6:]) {
		copy(image[u32(file, table+12):], file[u32(file, table+20):][:u32(file, table+16)])
		table += 40
	}
	cli := u32(image, optional+224)
	if cli == 0 || u32(image, cli+64) == 0 {
		return image, 0, 0, nil
	}
	header := u32(image, cli+64)
	for i := range u32(image, header+12) {
		if s := header + 16 + 12*i; u32(image, s) == 119 {
			list = image[u32(image, s+4):][:u32(image, s+8)]
		}
	}
	return image, u32(image, header+8), binary.LittleEndian.Uint16(image[header+4:]), list
}

// TestInliningOfAllAssemblies compares what the agent finds in the lists of all precompiled assemblies with what is
// there.
func TestInliningOfAllAssemblies(t *testing.T) {
	r := startInliner(t)
	images, all := 0, 0
	for _, path := range assemblies(t) {
		image, flags, major, list := loaded(t, path)
		if list == nil || flags&0xA0 != 0 || major < 9 {
			continue
		}
		pairs, err := pairsOf(list, flags&0x40 != 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		methods := uint32(0)
		for _, p := range pairs {
			methods = max(methods, p.inlinee, p.inliner)
		}
		for _, oneOf := range []int{1, 7, 1000} {
			wanted := make([]byte, methods+1)
			for i := range wanted {
				if i > 0 && i%oneOf == 0 {
					wanted[i] = isWanted
				}
			}
			kind, _, marked := r.ask(t, image, wanted)
			if kind != kindListed || !bytes.Equal(marked, markAll(pairs, wanted)) {
				t.Errorf("%s: kind %d, or other inliners than those of its %d pairs", path, kind, len(pairs))
			}
		}
		images++
		all += len(pairs)
	}
	t.Logf("%d images, %d pairs", images, all)
	if images < 100 || all < 100_000 {
		t.Errorf("only %d images with %d pairs", images, all)
	}
}

// made is an image with a list, which the tests change.
type made struct {
	major    uint16
	flags    uint32
	section  uint32
	entries  [][]uint32
	metadata string
	list     []byte // in the place of the entries
}

func (m made) encodeList() []byte {
	if m.list != nil {
		return m.list
	}
	// One bucket, with 32 bits for where it begins and ends; all numbers of five bytes.
	b := []byte{2}
	b, _ = binary.Append(b, binary.LittleEndian, []uint32{8, uint32(8 + 6*len(m.entries))})
	at := 9 + 6*len(m.entries)
	for i, e := range m.entries {
		b = append(b, 0, 0x0F)
		b, _ = binary.Append(b, binary.LittleEndian, int32(at-(9+6*i+1)))
		at += 5 * (len(e) + 1)
	}
	for _, e := range m.entries {
		for _, v := range append([]uint32{uint32(len(e))}, e...) {
			b = append(b, 0x0F)
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

func (m made) image() []byte {
	const pe, cli, header, rest = 0x40, 0x200, 0x280, 0x2B0
	b := make([]byte, rest)
	put := func(at int, values ...any) {
		for _, v := range values {
			x, _ := binary.Append(nil, binary.LittleEndian, v)
			at += copy(b[at:], x)
		}
	}
	list := m.encodeList()
	put(0, []byte("MZ"))
	put(60, uint32(pe))
	put(pe, []byte("PE\x00\x00"))
	put(pe+20, uint16(240))
	put(pe+24, uint16(0x20B))
	put(pe+24+224, uint32(cli), uint32(72))
	put(cli, uint32(72))
	put(cli+8, uint32(rest+len(list)), uint32(len(m.metadata)))
	put(cli+64, uint32(header), uint32(28))
	put(header, uint32(0x00525452), m.major, uint16(0), m.flags, uint32(1), m.section, uint32(rest), uint32(len(list)))
	return append(append(b, list...), m.metadata...)
}

// TestInliningKinds: what may not be all that there is, is no list.
func TestInliningKinds(t *testing.T) {
	r := startInliner(t)
	const large = 0x40
	own := [][]uint32{{3 << 2, 0, 1 << 1, 4 << 1}, {1 << 2, 0, 2 << 1}} // 3 is in 1 and 5, 1 is in 2
	for _, tt := range []struct {
		name  string
		made  made
		kind  int
		lacks bool
	}{
		{"list", made{major: 16, flags: large, section: 119, entries: own}, kindListed, false},
		{"of .NET 8", made{major: 9, flags: large | 0xB, section: 119, entries: own}, kindListed, false},
		{"of one module", made{major: 16, section: 119, entries: [][]uint32{{3 << 2, 1, 4}, {1 << 2, 2}}}, kindListed,
			false},
		{"what is not versioned", made{major: 16, flags: large, section: 119, entries: own,
			metadata: "\x00NonVersionableAttribute\x00"}, kindListed, true},
		{"of .NET 6", made{major: 5, section: 114, entries: own}, kindUnknown, false},
		{"of .NET 6, large", made{major: 5, flags: large, section: 114, entries: own}, kindForeign, false},
		{"of the future", made{major: 17, section: 119, entries: own}, kindForeign, false},
		{"component", made{major: 16, flags: large | 0x20, section: 119, entries: own}, kindForeign, false},
		{"unrelated code", made{major: 16, flags: large | 0x80, section: 119, entries: own}, kindForeign, false},
		{"other list", made{major: 16, flags: large, section: 114, entries: own}, kindForeign, false},
		{"inlinee of a module", made{major: 16, flags: large, section: 119, entries: [][]uint32{{3 << 2, 1, 1 << 1}}},
			kindForeign, false},
		{"inliner of a module",
			made{major: 16, flags: large, section: 119, entries: [][]uint32{{3 << 2, 0, 1<<1 | 1, 2}}}, kindForeign,
			false},
		{"inlinee elsewhere", made{major: 16, flags: large, section: 119, entries: [][]uint32{{3<<2 | 1, 1 << 1}}},
			kindForeign, false},
		{"inliners elsewhere", made{major: 16, flags: large, section: 119, entries: [][]uint32{{3<<2 | 2, 0, 1, 7}}},
			kindForeign, false},
		{"no such method", made{major: 16, flags: large, section: 119, entries: [][]uint32{{3 << 2, 0, 6 << 1}}},
			kindForeign, false},
		{"no such inlinee", made{major: 16, flags: large, section: 119, entries: [][]uint32{{6 << 2, 0, 1 << 1}}},
			kindForeign, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := []byte{0, 0, 0, isWanted, 0, isWanted}
			kind, lacks, marked := r.ask(t, tt.made.image(), flags)
			if kind != tt.kind || lacks != tt.lacks {
				t.Errorf("kind %d, lacks %v; want %d, %v", kind, lacks, tt.kind, tt.lacks)
			}
			if want := []byte{0, hasWanted, 0, isWanted, 0, isWanted | hasWanted}; kind == kindListed &&
				!cmp.Equal(marked, want) {
				t.Errorf("flags %v, want %v", marked, want)
			}
		})
	}
}

// FuzzInlining reads arbitrary bytes as a list: what is taken for one must be one.
func FuzzInlining(f *testing.F) {
	f.Add(made{entries: [][]uint32{{3 << 2, 0, 1 << 1, 4 << 1}, {1 << 2, 0, 2 << 1}}}.encodeList(), true)
	f.Add([]byte{0, 2, 5, 7, 1 << 1, 0x0A, 1 << 1, 2 << 3, 1 << 1}, false)
	r := startInliner(f)
	f.Fuzz(func(t *testing.T, list []byte, modules bool) {
		m := made{major: 16, section: 119, list: list}
		if modules {
			m.flags = 0x40
		}
		flags := bytes.Repeat([]byte{0, isWanted, 0}, 40)
		kind, _, marked := r.ask(t, m.image(), flags)
		if kind != kindListed {
			return
		}
		pairs, err := pairsOf(list, modules)
		if err != nil {
			t.Fatalf("the agent takes for a list what is none: %v", err)
		}
		if want := markAll(pairs, flags); !bytes.Equal(marked, want) {
			t.Errorf("flags %v, want %v", marked, want)
		}
	})
}
