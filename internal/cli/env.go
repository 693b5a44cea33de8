package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/shell"
)

// Where the variables can go.
const (
	envShell      = "shell"
	envSystemd    = "systemd"
	envDocker     = "docker"
	envKubernetes = "kubernetes"
)

var envPlaces = []string{envShell, envSystemd + ":UNIT", envDocker, envKubernetes}

// agentFolder is where services of all users find the agent, unless somebody says otherwise.
const agentFolder = "/opt/clrprof"

// The builds of the agent for this machine, by the C library that they are for.
var libcs = map[string]agentbin.Library{"glibc": agentbin.Of(agentbin.MachineHere(), false),
	"musl": agentbin.Of(agentbin.MachineHere(), true)}

// envFlags are the flags of the env command.
type envFlags struct {
	global, shared, agent, libc, copyTo string
	lifetime, json                      bool
}

// dormantEnvironment is what is printed, in each of its forms.
type dormantEnvironment struct {
	Agent     string            `json:"agent"`     // path of the library, as the process sees it
	Shared    string            `json:"shared"`    // directory where the process and clrprof meet
	Variables map[string]string `json:"variables"` // of the environment
	order     [][2]string       // the same
	unit      string            // of systemd
	copy      string            // command that puts the agent there, "": it is there
}

func newEnvCommand(e *environment) *cobra.Command {
	v := &envFlags{}
	cmd := &cobra.Command{
		Use:   "env [flags] [PLACE]",
		Short: "Print the environment variables that let clrprof attach record a service later",
		Long: "Print the environment variables with which a .NET process loads clrprof's agent, and how to remove\n" +
			"them. The process is not recorded until clrprof attach. Nothing is installed or changed.\n\n" +
			"The agent must be a file that the process can read: --copy-agent DIR copies it there. The process\n" +
			"and clrprof share the directory of --shared (" + launch.DefaultDormant + "), which must have room\n" +
			"for what is recorded. The path is the one that the process sees; clrprof finds it in containers, too.\n\n" +
			"With --lifetime, clrprof attach can also record in which generation objects die. Then the process\n" +
			"has no background garbage collection, for its whole life: full collections stop all its threads.",
		Example: "  eval \"$(clrprof env)\" && ./service\n" +
			"  clrprof env systemd:shop.service\n" +
			"  clrprof env systemd:shop.service --lifetime\n" +
			"  clrprof env --copy-agent " + agentFolder + "\n" +
			"  clrprof env docker --libc musl\n" +
			"  clrprof env kubernetes --shared /clrprof\n" +
			"  clrprof env --json",
		Args:      arguments(0, 1),
		ValidArgs: []string{envShell, envDocker, envKubernetes},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if cmd.Flags().Changed("global") {
					return usage("a PLACE and --global say the same: give one of them")
				}
				v.global = args[0]
			}
			return v.run(e)
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.global, "global", envShell, "for whom, as PLACE: "+strings.Join(envPlaces, ", "))
	f.StringVar(&v.shared, "shared", launch.DefaultDormant, "directory that the process and clrprof share, as the "+
		"process sees it")
	f.StringVar(&v.agent, "agent", "", "path of the agent, as the process sees it (default: for shell this user's "+
		"copy, otherwise a file in "+agentFolder+")")
	f.StringVar(&v.libc, "libc", "", "C library of the process: glibc, or musl as in Alpine (default: that of this machine)")
	f.StringVar(&v.copyTo, "copy-agent", "", "copy the agent into this directory, readable by all users, and print "+
		"only its path")
	f.BoolVar(&v.lifetime, "lifetime", false, "let attach follow objects: turns background garbage collection off")
	f.BoolVar(&v.json, "json", false, "print the variables as JSON")
	return cmd
}

func (v *envFlags) run(e *environment) error {
	library := launch.LibraryHere()
	if v.libc != "" {
		known := false
		if library, known = libcs[v.libc]; !known {
			return exit(exitUsage, report.Unknown("--libc", v.libc, []string{"glibc", "musl"}))
		}
	}
	if v.copyTo != "" {
		path, err := agentbin.Copy(library, v.copyTo)
		if errors.Is(err, agentbin.ErrMissing) {
			return exit(exitNotSupported, err)
		}
		if errors.Is(err, safefs.ErrForeign) {
			err = fmt.Errorf("%w, who could replace what services load: choose a folder of this user's or root's", err)
		}
		if err != nil {
			return exit(exitUnwritable, fmt.Errorf("copy the agent: %w", err))
		}
		if err := safefs.Trusted(v.copyTo); err != nil {
			newNotes(e.stderr).say("%v, who could replace what services load: let only this user, or root, write there",
				err)
		}
		return written(printLine(e.stdout, path))
	}
	place, unit, _ := strings.Cut(v.global, ":")
	if !slices.Contains([]string{envShell, envSystemd, envDocker, envKubernetes}, place) ||
		(place == envSystemd) != (unit != "") || strings.ContainsAny(unit, "/\n") {
		return exit(exitUsage, report.Unknown("PLACE", v.global, envPlaces))
	}
	if !filepath.IsAbs(v.shared) || strings.ContainsAny(v.shared, "\n\"") {
		return usage("--shared %q: want an absolute path of a directory", v.shared)
	}
	out, err := v.environment(place, unit, library)
	if err != nil {
		return err
	}
	if v.json {
		encoder := json.NewEncoder(e.stdout)
		encoder.SetIndent("", "  ")
		return written(encoder.Encode(out))
	}
	_, err = io.WriteString(e.stdout, envTexts[place](out))
	return written(err)
}

