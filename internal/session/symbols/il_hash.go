package symbols

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/session"
)

// ilHashBytes is how much of a hash is stored: of the million methods of a very large program no two have it by chance.
const ilHashBytes = 8

// hashBodies begins to hash the code of the functions of user code, which programs call otherwise from build to build,
// unlike those of the framework, and returns what waits for that and notes it. Meanwhile it only reads the file.
func (r *resolver) hashBodies(f *moduleFile, c *code) (note func()) {
	functions := map[clrmeta.Token][]int{} // generic functions have a row for each instantiation
	for _, i := range f.functions {
		row := &r.out.Functions[i]
		if r.in.ReadCode && f.meta != nil && row.Kind == session.FunctionMethod && r.isUser(row.Module) {
			functions[clrmeta.Token(row.Token)] = append(functions[clrmeta.Token(row.Token)], i)
		}
	}
	if len(functions) == 0 || !r.hasCode(f, c) {
		return func() {}
	}
	hashed, of := make(chan map[clrmeta.Token]string, 1), *c
	go func() {
		hashes := make(map[clrmeta.Token]string, len(functions))
		for token := range functions {
			hashes[token] = hashIL(f.meta, &of, token)
		}
		hashed <- hashes
	}()
	return func() {
		for token, hash := range <-hashed {
			for _, i := range functions[token] {
				r.out.Functions[i].ILHash = hash
			}
		}
	}
}

// hashIL returns the number of instructions of a method and a hash of them, of its exception clauses and of its
// signature: "12-9f86d081884c7d65". Tokens, which are others in each build, count as the names of what they refer to,
// and texts in the code do not count: from the hash of a method that returns a password it could be guessed. "": the
// method has no code, or code that cannot be read.
func hashIL(meta *clrmeta.Metadata, c *code, method clrmeta.Token) string {
	body, err := il.ReadBody(c.body(method))
	if err != nil {
		return ""
	}
	row, err := meta.Method(method)
	if err != nil {
		return ""
	}
	h := newTokenNames(meta, method)
	text, instructions := h.signature(nil, row.Signature), 0
	for at := 0; at < len(body.Code); instructions++ {
		i, err := il.Read(body.Code, at)
		if err != nil {
			return ""
		}
		at = i.Next
		text = binary.LittleEndian.AppendUint16(text, uint16(i.Op))
		switch {
		case i.Op == il.OpLdstr:
		case i.HasToken():
			text = append(h.token(text, clrmeta.Token(i.Token())), 0)
		default:
			text = append(text, i.Operand...)
		}
	}
	for _, clause := range body.Clauses {
		for _, n := range []int{int(clause.Kind), clause.Try, clause.TryEnd, clause.Handler, clause.HandlerEnd} {
			text = binary.LittleEndian.AppendUint32(text, uint32(n))
		}
		if clause.Kind == il.Catch {
			text = append(h.token(text, clrmeta.Token(clause.Token)), 0)
		}
	}
	sum := sha256.Sum256(text)
	return strconv.Itoa(instructions) + "-" + hex.EncodeToString(sum[:ilHashBytes])
}

// tokenNames write what the tokens in a method's code refer to so that they stay the same where the method, or the
// class that it is in, gets another name or namespace.
type tokenNames struct {
	meta   *clrmeta.Metadata
	method clrmeta.Token
	owner  []string // path of the class that a programmer wrote around the method
}

func newTokenNames(meta *clrmeta.Metadata, method clrmeta.Token) *tokenNames {
	h := &tokenNames{meta: meta, method: method}
	if owner, err := meta.DeclaringType(method); err == nil {
		if name, err := meta.TypeName(owner); err == nil {
			h.owner = slices.DeleteFunc(name.Path, func(part string) bool { return strings.HasPrefix(part, "<") })
		}
	}
	return h
}

var (
	madeFrom   = regexp.MustCompile(`<[^<>]*>`) // the name of the method that a compiler made something of
	madeNumber = regexp.MustCompile(`\d+`)
)

// made drops from a name that a compiler made what changes with the name and the place of what it was made of.
func made(name string) string {
	if !strings.Contains(name, "<") {
		return name
	}
	return madeNumber.ReplaceAllString(madeFrom.ReplaceAllString(name, "<>"), "")
}

// typeName names a type of this module without its namespace, and the method's own class by a sign.
func (h *tokenNames) typeName(t clrmeta.Token) string {
	if t.Table() == clrmeta.TableTypeSpec {
		sig, err := h.meta.TypeSpec(t)
		if err != nil {
			return "?"
		}
		return string(sig.AppendText(nil, h.typeName))
	}
	name, err := h.meta.TypeName(t)
	switch {
	case err != nil:
		return "?"
	case t.Table() == clrmeta.TableTypeRef:
		return name.String()
	}
	path := name.Path
	if n := len(h.owner); n > 0 && len(path) >= n && slices.Equal(path[:n], h.owner) {
		path = slices.Concat([]string{"."}, path[n:])
	}
	return made(strings.Join(path, "/"))
}

// signature appends the signature of a method; what is none, such as that of a field, says nothing.
func (h *tokenNames) signature(text, blob []byte) []byte {
	sig, err := clrmeta.ParseMethodSig(blob)
	if err != nil {
		return text
	}
	return sig.AppendText(text, h.typeName)
}

// token appends what a token refers to.
func (h *tokenNames) token(text []byte, t clrmeta.Token) []byte {
	if t == h.method {
		return append(text, '.')
	}
	switch t.Table() {
	case clrmeta.TableTypeDef, clrmeta.TableTypeRef, clrmeta.TableTypeSpec:
		return append(text, h.typeName(t)...)
	case clrmeta.TableField:
		owner, err := h.meta.FieldOwner(t)
		name, nameErr := h.meta.FieldName(t)
		if err != nil || nameErr != nil {
			return append(text, '?')
		}
		return append(append(append(text, h.typeName(owner)...), ' '), made(name)...)
	}
	callee, err := h.meta.Callee(t)
	if err != nil {
		return append(text, '?')
	}
	if callee.Type != 0 {
		text = append(append(text, h.typeName(callee.Type)...), ' ')
	}
	text = h.signature(append(text, made(callee.Name)...), callee.Signature)
	if t.Table() != clrmeta.TableMethodSpec {
		return text
	}
	if args, err := h.meta.TypeArguments(t); err == nil {
		for i := range args {
			text = args[i].AppendText(append(text, '<'), h.typeName)
		}
	}
	return text
}
