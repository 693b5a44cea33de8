package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/cli"
)

// origin says what a release is made from.
type origin struct {
	version string
	commit  string    // 40 hexadecimal digits
	time    time.Time // of the commit: the times of all files
	git     bool      // it is a checkout, not an unpacked archive of sources
}

// versionFile is in archives of sources, where no git is: the Makefile reads it, too.
const versionFile = "version.mk"

var (
	isVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`) // of semver.org, without a build
	isCommit  = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// findOrigin asks git, or reads versionFile.
func findOrigin() (origin, error) {
	o, err := readOrigin()
	if errors.Is(err, os.ErrNotExist) {
		o, err = askGit()
	}
	if err != nil {
		return origin{}, err
	}
	if !isVersion.MatchString(o.version) || !isCommit.MatchString(o.commit) {
		return origin{}, fmt.Errorf("version %q of commit %q: want a tag such as v1.2.3, and a whole commit", o.version,
			o.commit)
	}
	return o, nil
}

// askGit returns the version that the commit is tagged with; otherwise the next one's, and which commit it is.
func askGit() (origin, error) {
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return origin{}, fmt.Errorf("%w (a release is made in a checkout, or from an archive of sources)", err)
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return origin{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return origin{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	changed, err := git("status", "--porcelain")
	if err != nil {
		return origin{}, err
	}
	o := origin{commit: commit, time: time.Unix(unix, 0).UTC(), git: true}
	tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
	switch {
	case err == nil && changed == "":
		o.version = strings.TrimPrefix(tag, "v")
	case changed == "":
		o.version = cli.Version + "-dev.g" + commit[:12]
	default:
		o.version = cli.Version + "-dev.g" + commit[:12] + changedSuffix
	}
	return o, nil
}

// changedSuffix ends versions of checkouts that differ from their commit.
const changedSuffix = ".changed"

// changed says whether the commit is not all that the release is made from.
func (o origin) changed() bool { return strings.HasSuffix(o.version, changedSuffix) }

func git(args ...string) (string, error) {
	out, err := output("git", args...)
	return strings.TrimSpace(out), err
}

// readOrigin reads what makeVersionFile wrote.
func readOrigin() (origin, error) {
	b, err := os.ReadFile(versionFile)
	if err != nil {
		return origin{}, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " := "); ok {
			values[name] = value
		}
	}
	unix, err := strconv.ParseInt(values["SOURCE_DATE_EPOCH"], 10, 64)
	if err != nil {
		return origin{}, fmt.Errorf("reading %s: %w", versionFile, err)
	}
	return origin{version: values["VERSION"], commit: values["COMMIT"], time: time.Unix(unix, 0).UTC()}, nil
}

// makeVersionFile returns the file that says in an archive of sources what they are.
func (o origin) makeVersionFile() []byte {
	return fmt.Appendf(nil, "# What these sources are, where no git can say it.\nVERSION := %s\nCOMMIT := %s\n"+
		"SOURCE_DATE_EPOCH := %d\n", o.version, o.commit, o.time.Unix())
}

// stamp are the linker's flags that put version and commit into the binary.
func (o origin) stamp() string {
	const variable = " -X github.com/clrprof/clrprof/internal/cli."
	return variable + "Version=" + o.version + variable + "Commit=" + o.commit
}
