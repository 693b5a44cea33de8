package probes

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/il"
)

const fatHeader = 12 // bytes

// fat is a body with a fat header.
func fat(maxStack int, code []byte, sections ...byte) []byte {
	b := []byte{0x13, 0x30, byte(maxStack), byte(maxStack >> 8)}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(code)))
	b = binary.LittleEndian.AppendUint32(b, 0x11000001)
	b = append(b, code...)
	if len(sections) == 0 {
		return b
	}
	b[0] |= il.MoreSects
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return append(b, sections...)
}

func tiny(code ...byte) []byte { return append([]byte{byte(len(code))<<2 | 2}, code...) }

// far is n instructions that do nothing, with a place where a probe is wanted after each.
func far(n int) []byte { return slices.Repeat([]byte{il.OpCall, 1, 0, 0, 6}, n) }

// smallClause is a section with one clause of a handler for all exceptions.
func smallClause(size byte, kind byte, clause ...byte) []byte {
	return append([]byte{1, size, 0, 0, kind, 0}, clause...)
}

// bodies are made by hand: each form that the rewriter knows, and why others are refused.
var bodies = []struct {
	name   string
	body   []byte
	result int
}{
	{"return", tiny(il.OpRet), done},
	{"no code", tiny(), malformed},
	{"no bytes", nil, malformed},
	{"another format", []byte{0x00, il.OpRet}, unknown},
	{"code that is cut", []byte{4<<2 | 2, 0, il.OpRet}, malformed},
	{"fat header that is cut", fat(1, []byte{il.OpRet})[:11], malformed},
	{"fat header of another size", append([]byte{0x13, 0x40}, fat(1, []byte{il.OpRet})[2:]...), malformed},
	{"fat", fat(7, []byte{il.OpRet}), done},
	{"the deepest stack", fat(65533, []byte{il.OpRet}), done},
	{"a stack without room", fat(65534, []byte{il.OpRet}), tooLarge},
	{"the longest code", fat(1, append(make([]byte, 1<<18-1), il.OpRet)), done},
	{"code that is too long", fat(1, append(make([]byte, 1<<18), il.OpRet)), tooLarge},
	{"an instruction that is none", tiny(0x24, il.OpRet), unknown},
	{"an instruction of two bytes that is none", tiny(0xFE, 0x10, il.OpRet), unknown},
	{"half an instruction", tiny(il.OpRet, 0xFE), unknown},
	{"an operand that is cut", tiny(il.OpRet, il.OpCall, 1, 0, 0), unknown},
	{"jmp", tiny(il.OpJmp, 1, 0, 0, 6), jump},
	{"arglist", tiny(0xFE, 0x00, 0x26, il.OpRet), varargs},
	{"tail call", tiny(0xFE, 0x14, il.OpCall, 1, 0, 0, 6, il.OpRet), done},
	{"tail call with a type", tiny(0x02, 0xFE, 0x16, 1, 0, 0, 2, 0xFE, 0x14, il.OpCallvirt, 1, 0, 0, 6, il.OpRet), done},
	{"tail call whose return is a target", tiny(0x02, 0x2C, 7, 0xFE, 0x14, il.OpCall, 1, 0, 0, 6, il.OpRet), done},
	{"tail call without a return", tiny(0xFE, 0x14, il.OpCall, 1, 0, 0, 6, il.OpNop, il.OpRet), tail},
	{"tail call at the end", tiny(0xFE, 0x14, il.OpCall, 1, 0, 0, 6), tail},
	{"tail. of another instruction", tiny(0xFE, 0x14, il.OpNop, il.OpRet), tail},
	{"tail. of newobj", tiny(0xFE, 0x14, il.OpNewobj, 1, 0, 0, 6, il.OpRet), tail},
	{"prefix at the end", tiny(il.OpRet, 0xFE, 0x13), malformed},
	{"prefix of a return", tiny(0xFE, 0x13, il.OpRet), malformed},
	{"prefix of a branch", tiny(0xFE, 0x13, 0x2B, 0, il.OpRet), malformed},
	{"prefixes", tiny(0xFE, 0x13, 0xFE, 0x12, 1, 0x7E, 1, 0, 0, 4, 0x26, il.OpRet), done},
	{"branch behind a prefix", tiny(0x2B, 2, 0xFE, 0x13, 0x7E, 1, 0, 0, 4, 0x26, il.OpRet), malformed},
	{"branch into an instruction", tiny(0x2B, 1, 0x20, 1, 0, 0, 0, 0x26, il.OpRet), malformed},
	{"branch out of the code", tiny(0x2B, 1, il.OpRet), malformed},
	{"branch before the code", tiny(0x2B, 0x80, il.OpRet), malformed},
	{"branch to itself", tiny(0x2B, 0xFE, il.OpRet), done},
	{"long branch", tiny(0x38, 0, 0, 0, 0, il.OpRet), done},
	{"branch that becomes long", fat(1, slices.Concat([]byte{0x2B, 100}, far(20), []byte{il.OpRet})), done},
	{"branch back that becomes long", fat(1, slices.Concat(far(20), []byte{0x2B, 0x9A})), done},
	{"switch", tiny(0x16, il.OpSwitch, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, il.OpNop, il.OpRet), done},
	{"switch that is cut", tiny(0x16, il.OpSwitch, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0), unknown},
	{"switch with more entries than memory has", tiny(0x16, il.OpSwitch, 0xFF, 0xFF, 0xFF, 0xFF, il.OpRet), unknown},
	{"switch out of the code", tiny(0x16, il.OpSwitch, 1, 0, 0, 0, 1, 0, 0, 0, il.OpRet), malformed},
}

