package session

import "strings"

// declarations are the tables of schema.sql and packed.sql, by name: what there is said of columns and keys is said
// nowhere else.
var declarations = declare(schema + packedSchema)

// declaration is a CREATE TABLE statement.
type declaration struct {
	text    string
	columns []declaredColumn
	key     string // the columns of the primary key
}

// declaredColumn is a column of a table.
type declaredColumn struct {
	name string
	kind string // INTEGER, TEXT, BLOB, or REAL: numbers that need not be whole, of which a packed table has the bits
}

func (c declaredColumn) text() bool { return c.kind == "TEXT" }

func (c declaredColumn) real() bool { return c.kind == "REAL" }

// whole says whether the column has integers.
func (c declaredColumn) whole() bool { return c.kind == "INTEGER" }

// declared returns the columns of a table.
func declared(name string) []declaredColumn { return declarations[name].columns }

// declare reads the declarations of a schema as ours are written: whole columns in each line, and a key of several
// columns in one of its own.
func declare(schema string) map[string]declaration {
	const begin, key = "CREATE TABLE ", "PRIMARY KEY"
	out := map[string]declaration{}
	var d *declaration
	name := ""
	at, from := 0, 0 // in the schema: the line, and the statement that it belongs to
	for line := range strings.Lines(schema) {
		start := at
		at += len(line)
		said, _, _ := strings.Cut(strings.TrimSpace(line), "--")
		said = strings.TrimSpace(said)
		switch {
		case strings.HasPrefix(line, begin):
			name, d, from = strings.Fields(line)[2], &declaration{}, start
		case d == nil:
			continue
		case strings.HasPrefix(said, key):
			_, columns, _ := strings.Cut(said, "(")
			d.key, _, _ = strings.Cut(columns, ")")
		case strings.HasPrefix(line, ")"):
			d.text = schema[from : start+strings.Index(line, ";")+1]
			out[name], d = *d, nil
		default:
			d.add(strings.Split(said, ","))
		}
	}
	return out
}

// add takes what a line says of columns.
func (d *declaration) add(columns []string) {
	for _, said := range columns {
		words := strings.Fields(said)
		if len(words) < 2 {
			continue
		}
		d.columns = append(d.columns, declaredColumn{words[0], words[1]})
		if strings.Contains(said, "PRIMARY KEY") {
			d.key = words[0]
		}
	}
}

// tableOf is the table of the schema with a name. fields visits its columns in the order in which the schema has them.
func tableOf[T any](name string, fields func(c *cells, row *T)) table[T] {
	d, ok := declarations[name]
	if !ok {
		panic("the schema has no table " + name)
	}
	names := make([]string, len(d.columns))
	for i, c := range d.columns {
		names[i] = c.name
	}
	return table[T]{name: name, columns: names, order: d.key, fields: fields}
}
