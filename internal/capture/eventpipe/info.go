package eventpipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf16"
)

// Info is what a runtime says of its process. Everything is as the process has it: its arguments, for example, may
// stand there otherwise than they were given.
type Info struct {
	CommandLine  string
	OS           string // "Linux"
	Architecture string // "x64", "arm64"
	Entry        string // the name of the assembly with Main, "" as long as there is none, and from .NET Core 3.1 and 5
	Version      string // of the runtime, "10.0.1"; "" from .NET Core 3.1 and 5
	RID          string // "linux-x64", "linux-musl-arm64"; "" from .NET 7 and before
}

// The commands ProcessInfo, ProcessInfo2 and ProcessInfo3 (documentation/design-docs/ipc-protocol.md of
// dotnet/diagnostics).
const (
	setProcess   = 4
	processInfo  = 0
	processInfo2 = 4
	processInfo3 = 8

	maxInfo   = 1<<16 - 1 // bytes of an answer, whose length has 16 bits
	infoStart = 8 + 16    // the process's id, and a cookie
)

// infoCommands are the commands, the newest first, with what stands before the id, and how many texts there are.
var infoCommands = []struct {
	command       byte
	skip, strings int
}{{processInfo3, 4, 6}, {processInfo2, 0, 5}, {processInfo, 0, 3}}

// Describe asks the runtime of a process what it is, for at most so long. An error wraps ErrNoSocket if the process
// cannot be asked.
func Describe(pid int, within time.Duration) (Info, error) {
	var err error
	for _, c := range infoCommands {
		var info Info
		info, err = describe(pid, c.command, c.skip, c.strings, within)
		if !errors.Is(err, ErrRefused) { // runtimes refuse commands that they do not know
			return info, err
		}
	}
	return Info{}, err
}

func describe(pid int, command byte, skip, texts int, within time.Duration) (info Info, err error) {
	conn, err := dial(pid)
	if err != nil {
		return Info{}, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return Info{}, err
	}
	request := make([]byte, headerBytes)
	putHeader(request, setProcess, command)
	if _, err := conn.Write(request); err != nil {
		return Info{}, fmt.Errorf("asking the runtime: %w", err)
	}
	body, err := readAnswer(conn, maxInfo)
	if err != nil {
		return Info{}, err
	}
	return decodeInfo(body, skip, texts)
}

func decodeInfo(body []byte, skip, texts int) (Info, error) {
	if len(body) < skip+infoStart {
		return Info{}, fmt.Errorf("the runtime describes its process in %d bytes", len(body))
	}
	rest := body[skip+infoStart:]
	var info Info
	for _, to := range []*string{&info.CommandLine, &info.OS, &info.Architecture, &info.Entry, &info.Version,
		&info.RID}[:texts] {
		var err error
		if *to, rest, err = cutText(rest); err != nil {
			return Info{}, err
		}
	}
	return info, nil
}

// cutText takes a text off, as appendText puts it.
func cutText(b []byte) (string, []byte, error) {
	if len(b) < 4 {
		return "", nil, errors.New("the runtime's description of its process ends too soon")
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n > len(b)/2 {
		return "", nil, fmt.Errorf("a text of %d characters in the %d bytes that the runtime sent", n, len(b))
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	if n > 0 && units[n-1] == 0 {
		units = units[:n-1]
	}
	return string(utf16.Decode(units)), b[2*n:], nil
}