// guarded is: try { nop; leave } catch or filter { pop … leave } ret.
var guarded = []byte{il.OpNop, il.OpLeaveS, 4, il.OpNop, 0x26, il.OpLeaveS, 0, il.OpRet}

var withClauses = []struct {
	name     string
	code     []byte
	sections []byte
	result   int
}{
	{"catch", guarded, smallClause(16, il.Catch, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1), done},
	{"finally", []byte{il.OpNop, il.OpLeaveS, 1, il.OpEndfinally, il.OpRet},
		smallClause(16, il.Finally, 0, 0, 3, 3, 0, 1, 0, 0, 0, 0),
		done},
	{"fault", []byte{il.OpNop, il.OpLeaveS, 1, il.OpEndfinally, il.OpRet},
		smallClause(16, il.Fault, 0, 0, 3, 3, 0, 1, 0, 0, 0, 0),
		done},
	{"filter", []byte{il.OpNop, il.OpLeaveS, 7, 0x26, 0x17, 0xFE, 0x11, 0x26, il.OpLeaveS, 0, il.OpRet},
		smallClause(16, il.Filter, 0, 0, 3, 7, 0, 3, 3, 0, 0, 0), done},
	{"size without the head, as some compilers wrote it", guarded, smallClause(12, il.Catch, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1),
		done},
	{"no clauses", guarded, []byte{1, 4, 0, 0}, done},
	{"a clause until the end", []byte{il.OpNop, il.OpLeaveS, 0xFD, 0x26, il.OpLeaveS, 0xFA},
		smallClause(16, il.Catch, 0, 0, 3, 3, 0, 3, 0, 0, 0, 1), done},
	{"a kind that is none", guarded, smallClause(16, 8, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1), unknown},
	{"another section", guarded, []byte{2, 4, 0, 0}, unknown},
	{"a try block in an instruction", guarded, smallClause(16, il.Catch, 0, 0, 2, 3, 0, 4, 0, 0, 0, 1), malformed},
	{"an empty try block", guarded, smallClause(16, il.Catch, 0, 0, 0, 3, 0, 4, 0, 0, 0, 1), malformed},
	{"a handler beyond the code", guarded, smallClause(16, il.Catch, 0, 0, 3, 3, 0, 9, 0, 0, 0, 1), malformed},
	{"a section that is cut", guarded, smallClause(16, il.Catch, 0, 0, 3, 3, 0, 4, 0, 0, 0), malformed},
	{"a section that is not there", guarded, []byte{0x81, 16, 0, 0, 0, 0, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1}, malformed},
	{"two sections", guarded, append([]byte{0x81, 16, 0, 0, 0, 0, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1},
		smallClause(16, il.Catch, 0, 0, 3, 3, 0, 4, 0, 0, 0, 1)...), done},
	{"fat", guarded, slices.Concat([]byte{0x41, 28, 0, 0}, make([]byte, 8),
		[]byte{3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 1}), done},
	{"a return of a tail call in a block", []byte{0xFE, 0x14, il.OpCall, 1, 0, 0, 6, il.OpRet, il.OpEndfinally, il.OpRet},
		smallClause(16, il.Finally, 0, 0, 7, 8, 0, 1, 0, 0, 0, 0), malformed},
}

