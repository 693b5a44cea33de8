package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// keepFlag is the flag for which arguments are kept.
type keepFlag struct{ keep *secrets.Keep }

// Set takes what the user typed.
func (k keepFlag) Set(s string) error {
	if !secrets.Keep(s).Valid() {
		return report.Unknown("--arguments", s, secrets.Keeps())
	}
	*k.keep = secrets.Keep(s)
	return nil
}

// String is the value that is set.
func (k keepFlag) String() string {
	if k.keep == nil {
		return ""
	}
	return string(*k.keep)
}

// Type is the kind of value, for help.
func (keepFlag) Type() string { return "which" }

// addArguments adds the flag that says which arguments of commands are kept.
func addArguments(f *pflag.FlagSet, keep *secrets.Keep) {
	*keep = secrets.All
	f.Var(keepFlag{keep}, "arguments", "which arguments of the command and its processes are kept: "+
		strings.Join(secrets.Keeps(), ", ")+"; values that look like secrets are replaced")
}

// tellArguments has a session say which arguments it holds, if they are not all.
func tellArguments(facts map[string]string, keep secrets.Keep) {
	if keep != secrets.All && keep != "" {
		facts[session.KeyArguments] = string(keep)
	}
}
