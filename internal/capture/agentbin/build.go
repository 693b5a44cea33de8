package agentbin

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// buildIDBytes is the length of a build id: a SHA-1 hash.
const buildIDBytes = 20

// Libraries returns the builds of the agent that there are, in order.
func Libraries() []Library { return []Library{Glibc, Musl, GlibcARM64, MuslARM64} }

// BuildIDs returns the build ids of the agents that this clrprof has, which the linker makes of their contents. The
// error is ErrMissing if it has none.
func BuildIDs() ([][buildIDBytes]byte, error) {
	var ids [][buildIDBytes]byte
	for _, l := range Libraries() {
		id, err := BuildID(l)
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the agent for %s: %w", l, err)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, ErrMissing
	}
	return ids, nil
}

// BuildID returns the build id of one agent. It wraps ErrMissing if this clrprof was built without it.
func BuildID(l Library) (id [buildIDBytes]byte, err error) {
	b, err := Bytes(l)
	if err != nil {
		return id, err
	}
	return buildID(b)
}

// buildID reads the note that has it: a header of three words and the name GNU come before it (elf(5), Notes).
func buildID(library []byte) (id [buildIDBytes]byte, err error) {
	f, err := elf.NewFile(bytes.NewReader(library))
	if err != nil {
		return id, err
	}
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		return id, fmt.Errorf("it has no build id")
	}
	data, err := section.Data()
	const head = 16
	if err != nil || len(data) != head+buildIDBytes {
		return id, fmt.Errorf("its build id has %d bytes: %w", len(data)-head, err)
	}
	copy(id[:], data[head:])
	return id, nil
}