func all() (names []string, bytes [][]byte, results []int) {
	for _, b := range bodies {
		names, bytes, results = append(names, b.name), append(bytes, b.body), append(results, b.result)
	}
	for _, b := range withClauses {
		names, bytes, results = append(names, "clauses: "+b.name), append(bytes, fat(8, b.code, b.sections...)), append(
			results, b.result)
	}
	return names, bytes, results
}

func TestBodies(t *testing.T) {
	r := startRewriter(t)
	names, bodies, results := all()
	for i, body := range bodies {
		for sites := range 3 {
			a := r.rewrite(body, sites, true, nil)
			if a.result != results[i] {
				t.Errorf("%s: result %d, want %d", names[i], a.result, results[i])
			}
			if r := Refuse(body); int(r) != results[i] || (r == None) != (r.String() == "") {
				t.Errorf("%s: by the rules %d (%v), want %d", names[i], r, r, results[i])
			}
			if a.result != done {
				continue
			}
			if _, _, err := compare(body, a, sites, nil); err != nil {
				t.Errorf("%s: %v", names[i], err)
			}
		}
	}
}

// TestLongBranches has branches over calls of which the farthest that stays short is 127 bytes away.
func TestLongBranches(t *testing.T) {
	r := startRewriter(t)
	short := 0
	for n := range 128 {
		body := fat(1, slices.Concat([]byte{0x2B, byte(n)}, make([]byte, n), []byte{il.OpRet}))
		a := r.rewrite(body, 0, true, nil)
		_, now, err := compare(body, a, 0, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if slices.Contains(now.Code, 0x2B) {
			short++
		}
	}
	if short != 128 {
		t.Errorf("%d of 128 branches over unchanged code stayed short", short)
	}
}

// TestChain has branches each of which becomes long because the next one does.
func TestChain(t *testing.T) {
	r := startRewriter(t)
	const reach = 124 // of each branch, from its begin
	units := 2000
	code := slices.Repeat([]byte{0x2B, reach - 2, il.OpNop, il.OpNop}, units)
	code = append(code, slices.Repeat([]byte{il.OpRet, il.OpNop, il.OpNop, il.OpNop}, reach/4)...)
	body := fat(1, append(code, il.OpRet))
	a := r.rewrite(body, 0, true, nil)
	if a.result != done {
		t.Fatalf("result %d", a.result)
	}
	_, now, err := compare(body, a, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(now.Code, []byte{0x38}); n < units {
		t.Errorf("%d of %d branches are long", n, units)
	}
}

// TestCompareSeesChanges: whatever byte of a new body is another, compareBodies or the reader of bodies says so.
func TestCompareSeesChanges(t *testing.T) {
	r := startRewriter(t)
	names, bodies, results := all()
	for i, body := range bodies {
		if results[i] != done || len(body) > 1000 {
			continue
		}
		a := r.rewrite(body, 1, false, nil)
		now, err := il.ReadBody(a.body)
		if err != nil {
			t.Fatal(err)
		}
		gap := [2]int{fatHeader + len(now.Code), (fatHeader + len(now.Code) + 3) &^ 3} // what fills it does not matter
		for k := range a.body {
			changed := rewritten{body: slices.Clone(a.body)}
			changed.body[k] ^= 0x55
			if k >= gap[0] && k < gap[1] {
				continue
			}
			if _, _, err := compare(body, changed, 1, nil); err == nil {
				t.Errorf("%s: byte %d of %d can be changed from %#x", names[i], k, len(a.body), a.body[k])
			}
		}
	}
}
