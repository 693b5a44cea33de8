package recording

import (
	"math"

	"github.com/clrprof/clrprof/internal/quantity"
)

// amounts is what each site had of something when it was last looked at, by index. There can be some million sites,
// most of them with small numbers or, of one generation, with nothing: they take 8 bytes each, and none where all of
// a page have nothing.
type amounts struct {
	pages []*amountPage
	large map[int]quantity.Amount // those that a smallAmount does not hold
}

// sitesOfPage is few, so that what is rare, such as large objects, takes few pages.
const sitesOfPage = 64

type amountPage [sitesOfPage]smallAmount

type smallAmount struct{ objects, bytes uint32 }

// isLarge stands for an amount that is kept apart.
var isLarge = smallAmount{math.MaxUint32, math.MaxUint32}

func (a *amounts) at(i int) quantity.Amount {
	page := i / sitesOfPage
	if page >= len(a.pages) || a.pages[page] == nil {
		return quantity.Amount{}
	}
	x := a.pages[page][i%sitesOfPage]
	if x == isLarge {
		return a.large[i]
	}
	return quantity.Amount{Allocations: quantity.Count(x.objects), Bytes: quantity.Bytes(x.bytes)}
}

func (a *amounts) set(i int, v quantity.Amount) {
	page := i / sitesOfPage
	for page >= len(a.pages) {
		a.pages = append(a.pages, nil)
	}
	if a.pages[page] == nil {
		if v.IsZero() {
			return
		}
		a.pages[page] = new(amountPage)
	}
	x := &a.pages[page][i%sitesOfPage]
	if *x == isLarge {
		delete(a.large, i)
	}
	*x = smallAmount{uint32(v.Allocations), uint32(v.Bytes)}
	if v.Allocations != quantity.Count(x.objects) || v.Bytes != quantity.Bytes(x.bytes) || *x == isLarge {
		if a.large == nil {
			a.large = map[int]quantity.Amount{}
		}
		a.large[i], *x = v, isLarge
	}
}
