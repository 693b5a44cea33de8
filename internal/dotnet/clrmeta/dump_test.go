package clrmeta_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// dumpProgram compiles testdata/Dump.cs, the reader to compare with.
func dumpProgram(t *testing.T) (*dotnettest.Install, string) {
	t.Helper()
	in := dotnettest.Need(t)
	dll, err := in.Compile([]string{"testdata/Dump.cs"}, "", dotnettest.Options{Name: "Dump"})
	if err != nil {
		t.Fatal(err)
	}
	return in, dll
}

// assemblies lists files to read: those of both frameworks, of the compiler, and
// of an application with many libraries, which were made by different compilers
// and linkers over ten years.
func assemblies(t *testing.T, in *dotnettest.Install) []string {
	t.Helper()
	var files []string
	for _, root := range []string{in.Root9(), in.Root31(), filepath.Dir(in.MCP())} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".dll" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		files = files[:0]
		for _, root := range []string{in.Root9(), in.Root31()} {
			found, err := filepath.Glob(root + "/shared/Microsoft.NETCore.App/*/System.Private.CoreLib.dll")
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		t.Fatal("no assemblies to read")
	}
	return files
}

// TestEqualsMicrosoftsReader reads every name, signature and size of IL of several hundred
// assemblies, ReadyToRun images among them, and compares each with what
// System.Reflection.Metadata reads.
func TestEqualsMicrosoftsReader(t *testing.T) {
	in, dump := dumpProgram(t)
	files := assemblies(t, in)
	cmd := in.Net9().Command(dump, append([]string{"metadata"}, files...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := compare(t, files, out)
	if t.Failed() {
		cmd.Process.Kill() // its output is of no more use
	}
	if err := cmd.Wait(); err != nil && !t.Failed() {
		t.Fatal(err)
	}
	t.Logf("%d files, %d equal lines", len(files), lines)
}

// compare reads the files and holds each line against the truth. It stops at the
// first file that differs.
func compare(t *testing.T, files []string, truth io.Reader) (lines int) {
	scanner := bufio.NewScanner(truth)
	scanner.Buffer(nil, 1<<20)
	for _, file := range files {
		var have bytes.Buffer
		fmt.Fprintf(&have, "file %s\n", file)
		if err := dumpFile(&have, file); err != nil {
			t.Errorf("%s: %v", file, err)
			return lines
		}
		for line := range strings.Lines(have.String()) {
			line = strings.TrimSuffix(line, "\n")
			if !scanner.Scan() {
				t.Errorf("%s: have %q, want no more", file, line)
				return lines
			}
			if scanner.Text() != line {
				t.Errorf("%s:\nhave %s\nwant %s", file, line, scanner.Text())
				return lines
			}
			lines++
		}
	}
	if scanner.Scan() {
		t.Errorf("have no more, want %q", scanner.Text())
	}
	return lines
}

// dumpFile writes what Dump.cs writes.
func dumpFile(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	image, err := clrmeta.Open(f, info.Size())
	if err != nil {
		if strings.Contains(err.Error(), clrmeta.ErrNotManaged.Error()) {
			fmt.Fprintln(w, "none")
			return nil
		}
		return err
	}
	if err := dumpMetadata(w, image.Metadata()); err != nil {
		return err
	}
	for row := uint32(1); row <= image.Metadata().Rows(clrmeta.TableMethodDef); row++ {
		t := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		size, err := image.BodySize(t)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "il %s %d\n", hex(t), size)
	}
	return nil
}

func dumpMetadata(w io.Writer, m *clrmeta.Metadata) error {
	mvid, err := m.MVID()
	if err != nil {
		return err
	}
	module, err := m.ModuleName()
	if err != nil {
		return err
	}
	assembly, err := m.AssemblyName()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "module %v %s %s\nassembly %s\n", mvid, module, m.Version(), assembly)
	for row := uint32(1); row <= m.Rows(clrmeta.TableTypeDef); row++ {
		if err := dumpType(w, m, clrmeta.MakeToken(clrmeta.TableTypeDef, row)); err != nil {
			return err
		}
	}
	for row := uint32(1); row <= m.Rows(clrmeta.TableTypeRef); row++ {
		t := clrmeta.MakeToken(clrmeta.TableTypeRef, row)
		name, err := m.TypeName(t)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "typeref %s %v\n", hex(t), name)
	}
	for row := uint32(1); row <= m.Rows(clrmeta.TableTypeSpec); row++ {
		t := clrmeta.MakeToken(clrmeta.TableTypeSpec, row)
		sig, err := m.TypeSpec(t)
		if err != nil {
			return err
		}
		s, err := typeText(m, sig)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "typespec %s %s\n", hex(t), s)
	}
	return dumpCalls(w, m)
}

