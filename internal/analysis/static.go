package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Statics are the static fields that held objects when snapshots of heaps were taken.
type Statics struct {
	fields map[staticKey]*session.SnapshotStatic
	types  map[session.TypeID]*session.SnapshotType
}

// staticKey is an id of a static field, which is one of its process.
type staticKey struct {
	process session.ProcessID
	id      int64
}

// ReadStatics reads them.
func ReadStatics(s *session.Session) (*Statics, error) {
	list, err := s.SnapshotStatics()
	if err != nil {
		return nil, err
	}
	types, err := s.SnapshotTypes()
	out := &Statics{map[staticKey]*session.SnapshotStatic{}, map[session.TypeID]*session.SnapshotType{}}
	for i, f := range list {
		out.fields[staticKey{f.Process, f.ID}] = &list[i]
	}
	for i, t := range types {
		if t.Static != 0 {
			out.types[t.Type] = &types[i]
		}
	}
	return out, err
}

// Field returns a static field by its id; nil: there is none.
func (s *Statics) Field(process session.ProcessID, id int64) *session.SnapshotStatic {
	return s.fields[staticKey{process, id}]
}

// Holder returns the static field that retains most bytes of a type, if that is half of them at least, and how many;
// nil: there is none.
func (s *Statics) Holder(typ session.TypeID) (*session.SnapshotStatic, q.Bytes) {
	t := s.types[typ]
	if t == nil || 2*t.StaticBytes < t.Bytes {
		return nil, 0
	}
	return s.Field(t.Process, t.Static), t.StaticBytes
}
