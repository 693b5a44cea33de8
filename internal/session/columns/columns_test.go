package columns

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// blocks draws a block of small and of extreme values.
func blocks() *rapid.Generator[*Block] {
	return rapid.Custom(func(t *rapid.T) *Block {
		rows, columns := rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "columns")
		value := rapid.OneOf(rapid.Int64Range(-3, 300), rapid.Int64(),
			rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0}))
		b := &Block{Texts: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "texts")}
		near := rapid.Int64Range(0, 30) // differences of one byte, several of which are decoded at once
		for range columns {
			same := rapid.Custom(func(t *rapid.T) []int64 {
				return slices.Repeat([]int64{value.Draw(t, "all")}, rows)
			})
			column := rapid.OneOf(rapid.SliceOfN(value, rows, rows), rapid.SliceOfN(near, rows, rows), same)
			b.Columns = append(b.Columns, column.Draw(t, "column"))
		}
		return b
	})
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := blocks().Draw(t, "block")
		data, err := want.Append([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(data[len("before"):], want.Rows(), len(want.Columns))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Block{})); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
		first, some := rapid.IntRange(0, len(want.Columns)).Draw(t, "first"), &Block{}
		err = some.DecodeFirst(data[len("before"):], want.Rows(), len(want.Columns), first)
		if err != nil || !slices.EqualFunc(some.Columns, want.Columns[:first], slices.Equal) {
			t.Fatalf("the first %d columns are %v: %v", first, some.Columns, err)
		}
		wanted := rapid.SliceOfN(rapid.Bool(), len(want.Columns), len(want.Columns)).Draw(t, "wanted")
		skip, next := func(i int) bool { return wanted[i] }, 0
		if err := EachColumn(data[len("before"):], want.Rows(), len(want.Columns), skip, func(i int, column []int64) {
			for !wanted[next] {
				next++ // is passed over
			}
			if i != next {
				t.Fatalf("column %d, want column %d", i, next)
			}
			narrow := NewNarrow(column)
			for row, v := range want.Columns[i] { // of values that are all the same there is one
				if got := column[min(row, len(column)-1)]; got != v || narrow.At(row) != v {
					t.Fatalf("column %d, row %d: %d, kept %d, want %d", i, row, got, narrow.At(row), v)
				}
			}
			if len(column) != want.Rows() && len(column) != 1 {
				t.Fatalf("column %d has %d values, of %d rows", i, len(column), want.Rows())
			}
			next++
		}); err != nil || slices.Contains(wanted[next:], true) {
			t.Fatalf("%d columns of %d: %v", next, len(want.Columns), err)
		}
	})
}

// all wants all columns.
func all(int) bool { return true }

// TestNearlySame: a column of which one value differs, whichever it is, is not taken for one whose values are all the
// same.
func TestNearlySame(t *testing.T) {
	for rows := 1; rows < 40; rows++ {
		for other := range rows {
			column := slices.Repeat([]int64{300}, rows)
			column[other] = 299
			data, err := (&Block{Columns: [][]int64{column, column}}).Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := EachColumn(data, rows, 2, all, func(i int, got []int64) {
				if !slices.Equal(got, column) {
					t.Errorf("column %d is %v, want %v", i, got, column)
				}
			}); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPassedOver: a column that is not wanted is refused whenever it would be if it were, however long its values are.
func TestPassedOver(t *testing.T) {
	none := func(int) bool { return false }
	rapid.Check(t, func(t *rapid.T) {
		rows, data := rapid.IntRange(1, 40).Draw(t, "rows"), []byte{0}
		for range rows {
			longest := rapid.SampledFrom([]int{0, 1, 8, 9, 10, 11}).Draw(t, "bytes")
			data = append(data, slices.Repeat([]byte{0x80}, rapid.IntRange(0, longest).Draw(t, "more"))...)
			data = append(data, rapid.ByteRange(0, 2).Draw(t, "last"))
		}
		data = data[:len(data)-rapid.IntRange(0, 1).Draw(t, "cut off")]
		wanted := EachColumn(data, rows, 1, all, func(int, []int64) {})
		if err := EachColumn(data, rows, 1, none, nil); (err == nil) != (wanted == nil) {
			t.Fatalf("% x: %v if it is passed over, else %v", data, err, wanted)
		}
	})
}

// TestFormat pins the bytes: files keep them.
func TestFormat(t *testing.T) {
	b := &Block{Texts: []string{"gcs", "é"}, Columns: [][]int64{{1, 2, 3}, {100, 36, 36}, {0, 1, 0}}}
	data, err := b.Append(nil)
	want := []byte{2, 3, 'g', 'c', 's', 2, 0xc3, 0xa9, 2, 2, 2, 0xc8, 0x01, 0x7f, 0, 0, 2, 1}
	if err != nil || string(data) != string(want) {
		t.Errorf("% x, want % x (%v)", data, want, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		data          string
		rows, columns int
	}{
		"nothing":           {"", 0, 0},
		"too few values":    {"\x00\x02", 2, 1},
		"too many values":   {"\x00\x02\x02", 1, 1},
		"a cut value":       {"\x00\x02\x80", 2, 1},
		"a value too long":  {"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1, 1},
		"a text too long":   {"\x01\x7fab", 0, 0},
		"many texts":        {"\xff\xff\x03", 0, 0},
		"text not UTF-8":    {"\x01\x01\xff", 0, 0},
		"negative":          {"\x00", -1, 1},
		"rows out of range": {"\x00", math.MaxInt, 2},
	} {
		if b, err := decode([]byte(tt.data), tt.rows, tt.columns); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
	if _, err := (&Block{Columns: [][]int64{make([]int64, MaxRows+1)}}).Append(nil); err == nil {
		t.Error("a block with too many rows is encoded")
	}
}

// FuzzDecode: whatever the bytes, there is a block that encodes to something that decodes to it, or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{2, 3, 'g', 'c', 's', 2, 0xc3, 0xa9, 2, 2, 2, 0xc8, 0x01, 0x7f, 0, 0, 2, 1}, 3, 3)
	f.Add([]byte{0}, 0, 4)
	f.Add([]byte{0, 0x80, 0x80, 0x01}, 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, rows, columns int) {
		b, err := decode(data, rows, columns)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := b.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(again, rows, columns)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b, got, cmpopts.IgnoreUnexported(Block{})); d != "" {
			t.Errorf("-first +second:\n%s", d)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	block := &Block{Columns: make([][]int64, 4)}
	for c := range block.Columns {
		for i := range 1 << 16 {
			block.Columns[c] = append(block.Columns[c], int64(i*(c+1)%1000))
		}
	}
	data, err := block.Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decode(data, block.Rows(), len(block.Columns)); err != nil {
			b.Fatal(err)
		}
	}
}
