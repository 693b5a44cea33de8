package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/running"
	"github.com/clrprof/clrprof/internal/present/report/text"
)

// mostNamed bounds how many processes an error names.
const mostNamed = 8

// processOf is the id of the process that an argument means: an id, or the name of a program, as clrprof ps prints it.
func processOf(argument string, newest bool) (int, error) {
	if pid, err := strconv.Atoi(argument); err == nil {
		if pid <= 0 {
			return 0, usage("%q is not a process id", argument)
		}
		return pid, nil
	}
	found, hidden, err := running.List()
	if err != nil {
		return 0, exit(exitInternal, err)
	}
	named := slices.DeleteFunc(found, func(p *running.Process) bool { return !strings.EqualFold(p.Name, argument) })
	if len(named) == 0 {
		err = fmt.Errorf("no .NET process is called %q: clrprof ps lists them", argument)
		if hidden {
			err = fmt.Errorf("%w, and sudo clrprof ps lists processes of other users too", err)
		}
		return 0, exit(exitNoTarget, err)
	}
	p, err := oneOf(named, newest)
	if err != nil {
		return 0, exit(exitNoTarget, fmt.Errorf("%d processes are called %q: %w", len(named), argument, err))
	}
	return p.PID, nil
}

// oneOf is the process that is meant of some with the same name: the only one, or the newest one if that is asked for.
// Anybody can start a program with any name, so the newest one is not taken where they are of several users.
func oneOf(named []*running.Process, newest bool) (*running.Process, error) {
	isOthers := func(p *running.Process) bool { return p.UID != named[0].UID }
	switch {
	case len(named) > 1 && slices.ContainsFunc(named, isOthers):
		return nil, fmt.Errorf("they are of several users, so name one by its id: %s", describeEach(named))
	case len(named) > 1 && !newest:
		return nil, fmt.Errorf("name one by its id, or attach with --newest: %s", describeEach(named))
	}
	return slices.MinFunc(named, func(a, b *running.Process) int {
		return cmp.Or(cmp.Compare(a.Age, b.Age), cmp.Compare(b.PID, a.PID))
	}), nil
}

func describeEach(all []*running.Process) string {
	var ids []string
	for _, p := range all[:min(len(all), mostNamed)] {
		ids = append(ids, fmt.Sprintf("%d (of %s, for %s)", p.PID, p.User, p.Age))
	}
	if len(all) > mostNamed {
		ids = append(ids, fmt.Sprintf("and %d more", len(all)-mostNamed))
	}
	return strings.Join(ids, ", ")
}

// completeProcess completes ids and names of .NET processes, for shells.
func completeProcess(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if found, _, err := running.List(); err == nil && len(args) == 0 {
		for _, p := range found {
			pid, name := strconv.Itoa(p.PID), text.Printable(p.Name) // whatever the process calls itself
			if strings.HasPrefix(pid, typed) {
				out = append(out, pid+"\t"+name)
			}
			if typed != "" && strings.HasPrefix(p.Name, typed) && name == p.Name {
				out = append(out, name+"\t"+pid)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