// dumpCalls writes what references to methods say, and signatures of calls by pointers.
func dumpCalls(w io.Writer, m *clrmeta.Metadata) error {
	for _, table := range []clrmeta.Table{clrmeta.TableMemberRef, clrmeta.TableMethodSpec, clrmeta.TableStandAloneSig} {
		for row := uint32(1); row <= m.Rows(table); row++ {
			t := clrmeta.MakeToken(table, row)
			callee, err := m.Callee(t)
			if err != nil {
				return err
			}
			if kind := callee.Signature[0] & 0xF; kind == 6 || kind == 7 {
				continue // of a field, or of local variables
			}
			sig, err := clrmeta.ParseMethodSig(callee.Signature)
			if err != nil {
				return fmt.Errorf("%v: %w", t, err)
			}
			text, err := methodText(m, sig)
			if err != nil {
				return fmt.Errorf("%v: %w", t, err)
			}
			fmt.Fprintf(w, "call %s %s %s %s %s\n", hex(t), hex(callee.Type), hex(callee.Method), callee.Name, text)
		}
	}
	return nil
}

func hex(t clrmeta.Token) string {
	if t == 0 {
		return "0"
	}
	return fmt.Sprintf("%08x", uint32(t))
}

func dumpType(w io.Writer, m *clrmeta.Metadata, t clrmeta.Token) error {
	name, err := m.TypeName(t)
	if err != nil {
		return err
	}
	generics, err := m.GenericParams(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "type %s %s %v [%s]\n", hex(t), hex(m.Enclosing(t)), name, strings.Join(generics, ","))
	methods, err := m.Methods(t)
	if err != nil {
		return err
	}
	for _, token := range methods {
		if err := dumpMethod(w, m, token); err != nil {
			return err
		}
	}
	return nil
}

func dumpMethod(w io.Writer, m *clrmeta.Metadata, token clrmeta.Token) error {
	method, err := m.Method(token)
	if err != nil {
		return err
	}
	owner, err := m.DeclaringType(token)
	if err != nil {
		return err
	}
	generics, err := m.GenericParams(token)
	if err != nil {
		return err
	}
	sig, err := clrmeta.ParseMethodSig(method.Signature)
	if err != nil {
		return fmt.Errorf("%v: %w", token, err)
	}
	text, err := methodText(m, sig)
	if err != nil {
		return fmt.Errorf("%v: %w", token, err)
	}
	params, err := m.Params(token)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "method %s %s %s [%s] %d %d %s", hex(token), hex(owner), method.Name,
		strings.Join(generics, ","), method.Signature[0], sig.Generics, text)
	for _, p := range params {
		fmt.Fprintf(w, " %d:%d:%s", p.Sequence, p.Flags, p.Name)
		for _, attribute := range m.Attributes(p.Token) {
			text := hex(attribute)
			if attribute.Table() != clrmeta.TableTypeSpec {
				name, err := m.TypeName(attribute)
				if err != nil {
					return err
				}
				text = name.String()
			}
			fmt.Fprint(w, " ", text)
		}
		if p.Sequence == len(sig.Params) && m.TakesParams(token) {
			fmt.Fprint(w, " params")
		}
	}
	fmt.Fprintln(w)
	return nil
}

func methodText(m *clrmeta.Metadata, sig *clrmeta.MethodSig) (string, error) {
	params, err := typeTexts(m, sig.Params)
	if err != nil {
		return "", err
	}
	result, err := typeText(m, &sig.Return)
	return "(" + params + ")" + result, err
}

func typeTexts(m *clrmeta.Metadata, types []clrmeta.TypeSig) (string, error) {
	var parts []string
	for i := range types {
		s, err := typeText(m, &types[i])
		if err != nil {
			return "", err
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " "), nil
}

func typeText(m *clrmeta.Metadata, t *clrmeta.TypeSig) (string, error) {
	s, err := plainText(m, t)
	for i := len(t.Required) - 1; i >= 0 && err == nil; i-- {
		var name clrmeta.TypeName
		name, err = m.TypeName(t.Required[i])
		s = "req{" + name.String() + " " + s + "}"
	}
	return s, err
}

func plainText(m *clrmeta.Metadata, t *clrmeta.TypeSig) (string, error) {
	wrap := func(prefix string) (string, error) {
		s, err := typeText(m, t.Elem)
		return prefix + "{" + s + "}", err
	}
	switch t.Kind {
	case clrmeta.Pointer:
		return wrap("ptr")
	case clrmeta.ByRef:
		return wrap("ref")
	case clrmeta.SZArray:
		return wrap("vec")
	case clrmeta.Pinned:
		return wrap("pinned")
	case clrmeta.Array:
		return wrap(fmt.Sprintf("array%d", t.Rank))
	case clrmeta.Var:
		return fmt.Sprintf("!%d", t.Index), nil
	case clrmeta.MVar:
		return fmt.Sprintf("!!%d", t.Index), nil
	case clrmeta.FnPtr:
		s, err := methodText(m, t.Method)
		return "fn{" + s + "}", err
	case clrmeta.Class, clrmeta.ValueType:
		if t.Token.Table() == clrmeta.TableTypeSpec {
			return "spec:" + hex(t.Token), nil
		}
		name, err := m.TypeName(t.Token)
		return name.String(), err
	case clrmeta.GenericInst:
		name, err := m.TypeName(t.Token)
		if err != nil {
			return "", err
		}
		args, err := typeTexts(m, t.Args)
		return "inst{" + name.String() + " " + args + "}", err
	}
	return fmt.Sprintf("#%x", uint8(t.Kind)), nil
}
