package il

import "testing"

// calls has the signature of a function in its token: how many arguments it takes, 0x100 if it returns a value, 0x200 if
// it is called on an object.
func calls(token uint32) (Signature, error) {
	return Signature{Args: int(token & 0xFF), Returns: token&0x100 != 0, This: token&0x200 != 0}, nil
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name    string
		code    []byte
		max     int
		returns bool
		depth   int // -1: it is invalid
	}{
		{"nothing", []byte{OpRet}, 0, false, 0},
		{"a value", []byte{0x16, OpRet}, 1, true, 1},
		{"too deep", []byte{0x16, OpRet}, 0, true, -1},
		{"no value", []byte{OpRet}, 1, true, -1},
		{"a value that is left", []byte{0x16, OpRet}, 1, false, -1},
		{"a call", []byte{0x16, 0x16, OpCall, 2, 1, 0, 6, OpRet}, 2, true, 2},
		{"a call with too little", []byte{0x16, OpCall, 2, 1, 0, 6, OpRet}, 2, true, -1},
		{"an object", []byte{0x16, OpNewobj, 2, 2, 0, 6, OpRet}, 1, true, 1},
		{"a function pointer", []byte{0x16, 0x16, OpCalli, 1, 0, 0, 0x11, OpRet}, 2, false, 2},
		{"ways that meet", []byte{0x16, 0x2C, 1, 0x16, OpRet}, 1, false, -1},
		{"an end without a return", []byte{0x00}, 0, false, -1},
		{"a loop that grows", []byte{0x16, 0x2B, 0xFD}, 8, false, -1},
		{"code that is not reached", []byte{OpRet, 0x26}, 0, false, 0},
	} {
		depth, err := Verify(&Body{MaxStack: c.max, Code: c.code}, c.returns, calls)
		if (err != nil) != (c.depth < 0) || err == nil && depth != c.depth {
			t.Errorf("%s: depth %d, %v; want %d", c.name, depth, err, c.depth)
		}
	}
}
