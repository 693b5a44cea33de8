// Package wiretest makes arenas as an agent would write them, for tests of what reads them. Nothing in the shipped
// program uses it.
package wiretest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/wire"
)

// NoPID is a process id that Linux never gives (PID_MAX_LIMIT is 4 Mi).
const NoPID = 1 << 30

// capacity is how many bytes each region of an Arena has room for, as long as the arena does not say otherwise.
const capacity = 1 << 16

// Arena is an arena in the making. It can be written to its file again and again, with more in it each time, while a
// reader has it mapped.
type Arena struct {
	Header       wire.Header
	Log          []byte
	IPs          []wire.IP
	Nodes        []wire.Node
	Sites        []wire.Site
	Deaths       []wire.SiteDeaths
	Ages         []wire.Ages
	ThreadSets   []wire.ThreadSet
	Scopes       []wire.Scope
	Interactions []wire.Interaction
	MeterValues  []wire.MeterValue
	Timings      []wire.Timing
	Waits        []wire.Waits
	Clocks       []wire.Clock
	Activations  []wire.Activation
	Acted        []wire.Acted
	Inclusives   []wire.Inclusive
	SiteTimings  []wire.SiteTiming
	SiteSamples  []wire.SiteSample
	Counts       []wire.Counts
	SystemEvents []wire.SystemEvent
	SystemCalls  []wire.SystemCall
	Trace        []wire.TraceChunk
	Capacity     int // in place of the constant, when not 0; to be set before the first Write
}

// New returns the arena of a process that does not exist any more and did not say goodbye.
func New() *Arena {
	return &Arena{
		Header: wire.Header{Magic: wire.Magic, Version: wire.Version, State: uint32(wire.StateRecording), PID: NoPID,
			ParentPID:    7,
			RuntimeMajor: 9, RuntimeMinor: 0, RuntimeBuild: 7, MaxStackDepth: 100, StartNS: 1000, Data: wire.DataMemory,
			SharedBytes: 4096, PrivateBytes: 904},
		IPs:   make([]wire.IP, wire.IPFirst),
		Nodes: make([]wire.Node, 1),
	}
}

// Encode writes a record of the log, as package wire describes it. A value of another type has kind 0.
func Encode(record any) []byte {
	kind := wire.Kind(0)
	for k, r := range wire.Records() {
		if reflect.TypeOf(r) == reflect.TypeOf(record) {
			kind = k
		}
	}
	return EncodeAs(kind, record)
}

// EncodeAs writes a record, or anything else that is made of the same types, as a record of the given kind.
func EncodeAs(kind wire.Kind, record any) []byte {
	body := appendValue(nil, reflect.ValueOf(record))
	body = append(body, make([]byte, -len(body)&7)...)
	b := binary.LittleEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.LittleEndian.AppendUint32(b, uint32(kind))
	return append(b, body...)
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
	case reflect.String:
		return appendValue(b, reflect.ValueOf(utf16.Encode([]rune(v.String()))))
	case reflect.Slice:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Len()))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
	case reflect.Uint8:
		b = append(b, byte(v.Uint()))
	case reflect.Uint16:
		b = binary.LittleEndian.AppendUint16(b, uint16(v.Uint()))
	case reflect.Uint32:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Uint()))
	case reflect.Uint64:
		b = binary.LittleEndian.AppendUint64(b, v.Uint())
	}
	return b
}

// Add appends records to the log.
func (a *Arena) Add(records ...any) {
	for _, r := range records {
		a.Log = append(a.Log, Encode(r)...)
	}
}

// IP adds a return address in a body of a function and returns its id.
func (a *Arena) IP(address uint64, function, body uint32) uint32 {
	a.IPs = append(a.IPs, wire.IP{Address: address, Function: function, Body: body, Flags: wire.IPManaged})
	return uint32(len(a.IPs) - 1)
}

// Node adds a node and returns its id.
func (a *Arena) Node(parent, ip uint32) uint32 {
	a.Nodes = append(a.Nodes, wire.Node{Parent: parent, IP: ip})
	return uint32(len(a.Nodes) - 1)
}

// Site adds a site and returns its index.
func (a *Arena) Site(thread, node, typ uint32, objects, bytes uint64) int {
	a.Sites = append(a.Sites, wire.Site{Thread: thread, Node: node, Type: typ, Objects: objects, Bytes: bytes})
	return len(a.Sites) - 1
}

// Timing adds a timing without any call and returns its number.
func (a *Arena) Timing(thread, parent, function uint32, returnAddress uint64) uint32 {
	x := wire.Timing{Parent: parent, Function: function, ReturnAddress: returnAddress, Thread: thread}
	for i := range x.Min {
		x.Min[i] = ^uint64(0)
	}
	a.Timings = append(a.Timings, x)
	return uint32(len(a.Timings))
}

// Bytes returns the file, with room for more in each region. The header's regions are filled in.
func (a *Arena) Bytes() ([]byte, error) { return a.bytes(cmp.Or(a.Capacity, capacity)) }

// Compact returns the file without room for more.
func (a *Arena) Compact() ([]byte, error) { return a.bytes(0) }

func (a *Arena) bytes(capacity int) ([]byte, error) {
	b := make([]byte, wire.HeaderSize)
	for i, table := range [wire.RegionCount]any{a.Log, a.IPs, a.Nodes, a.Sites, a.Deaths, a.Ages, a.ThreadSets,
		a.Scopes, a.Interactions, a.MeterValues, a.SiteSamples, a.Timings, a.Waits, a.Clocks, a.Activations, a.Acted,
		a.Inclusives,
		a.SiteTimings, a.Counts, a.SystemEvents, a.SystemCalls, a.Trace} {
		offset := len(b)
		if reflect.ValueOf(table).Len() > 0 {
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, table); err != nil {
				return nil, fmt.Errorf("region %d: %w", i, err)
			}
		}
		used := len(b) - offset
		if capacity > 0 && used > capacity {
			return nil, fmt.Errorf("region %d: %d bytes, room for %d", i, used, capacity)
		}
		b = append(b, make([]byte, max(capacity-used, -used&7))...)
		room := uint64(len(b) - offset)
		a.Header.Regions[i] = wire.RegionEntry{Offset: uint64(offset), Capacity: room, Used: uint64(used), Backed: room}
	}
	if _, err := binary.Encode(b, binary.LittleEndian, a.Header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return b, nil
}

// Write puts the arena into its file, in place.
func (a *Arena) Write(path string) error {
	b, err := a.Bytes()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
