// Package secrets keeps passwords, tokens and keys in the arguments of commands out of sessions.
//
// Problem: sessions are copied to colleagues and attached to reports, and the arguments of a command have secrets: as
// --password x, --password=x, PASSWORD=x, in connection strings, headers, URLs, or in a whole command line in one
// argument. There is no way to know all of them. So a value is replaced if its name or its form says that it is one,
// rather too often than too seldom: the numbers of a session do not depend on it.
package secrets

import (
	"regexp"
	"slices"
	"strings"
)

// Replaced stands for a value that was replaced.
const Replaced = "[replaced]"

// Keep says which arguments are kept.
type Keep string

// What can be kept.
const (
	None    Keep = "none"    // not even the program's name
	Program Keep = "program" // what was started, without what came after it
	All     Keep = "all"     // all but what looks like a secret
)

// Keeps are all values of Keep.
func Keeps() []string { return []string{string(None), string(Program), string(All)} }

// Valid reports whether it is one of Keeps.
func (k Keep) Valid() bool { return slices.Contains(Keeps(), string(k)) }

// Of returns what is kept of the arguments of a command, the first of which is the program. A secret in an argument is
// Replaced.
func (k Keep) Of(arguments []string) []string {
	switch k {
	case None:
		return []string{}
	case Program:
		arguments = arguments[:min(1, len(arguments))]
	}
	out := make([]string, len(arguments))
	isSecret := false // the next one
	for i, a := range arguments {
		switch {
		case isSecret && !strings.HasPrefix(a, "--"):
			out[i], isSecret = Replaced, false
		default:
			out[i], isSecret = mask(a), i > 0 && announces(a, arguments[i+1:])
		}
	}
	return out
}

// nameWords are words of a name that make its value a secret; a word may also end with one: dbpassword.
var nameWords = []string{"password", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "key", "credential",
	"credentials", "authorization", "connectionstring"}

// shortWords are those that other words end with.
var shortWords = []string{"pass", "auth", "cookie", "jwt", "sas", "pat", "sig", "pw"}

// words are the parts of a name: of --dbPassword db and Password.
var words = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z0-9]+`)

// isSecret reports whether a name is one of secrets.
func isSecret(name string) bool {
	whole := strings.ToLower(strings.Join(words.FindAllString(name, -1), ""))
	if strings.HasSuffix(whole, "publickeytoken") { // of an assembly
		return false
	}
	for _, word := range append(words.FindAllString(name, -1), whole) {
		word = strings.ToLower(word)
		if slices.Contains(shortWords, word) ||
			slices.ContainsFunc(nameWords, func(n string) bool { return strings.HasSuffix(word, n) }) {
			return true
		}
	}
	return false
}

// plain are values of -p that are no passwords: ports and projects.
var plain = regexp.MustCompile(`^[0-9:]+$|proj$|\.slnx?$`)

// announces reports whether the argument after an option is a secret.
func announces(option string, after []string) bool {
	if len(after) == 0 || !strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "/") ||
		strings.ContainsAny(option, "=: ") {
		return false
	}
	return option == "-p" && !plain.MatchString(after[0]) || isSecret(option)
}

// Forms of secrets within an argument. The group named secret is replaced.
var forms = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://(?P<secret>[^/?#\s@]+)@`),                                 // of a URL
	regexp.MustCompile(`(?i)\b(?:proxy-)?authorization\s*[:=]\s*(?P<secret>\S.*)`),                          // a header
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9+/=._~-]{8,})`),                       // a part of one
	regexp.MustCompile(`\b(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})\b`),                                         // of AWS
	regexp.MustCompile(`\b(?P<secret>(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-)[A-Za-z0-9_-]{10,})`), // of services
	regexp.MustCompile(`\b(?P<secret>eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?)`),        // a JWT
	regexp.MustCompile(`(?s)(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----.*)`),                              // PEM
}

// named is a name with its value: of a connection string, a query, a header, or in a command line. The value ends where
// the next one can begin.
var (
	named      = regexp.MustCompile(`(?P<name>[A-Za-z][\w.-]*(?: [A-Za-z][\w]*)*)\s*[=:]\s*(?P<secret>"[^"]*"|'[^']*'|[^;\s"']+)`)
	namedQuery = regexp.MustCompile(`(?P<name>[A-Za-z][\w.-]*)=(?P<secret>[^;&#\s"']+)`)
	option     = regexp.MustCompile(`(?P<name>(?:^|\s)--?[A-Za-z][\w-]*)\s+(?P<secret>"[^"]*"|'[^']*'|[^\s"'-]\S*)`)
	whole      = regexp.MustCompile(`(?s)^(?:--?|/)?(?P<name>[A-Za-z][\w.:-]*)=(?P<secret>.+)$`)
)

// mask replaces the secrets in one argument.
func mask(argument string) string {
	if m := whole.FindStringSubmatch(argument); m != nil && isSecret(m[1]) {
		return argument[:len(argument)-len(m[2])] + Replaced
	}
	for _, form := range forms {
		argument = replace(argument, form, func(string) bool { return true })
	}
	values := named
	if strings.Contains(argument, "://") || strings.Contains(argument, "?") {
		values = namedQuery
	}
	argument = replace(argument, values, isSecret)
	if strings.ContainsAny(argument, " \t\n") {
		argument = replace(argument, option, isSecret)
	}
	return argument
}

// replace replaces the secret of each match whose name is one of secrets.
func replace(s string, form *regexp.Regexp, wanted func(name string) bool) string {
	secret, name := form.SubexpIndex("secret"), form.SubexpIndex("name")
	var out strings.Builder
	from := 0
	for _, m := range form.FindAllStringSubmatchIndex(s, -1) {
		if name > 0 && !wanted(s[m[2*name]:m[2*name+1]]) {
			continue
		}
		out.WriteString(s[from:m[2*secret]] + Replaced)
		from = m[2*secret+1]
	}
	return out.String() + s[from:]
}