func printLine(w io.Writer, line string) error {
	_, err := fmt.Fprintln(w, line)
	return err
}

// environment settles where the agent is.
func (v *envFlags) environment(place, unit string, library agentbin.Library) (*dormantEnvironment, error) {
	out := &dormantEnvironment{Agent: v.agent, Shared: v.shared, Variables: map[string]string{}, unit: unit}
	switch {
	case v.agent != "":
		if !filepath.IsAbs(v.agent) || strings.ContainsAny(v.agent, "\n\"") {
			return nil, usage("--agent %q: want an absolute path", v.agent)
		}
	case place == envShell:
		path, err := agentbin.Extract(library, launch.AgentDirectories())
		if errors.Is(err, agentbin.ErrMissing) {
			return nil, exit(exitNotSupported, err)
		}
		if err != nil {
			return nil, exit(exitUnwritable, err)
		}
		out.Agent = path
	default:
		out.Agent = filepath.Join(agentFolder, agentbin.FileName(library))
	}
	if _, err := os.Stat(out.Agent); err != nil && v.agent == "" {
		out.copy = "clrprof env --copy-agent " + agentFolder
		if v.libc != "" {
			out.copy += " --libc " + v.libc
		}
	}
	out.order = launch.DormantVariables(out.Agent, v.shared, v.lifetime)
	for _, x := range out.order {
		out.Variables[x[0]] = x[1]
	}
	return out, nil
}

// envTexts make the text for each place.
var envTexts = map[string]func(*dormantEnvironment) string{envShell: shellText, envSystemd: systemdText,
	envDocker: dockerText, envKubernetes: kubernetesText}

// lines calls format for each variable.
func (d *dormantEnvironment) lines(format func(name, value string) string) string {
	var b strings.Builder
	for _, x := range d.order {
		b.WriteString(format(x[0], x[1]))
	}
	return b.String()
}

// names are the variables' names.
func (d *dormantEnvironment) names() []string {
	var names []string
	for _, x := range d.order {
		names = append(names, x[0])
	}
	return names
}

// first says how the agent gets where it is looked for.
func (d *dormantEnvironment) first() string {
	if d.copy == "" {
		return ""
	}
	return "# First, once: " + d.copy + "\n"
}

func shellText(d *dormantEnvironment) string {
	return "# Start the service in a shell that has these variables; then: clrprof attach PID\n" +
		d.lines(func(name, value string) string {
			return "export " + shell.Line([]string{name + "=" + value}) + "\n"
		}) + "# To remove it: unset " + strings.Join(d.names(), " ") + "\n"
}

func systemdText(d *dormantEnvironment) string {
	folder := "/etc/systemd/system/" + d.unit + ".d"
	return d.first() + "# " + folder + "/clrprof.conf; then: systemctl daemon-reload && systemctl restart " + d.unit + "\n" +
		"[Service]\n" +
		d.lines(func(name, value string) string { return "Environment=\"" + name + "=" + value + "\"\n" }) +
		"# Record it: clrprof attach $(systemctl show --property MainPID --value " + d.unit + ") --for 30s\n" +
		"# To remove it: rm " + folder + "/clrprof.conf && systemctl daemon-reload && systemctl restart " + d.unit + "\n"
}

func dockerText(d *dormantEnvironment) string {
	folder := filepath.Dir(d.Agent)
	options := []string{"-v", folder + ":" + folder + ":ro"}
	for _, x := range d.order {
		options = append(options, "-e", x[0]+"="+x[1])
	}
	return d.first() + "# Add to docker run (an Alpine image needs the agent for musl: --libc musl):\n" +
		shell.Line(options) + "\n" +
		"# The container's " + launch.DefaultDormant + " has 64 MiB by default: --shm-size 1g gives the recording " +
		"more room.\n# Record it, on the host: sudo clrprof attach $(docker inspect --format '{{.State.Pid}}' " +
		"CONTAINER) --for 30s\n# To remove it: start the container without these options.\n"
}

func kubernetesText(d *dormantEnvironment) string {
	folder := filepath.Dir(d.Agent)
	return d.first() +
		"# On each node, or from an init container that copies " + folder + ". Add to the pod's spec:\n" +
		"containers:\n- name: APP\n  env:\n" +
		d.lines(func(name, value string) string { return fmt.Sprintf("  - name: %s\n    value: %q\n", name, value) }) +
		"  volumeMounts:\n" +
		"  - name: clrprof-agent\n    mountPath: " + folder + "\n    readOnly: true\n" +
		"  - name: clrprof-shared\n    mountPath: " + d.Shared + "\n" +
		"volumes:\n" +
		"- name: clrprof-agent\n  hostPath:\n    path: " + folder + "\n- name: clrprof-shared\n  emptyDir:\n    " +
		"medium: Memory\n    sizeLimit: 1Gi\n# Record it from the node, or from a container of the pod that " +
		"shares its process namespace, has clrprof and\n# runs as the same user: clrprof attach PID --for 30s\n" +
		"# To remove it: remove these lines.\n"
}
