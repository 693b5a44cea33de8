package dotnettest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// language is one that programs are written in, by the extension of its files.
type language string

const (
	csharp      language = ".cs"
	fsharp      language = ".fs"
	visualBasic language = ".vb"
)

// Framework is what a program is compiled for, as the SDK calls it. The zero value
// is .NET Core 3.1, and such a program runs on every runtime.
type Framework string

// The frameworks to compile for. All but the first need an SDK with the reference
// assemblies; C# is then that of the SDK, 14 or later.
const (
	NetCore31 Framework = ""
	Net8      Framework = "net8.0"
	Net10     Framework = "net10.0"
)

// tfm is the framework's name in full.
func (f Framework) tfm() string {
	if f == NetCore31 {
		return "netcoreapp3.1"
	}
	return string(f)
}

// version is the framework's, such as "10.0".
func (f Framework) version() string {
	return strings.TrimPrefix(strings.TrimPrefix(f.tfm(), "netcoreapp"), "net")
}

// errNoSDK means that the machine has no SDK that can compile what was asked for.
var errNoSDK = errors.New("needs an SDK of .NET 10 or later (set " + rootsVariable +
	" or DOTNET_ROOT, or put dotnet on the PATH)")

// toolchain is a compiler with the libraries of a framework.
type toolchain struct {
	version string   // of the SDK
	command []string // dotnet first, for arguments to follow
	dash    string   // with which its options begin
	flags   []string // of the compiler, always
	refs    []string // reference assemblies
	beside  []string // what a program needs in its directory
	env     []string
	server  []string // options that have a server compile; a compiler that has none compiles itself
}

// serverSeconds is how long a server of the compiler waits for more to compile before it ends: longer than most tests
// run, so that the next one of a package finds it, and short enough that nobody wonders what is left.
const serverSeconds = 60

// compilerServer returns the options with which the C# compiler leaves its work to its server, which it starts if there
// is none. The second program is so compiled in a fifth of the time, because the compiler's code is then compiled too.
// Each compiler of each cache has a server of its own. If none can be started the compiler compiles itself.
func (in *Install) compilerServer(csc string) []string {
	key := sha256.Sum256([]byte(in.cache + "\n" + csc))
	return []string{"-shared:clrprof-" + hex.EncodeToString(key[:8]), fmt.Sprintf("-keepalive:%d", serverSeconds)}
}

// serverEnv is what the server needs to start on the runtime of the compiler.
func serverEnv(dotnet string) []string {
	return []string{"DOTNET_HOST_PATH=" + dotnet, "DOTNET_ROLL_FORWARD=Major"}
}

// toolchainFor returns what compiles a language for a framework: for .NET Core 3.1
// C# is always compiled by the same old compiler, so that the same program comes
// out on every machine.
func (in *Install) toolchainFor(l language, o Options) (toolchain, error) {
	if o.Framework == NetCore31 && l == csharp {
		libraries := in.Ref()
		if o.Trimmed != "" {
			libraries = in.singleReferences(o.Trimmed)
		}
		refs, err := filepath.Glob(filepath.Join(libraries, "*.dll"))
		return toolchain{
			version: sdkVersion, command: in.oldCompiler(in.Net9()), dash: "-",
			env: in.Net9().Env(serverEnv(in.Net9().Dotnet)...), server: in.compilerServer(in.CSC()),
			flags: []string{"-nologo", "-nostdlib", "-noconfig", "-utf8output", "-langversion:8"}, refs: refs,
		}, err
	}
	sdk, ok := in.NewestSDK()
	if !ok {
		return toolchain{}, fmt.Errorf("%s for %s %w", l, o.Framework.tfm(), errNoSDK)
	}
	tc := toolchain{
		version: sdk.Version, command: []string{sdk.Dotnet(), "exec", sdk.compiler(l)},
		env: newRuntime("", sdk.Root).Env(serverEnv(sdk.Dotnet())...), dash: "-",
		flags: []string{"-nologo", "-nostdlib", "-noconfig", "-utf8output", "-langversion:latest"},
	}
	frameworks := []string{coreFramework}
	if o.Web {
		frameworks = append(frameworks, webFramework)
	}
	for _, f := range frameworks {
		refs, err := sdk.references(f, o.Framework)
		if err != nil {
			return toolchain{}, err
		}
		tc.refs = append(tc.refs, refs...)
	}
	switch l {
	case csharp:
		tc.server = in.compilerServer(sdk.compiler(csharp))
	case fsharp:
		core := filepath.Join(filepath.Dir(sdk.compiler(fsharp)), "FSharp.Core.dll")
		tc.dash = "--"
		tc.flags = []string{"--nologo", "--noframework", "--targetprofile:netcore", "--utf8output",
			"--langversion:latest", "--simpleresolution"}
		tc.refs, tc.beside = append(tc.refs, core), []string{core}
	case visualBasic:
		tc.flags = append(tc.flags, `-define:_MyType="Empty"`) // there is no My of a console
		for _, r := range tc.refs {
			if filepath.Base(r) == "Microsoft.VisualBasic.Core.dll" {
				tc.flags = append(tc.flags, "-vbruntime:"+r)
			}
			if filepath.Base(r) == "mscorlib.dll" {
				tc.flags = append(tc.flags, "-sdkpath:"+filepath.Dir(r))
			}
		}
	}
	return tc, nil
}

// references returns the reference assemblies of a framework in the SDK's root,
// of any patch version.
func (s SDK) references(framework string, f Framework) ([]string, error) {
	pattern := filepath.Join(s.Root, "packs", framework+".Ref", f.version()+".*", "ref", f.tfm(), "*.dll")
	refs, err := filepath.Glob(pattern)
	if err == nil && len(refs) == 0 {
		err = fmt.Errorf("no reference assemblies in %s: %w", pattern, errNoSDK)
	}
	return refs, err
}

// oldCompiler is the C# 8 compiler on a runtime. On 3.1.2 it would need OpenSSL 1.1.
func (in *Install) oldCompiler(r Runtime) []string {
	return []string{r.Dotnet, "exec", "--roll-forward", "Major", in.CSC()}
}
