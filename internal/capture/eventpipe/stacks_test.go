package eventpipe

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// stackBlock is a block of stacks, with the id of the first.
func stackBlock(first uint32, stacks ...[]uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, first)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(stacks)))
	for _, s := range stacks {
		b = binary.LittleEndian.AppendUint32(b, uint32(addressBytes*len(s)))
		for _, a := range s {
			b = binary.LittleEndian.AppendUint64(b, a)
		}
	}
	return b
}

// TestStacks: events get the stacks with their ids since the last sequence point, the outermost address first. What
// cannot be is an error.
func TestStacks(t *testing.T) {
	var k stacks
	has := func(id uint32, want ...uint64) {
		t.Helper()
		if got := slices.Collect(Addresses(k.of(id))); !slices.Equal(got, want) {
			t.Errorf("stack %d has %d, not %d", id, got, want)
		}
	}
	add := func(b []byte) {
		t.Helper()
		if err := k.add(b); err != nil {
			t.Error(err)
		}
	}
	has(0)
	add(stackBlock(1, []uint64{30, 20, 10}, nil))
	add(stackBlock(3, []uint64{5}))
	has(0)
	has(1, 10, 20, 30)
	has(2)
	has(3, 5)
	has(4)
	k.forget()
	has(1)
	add(stackBlock(1, []uint64{7}))
	has(1, 7)
	for what, b := range map[string][]byte{
		"gap":     stackBlock(9, []uint64{1}),
		"cut":     stackBlock(2, []uint64{1, 2})[:20],
		"short":   stackBlock(2)[:6],
		"more":    binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 2), 1<<30),
		"uneven":  append(stackBlock(2, nil)[:8], 7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7),
		"too big": append(stackBlock(2, nil)[:8], 0, 0, 2, 0),
	} {
		if err := k.add(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if nobody := (*stacks)(nil); nobody.add(stackBlock(1)) != nil || nobody.of(1) != nil {
		t.Error("there are stacks for which nobody asked")
	}
}
