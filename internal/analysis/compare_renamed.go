package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// longIL is from how many instructions on the code of a function says enough to know it by: shorter functions, such as
// a constructor that calls that of object, are often equal by chance. Those also need the same callers.
const longIL = 12

// pairRenamed matches functions that only the old sessions have with functions that only the new ones have and that
// have the same code: they were renamed, or moved to another class, namespace or file. The old function gets the key of
// the new one. If several functions have the same code, their callers decide. all has the new sessions first, and the
// old ones from position old on.
func pairRenamed(all []*comparedSource, old int) error {
	gone, added := onlyIn(all[old:], all[:old]), onlyIn(all[:old], all[old:])
	if len(gone) == 0 || len(added) == 0 {
		return nil
	}
	newKeyOf := map[string]string{} // by old key
	for range maxRenamedRounds {
		callers, err := callersOf(all, old, gone, added, newKeyOf)
		if err != nil {
			return err
		}
		pairs := pairByCode(gone, added, callers)
		if len(pairs) == 0 {
			break
		}
		for from, to := range pairs {
			newKeyOf[from] = to
			delete(gone, from)
			delete(added, to)
		}
	}
	for _, v := range all[old:] {
		v.rename(newKeyOf)
	}
	return nil
}

// maxRenamedRounds bounds how often callers are looked at anew after some functions are known again: functions that
// call each other are as many levels deep, and people rename a few.
const maxRenamedRounds = 4

// onlyIn returns the hashes of the code of functions that some sessions have and others do not, by key.
func onlyIn(some, others []*comparedSource) map[string]string {
	has := map[string]bool{}
	for _, v := range others {
		for i := range v.data.Functions {
			has[v.keys.Function(i)] = true
		}
	}
	out := map[string]string{}
	for _, v := range some {
		for i := range v.data.Functions {
			if hash := v.data.Functions[i].ILHash; hash != "" && !has[v.keys.Function(i)] {
				out[v.keys.Function(i)] = hash
			}
		}
	}
	return out
}

// byCode is what functions are matched by.
type byCode struct{ hash, arguments, callers string }

// typeArguments is the part of a key that tells instantiations of a generic function apart.
func typeArguments(key string) string {
	if at := strings.IndexByte(key, '<'); at >= 0 {
		return key[at:]
	}
	return ""
}

// pairByCode returns the new keys of functions, by old key: first of those with a code that no other has, then of those
// that also have the same callers.
func pairByCode(gone, added, callers map[string]string) map[string]string {
	pairs := map[string]string{}
	for _, withCallers := range []bool{false, true} {
		news := groupByCode(added, callers, withCallers)
		for by, from := range groupByCode(gone, callers, withCallers) {
			if to := news[by]; len(from) == 1 && len(to) == 1 && pairs[from[0]] == "" {
				pairs[from[0]] = to[0]
			}
		}
	}
	return pairs
}

// groupByCode returns the keys of functions that are alike. Short ones are left out without callers.
func groupByCode(hashes, callers map[string]string, withCallers bool) map[byCode][]string {
	out := map[byCode][]string{}
	for _, key := range slices.Sorted(maps.Keys(hashes)) {
		by := byCode{hash: hashes[key]}
		instructions, _, _ := strings.Cut(by.hash, "-")
		if withCallers {
			by.callers = callers[key]
		}
		if !isLong(instructions) && by.callers == "" {
			continue
		}
		if !strings.Contains(key, "<lambda") {
			by.arguments = typeArguments(key)
		}
		out[by] = append(out[by], key)
	}
	return out
}

func isLong(instructions string) bool {
	n, err := strconv.Atoi(instructions)
	return err == nil && n >= longIL
}

// callersOf returns the keys of the functions that call each of some functions in their sessions, as the new sessions
// have them. What calls itself is no caller of its own.
func callersOf(all []*comparedSource, old int, gone, added, newKeyOf map[string]string) (map[string]string, error) {
	callers := map[string]map[string]bool{}
	for i, v := range all {
		wanted := gone
		if i < old {
			wanted = added
		}
		d, err := v.codeData()
		if err != nil {
			return nil, err
		}
		for n, p := range d.tree.Parent {
			key := v.keys.Function(int(d.nodeFunction[n]))
			if _, isWanted := wanted[key]; !isWanted {
				continue
			}
			caller := "(none)"
			if p >= 0 {
				caller = v.keys.Function(int(d.nodeFunction[p]))
			}
			if caller == key {
				continue
			}
			if callers[key] == nil {
				callers[key] = map[string]bool{}
			}
			callers[key][cmp.Or(newKeyOf[caller], caller)] = true
		}
	}
	out := map[string]string{}
	for key, of := range callers {
		out[key] = strings.Join(slices.Sorted(maps.Keys(of)), "\n")
	}
	return out, nil
}

// rename gives functions, and their lines, other keys.
func (v *comparedSource) rename(to map[string]string) {
	v.renamed = make([]bool, len(v.data.Functions))
	for i, key := range v.keys.functions {
		if changed := to[key]; changed != "" {
			v.keys.functions[i], v.renamed[i] = changed, true
		}
	}
	for i := range v.data.Lines {
		pos, ok := v.functions.find(v.data.Lines[i].Function)
		if !ok || pos < 0 || !v.renamed[pos] {
			continue
		}
		key := v.keys.lines[i] // as lineKey makes it, and so with the last colon before the distance
		v.keys.lines[i] = v.keys.functions[pos] + key[strings.LastIndexByte(key, ':'):]
	}
}

// isRenamed reports whether a function has another key than by its name.
func (v *comparedSource) isRenamed(id session.FunctionID) bool {
	pos, ok := v.functions.find(id)
	return ok && pos >= 0 && v.renamed != nil && v.renamed[pos]
}
