package redact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// userFolders are those that have a folder for each user, named after them.
var userFolders = regexp.MustCompile(`(?:^|[\s"'=:;,])(?:(?:/var|/export)?/home|/Users|[A-Za-z]:[\\/]Users)[\\/]+([^\\/\s"':;,]+)`)

// nobody are folders beside those of users that are nobody's.
var nobody = []string{"Public", "Shared", "Default", "All", ".", ".."}

// leastWord is how many bytes a name must have to be looked for in other texts: a letter is in too many of them.
const leastWord = 2

// collect takes note of names of users and hosts, and of folders, so that they are found in other texts too.
func (r *redactor) collect(row *session.Texts) error {
	if row.Table == "info" {
		switch value := row.Of("value"); row.Of("key") {
		case session.KeyHost:
			r.hosts.get(value)
		case session.KeyDirectory:
			r.usersIn(value)
			r.folder(value)
		case session.KeyCommand:
			r.usersInJSON(value)
		case session.KeyOptions:
			r.usersInJSON(value)
		}
		return nil
	}
	for i, column := range row.Columns {
		switch row.Table + "." + column {
		case "process.arguments":
			r.usersInJSON(row.Values[i])
		case "process.path", "module.path", "module.symbols_path", "source_file.path":
			r.usersIn(row.Values[i])
			if folder, _ := split(row.Values[i]); folder != "" {
				r.folder(folder)
			}
		}
	}
	return nil
}

// usersIn takes note of the users whose folders a text names.
func (r *redactor) usersIn(text string) {
	for _, m := range userFolders.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(nobody, m[1]) {
			r.users.get(m[1])
		}
	}
}

// usersInJSON does so for all texts in JSON, where backslashes are doubled.
func (r *redactor) usersInJSON(text string) {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		r.usersInValue(v)
	}
}

func (r *redactor) usersInValue(v any) {
	switch v := v.(type) {
	case string:
		r.usersIn(v)
	case []any:
		for _, e := range v {
			r.usersInValue(e)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys) // the same numbers each time
		for _, key := range keys {
			r.usersInValue(v[key])
		}
	}
}

// ready prepares what was collected for being looked for.
func (r *redactor) ready() {
	var words []string
	for _, p := range []*pseudonyms{r.users, r.hosts} {
		for text := range p.of {
			if len(text) >= leastWord && text != "localhost" {
				words = append(words, text)
			}
		}
	}
	longestFirst(words)
	if len(words) > 0 {
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		r.words = regexp.MustCompile(strings.Join(words, "|"))
	}
	for folder := range r.folders.of {
		r.known = append(r.known, folder)
	}
	longestFirst(r.known)
}

// longestFirst sorts texts so that one that is a part of another comes later.
func longestFirst(texts []string) {
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
}

// scrub replaces names of users and hosts in a text where they are whole words.
func (r *redactor) scrub(text string) string {
	if r.words == nil {
		return text
	}
	var b strings.Builder
	end := 0
	for _, at := range r.words.FindAllStringIndex(text, -1) {
		if isWordByte(text, at[0]-1) || isWordByte(text, at[1]) {
			continue
		}
		found := text[at[0]:at[1]]
		word, isUser := r.users.of[found]
		if !isUser {
			word = r.hosts.of[found]
		}
		b.WriteString(text[end:at[0]] + word)
		end = at[1]
	}
	return b.String() + text[end:]
}

// isWordByte reports whether a letter or a digit is at a place in a text. What is not ASCII is taken for letters.
func isWordByte(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// absolute are paths in a sentence.
var absolute = regexp.MustCompile(`(?:[A-Za-z]:\\|/)[^\s"'<>|:,;()/\\]+(?:[/\\]+[^\s"'<>|:,;()/\\]*)+`)

// freeText replaces names of users and hosts, and folders, in a sentence.
func (r *redactor) freeText(text string) string {
	if strings.ContainsAny(text, `/\`) {
		for _, folder := range r.known { // they can have blanks
			text = replaceFolder(text, folder, "/"+r.folders.of[folder])
		}
		text = absolute.ReplaceAllStringFunc(text, func(path string) string {
			if folder, _ := split(path); r.isPseudonym(folder) {
				return path
			}
			return r.path(path)
		})
	}
	return r.scrub(text)
}

// replaceFolder replaces a folder in a text, but not another one that only begins like it.
func replaceFolder(text, folder, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, folder)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(folder)
		b.WriteString(text[:i])
		if isWordByte(text, end) {
			b.WriteString(folder)
		} else {
			b.WriteString(by)
		}
		text = text[end:]
	}
}

// isPseudonym reports whether a folder is one that replaced another one.
func (r *redactor) isPseudonym(folder string) bool {
	n, found := strings.CutPrefix(folder, "/"+r.folders.word+"-")
	i, err := strconv.Atoi(n)
	return found && err == nil && i >= 1 && i <= len(r.folders.of)
}

// split returns the folder and the name of a file, on any system.
func split(path string) (folder, name string) {
	i := strings.LastIndexAny(path, `/\`)
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// folder replaces the path of a folder.
func (r *redactor) folder(path string) string {
	path = strings.TrimRight(path, `/\`)
	if path == "" {
		return ""
	}
	return "/" + r.folders.get(path)
}

// path replaces the folder of a path, and keeps the name of the file. Different paths stay different.
func (r *redactor) path(path string) string {
	if out, known := r.paths[path]; known {
		return out
	}
	folder, name := split(path)
	out := r.scrub(name)
	if folder != "" {
		out = r.folder(folder) + "/" + out
	} else if name != path {
		out = "/" + out // in the root
	}
	for unique, n := out, 2; ; n++ {
		if !r.used[unique] {
			out = unique
			break
		}
		unique = fmt.Sprintf("%s-%d", out, n)
	}
	if path != "" {
		r.paths[path], r.used[out] = out, true
	}
	return out
}
