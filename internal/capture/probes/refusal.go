package probes

import (
	"encoding/binary"

	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/wire"
)

// Refusal says why no probes are put into a method's IL, as the agent numbers it (enum il_result in agent/src/il/il.h).
type Refusal uint32

// The refusals of the rewriter. None: probes can be put into it.
const (
	None Refusal = iota
	Malformed
	Unknown
	TooLarge
	Jump
	Varargs
	Tail
)

// The refusals that only a running program shows.
const (
	NoSignature Refusal = wire.NotProbedSignature
	NotTaken    Refusal = wire.NotProbedRefused
	Elsewhere   Refusal = wire.NotProbedElsewhere
	Running     Refusal = wire.NotProbedRunning
	Changeable  Refusal = wire.NotProbedChangeable
	MadeInline  Refusal = wire.NotProbedMade
)

// refusals says in words why.
var refusals = [...]string{
	Malformed:   "its IL contradicts itself",
	Unknown:     "its IL has an instruction or a clause that is not in the standard",
	TooLarge:    "its IL is larger than 262,144 bytes, or needs a stack deeper than 65,533",
	Jump:        "it ends with the instruction jmp",
	Varargs:     "it takes a variable number of arguments (arglist)",
	NoSignature: "the metadata of its module take no new signature",
	NotTaken:    "the runtime did not take its IL with probes, or there was no memory",
	Elsewhere: "code of it may run already that nobody can find: it can be unloaded, is made at run time, or precompiled " +
		"code does not say what is inlined in it",
	Running: "it ran when the recording began, and is recorded from its next call on",
	Changeable: "its module can be changed while it runs, by hot reload (DOTNET_MODIFIABLE_ASSEMBLIES=debug), which probes " +
		"would keep it from",
	MadeInline: "its calls in methods that are made at run time may be missing: these keep what the compiler has inlined; its " +
		"other calls are recorded",
	Tail: "it has the prefix tail. before what is no call and return",
}

// String says why, in words that go on after a colon; "" for None and what is no refusal.
func (r Refusal) String() string {
	if int(r) < len(refusals) {
		return refusals[r]
	}
	return ""
}

// Limits of the rewriter.
const (
	maxBody  = 1 << 20
	maxCode  = 1 << 18
	maxStack = 1<<16 - 1 - probeStack
)

// Refuse says whether the agent's rewriter refuses a body, and why: the rules written a second time.
func Refuse(b []byte) Refusal {
	if len(b) > maxBody {
		return TooLarge
	}
	if len(b) > 0 && b[0]&3 != 2 && b[0]&3 != 3 {
		return Unknown
	}
	body, sections, err := il.ReadHead(b)
	if err != nil || len(body.Code) == 0 {
		return Malformed
	}
	if len(body.Code) > maxCode || body.MaxStack > maxStack {
		return TooLarge
	}
	c := checker{code: body.Code, starts: make([]bool, len(body.Code)+1), inTail: make([]bool, len(body.Code)+1)}
	if r := c.checkCode(); r != None {
		return r
	}
	for _, target := range c.targets {
		if !c.isStart(target) {
			return Malformed
		}
	}
	return c.checkSections(b, sections)
}

// probeStack is how much deeper the stack is while a probe is called.
const probeStack = 2

// checker is what is known of a body's code on the way.
type checker struct {
	code    []byte
	starts  []bool // of instructions that have no prefix, and of the first prefix of others
	inTail  []bool // returns of calls with tail.
	targets []int  // of branches
}

func (c *checker) isStart(at int) bool { return at >= 0 && at < len(c.code) && c.starts[at] }

func (c *checker) checkCode() Refusal {
	prefixed, tail := false, false
	for at := 0; at < len(c.code); {
		i, err := il.Read(c.code, at)
		if err != nil {
			return Unknown
		}
		c.starts[at] = !prefixed
		switch {
		case i.Op == il.OpJmp:
			return Jump
		case i.Op == il.OpArglist:
			return Varargs
		case i.IsPrefix():
			prefixed, tail = true, tail || i.Op == il.OpTail
			at = i.Next
			continue
		case prefixed && (i.Op == il.OpRet || i.Op == il.OpSwitch || i.IsBranch()):
			return Malformed
		case tail && (!i.IsCall() || i.Op == il.OpNewobj || i.Next >= len(c.code) || c.code[i.Next] != il.OpRet):
			return Tail
		}
		if tail {
			c.inTail[i.Next] = true
		}
		c.targets = append(c.targets, i.Targets...)
		prefixed, tail = false, false
		at = i.Next
	}
	if prefixed {
		return Malformed
	}
	return None
}

// checkSections reads the sections behind the code, of which the first is at an offset; 0: there is none.
func (c *checker) checkSections(b []byte, at int) Refusal {
	for more := at != 0; more; {
		at = (at + 3) &^ 3
		if at > len(b) || len(b)-at < 4 {
			return Malformed
		}
		kind, size, each := b[at], int(b[at+1]), 12
		if kind&il.SectFat != 0 {
			size, each = int(binary.LittleEndian.Uint32(b[at:])>>8), 24
		}
		if kind&il.SectKind != 1 {
			return Unknown
		}
		n := size / each
		if len(b)-at < 4+n*each || len(b)-at < max(size, 4) {
			return Malformed
		}
		for i := range n {
			if r := c.checkClause(il.ReadClause(b[at+4+i*each:], kind&il.SectFat != 0)); r != None {
				return r
			}
		}
		at += max(size, 4)
		more = kind&il.SectMore != 0
	}
	return None
}

func (c *checker) checkClause(x il.Clause) Refusal {
	if x.Kind != il.Catch && x.Kind != il.Filter && x.Kind != il.Finally && x.Kind != il.Fault {
		return Unknown
	}
	begins := func(at int) bool { return c.isStart(at) && !c.inTail[at] }
	ends := func(at int) bool { return begins(at) || at == len(c.code) }
	if begins(x.Try) && ends(x.TryEnd) && begins(x.Handler) && ends(x.HandlerEnd) && x.Try < x.TryEnd &&
		x.Handler < x.HandlerEnd && (x.Kind != il.Filter || begins(int(x.Token))) {
		return None
	}
	return Malformed
}
