package analysis

import "github.com/clrprof/clrprof/internal/session"

// PlaceKeys name the functions and lines of a session so that equal ones of another session have equal keys: where code
// above them was changed, lines are others, and the numbers in the names of lambdas.
type PlaceKeys struct {
	functions map[session.FunctionID]string
	lines     map[session.LineID]string
	renamed   map[string][]session.FunctionID // functions that have the key of one with another name, by key
}

// Function returns the key of a function; "": the session does not have it.
func (k *PlaceKeys) Function(id session.FunctionID) string { return k.functions[id] }

// Place returns the key of a place: that of its line, or of its function where the line is not known.
func (k *PlaceKeys) Place(p Place) string {
	if key, known := k.lines[p.Line]; known {
		return key
	}
	return k.functions[p.Function]
}

// Renamed returns the functions of the old session that have another name in the new one, by their key in both.
func (k *PlaceKeys) Renamed() map[string][]session.FunctionID { return k.renamed }

// NamedFunctions returns the functions that patterns of a selection name. There may be none.
func NamedFunctions(s *session.Session, patterns []string) (map[session.FunctionID]bool, error) {
	var out Selection
	err := Terms{Functions: patterns, MayMiss: true}.selectFunctions(s, &out)
	return out.own, err
}

// PairPlaces returns the keys of the functions and lines of two sessions, matched as Compare matches them.
func PairPlaces(from, to *Source) (before, after *PlaceKeys, err error) {
	sides, err := prepare([]*Source{from}, []*Source{to}, "lines")
	if err != nil {
		return nil, nil, err
	}
	return sides[0][0].placeKeys(), sides[1][0].placeKeys(), nil
}

func (v *comparedSource) placeKeys() *PlaceKeys {
	out := &PlaceKeys{make(map[session.FunctionID]string, len(v.data.Functions)),
		make(map[session.LineID]string, len(v.data.Lines)), map[string][]session.FunctionID{}}
	for i := range v.data.Functions {
		id, key := v.data.Functions[i].ID, v.keys.Function(i)
		if out.functions[id] = key; v.isRenamed(id) {
			out.renamed[key] = append(out.renamed[key], id)
		}
	}
	for i := range v.data.Lines {
		out.lines[v.data.Lines[i].ID] = v.keys.Line(i)
	}
	return out
}
