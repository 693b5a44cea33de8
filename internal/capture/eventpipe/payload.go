package eventpipe

import (
	"fmt"
)

// definition describes an event.
type definition struct {
	provider, name string
	id, version    uint32
	fields         []field // nil: the runtime does not say
}

// field is one of an event, or of a field.
type field struct {
	name   string
	typ    fieldType
	fields []field // of an object
}

// fieldType is the type of a field: a System.TypeCode, or one of the format's own.
type fieldType uint32

const (
	typeObject fieldType = 1
	typeBool   fieldType = 3
	typeChar   fieldType = 4
	typeSByte  fieldType = 5
	typeByte   fieldType = 6
	typeInt16  fieldType = 7
	typeUInt16 fieldType = 8
	typeInt32  fieldType = 9
	typeUInt32 fieldType = 10
	typeInt64  fieldType = 11
	typeUInt64 fieldType = 12
	typeSingle fieldType = 13
	typeDouble fieldType = 14
	typeDate   fieldType = 16
	typeGUID   fieldType = 17
	typeString fieldType = 18
)

// Limits of descriptions: an event of a program has as many fields as its method parameters.
const (
	maxFields = 256
	maxDepth  = 4 // objects in objects
)

// define reads the description of an event.
func (s *Stream) define(b []byte) error {
	d := decoder{data: b}
	id := d.uint32()
	def := &definition{provider: d.text(), id: d.uint32()}
	def.name = d.text()
	d.skip(8) // keywords
	def.version = d.uint32()
	d.skip(4) // level
	fields, ok := readFields(&d, 0)
	if d.failed || !ok {
		return fmt.Errorf("%w: the description of event %q of %q", ErrFormat, def.name, def.provider)
	}
	def.fields = fields
	if s.defs[id] == nil && len(s.defs) >= maxDefinitions {
		return fmt.Errorf("%w: more than %d different events", ErrFormat, maxDefinitions)
	}
	s.defs[id] = def
	return nil
}

func readFields(d *decoder, depth int) ([]field, bool) {
	n := d.uint32()
	if n > maxFields || depth > maxDepth {
		return nil, false
	}
	var out []field
	for range n {
		f := field{typ: fieldType(d.uint32())}
		if f.typ == typeObject {
			var ok bool
			if f.fields, ok = readFields(d, depth+1); !ok {
				return nil, false
			}
		}
		f.name = d.text()
		if d.failed {
			return nil, false
		}
		out = append(out, f)
	}
	return out, true
}

// Values are the fields of an event, by name. A value is an int64, a uint64, a float64, a bool, a string, or Values.
type Values map[string]any

// Values decodes the event's fields, as far as the stream describes them and their types are known.
func (e *Event) Values() Values {
	d := decoder{data: e.payload}
	out, _ := decode(&d, e.fields)
	return out
}

// decode decodes fields up to one that cannot be.
func decode(d *decoder, fields []field) (out Values, ok bool) {
	out = Values{}
	for _, f := range fields {
		value, known := decodeField(d, f)
		if !known || d.failed {
			return out, false
		}
		out[f.name] = value
	}
	return out, true
}

func decodeField(d *decoder, f field) (value any, known bool) {
	switch f.typ {
	case typeObject:
		return decode(d, f.fields)
	case typeBool:
		return d.uint32() != 0, true
	case typeChar, typeUInt16:
		return uint64(d.uint16()), true
	case typeSByte:
		return int64(int8(d.byte())), true
	case typeByte:
		return uint64(d.byte()), true
	case typeInt16:
		return int64(int16(d.uint16())), true
	case typeInt32:
		return int64(int32(d.uint32())), true
	case typeUInt32:
		return uint64(d.uint32()), true
	case typeInt64:
		return int64(d.uint64()), true
	case typeUInt64, typeDate:
		return d.uint64(), true
	case typeSingle:
		return d.float32(), true
	case typeDouble:
		return d.float64(), true
	case typeGUID:
		d.skip(idBytes)
		return "", true
	case typeString:
		return d.text(), true
	}
	return nil, false
}

// text is a field that is a text, "" if there is none of that name.
func (v Values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

// number is a field that is a number, 0 if there is none of that name.
func (v Values) number(name string) float64 {
	switch n := v[name].(type) {
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}
