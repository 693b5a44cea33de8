package eventpipe

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
)

// event makes an event; fields are NAME=VALUE.
func event(id uint32, pairs ...string) *Event {
	e := &Event{Provider: Meters, ID: id}
	for _, pair := range append([]string{"sessionId=" + shared}, pairs...) {
		name, value, _ := strings.Cut(pair, "=")
		f := field{name: name, typ: typeString}
		if name == "instrumentId" || name == "count" {
			f.typ = typeInt32
			n, _ := strconv.Atoi(value) // it is one
			e.payload = binary.LittleEndian.AppendUint32(e.payload, uint32(n))
		} else {
			for _, c := range []byte(value + "\x00") {
				e.payload = append(e.payload, c, 0)
			}
		}
		e.fields = append(e.fields, f)
	}
	return e
}

// begun reports that an instrument is published. An id of 0 is that of .NET 8, which has none.
func begun(id int, kind, meter, name string) *Event {
	pairs := []string{"meterName=" + meter, "instrumentName=" + name, "instrumentType=" + kind + "`1", "meterTags=site=n"}
	if id != 0 {
		pairs = append(pairs, fmt.Sprint("instrumentId=", id))
	}
	return event(eventBegin, pairs...)
}

func newInstruments(names ...string) *Instruments {
	return NewInstruments(names, func(meter string) bool { return strings.HasPrefix(meter, "Shop.") }, "c", 100_000_000)
}

// TestInstrumentSums: sums go on over an instrument that is made again, observable counters of .NET 8 have the value that
// was read, and what is no number is counted as lost.
func TestInstrumentSums(t *testing.T) {
	x := newInstruments("Shop.*")
	got := map[string]float64{}
	add := func(e *Event) {
		for _, p := range x.Add(e) {
			got[p.Name+"{"+p.Tags+"}"] = p.Sum + p.Last
		}
	}
	value := func(id uint32, name, rate, sum string) *Event {
		return event(id, "meterName=Shop.A", "instrumentName="+name, "tags=z=1,a=2,3", "rate="+rate, "value="+sum)
	}
	add(begun(0, "Counter", "Shop.A", "made"))
	add(begun(0, "ObservableCounter", "Shop.A", "sold"))
	add(begun(0, "UpDownCounter", "Shop.A", "queue"))
	add(begun(0, "Counter", "Stock", "made")) // nobody wants it
	add(value(eventCounter, "made", "5", "5"))
	add(value(eventCounter, "sold", "", "10"))
	add(value(eventCounter, "sold", "0", "20")) // .NET 8 adds up what it reads
	add(value(eventCounter, "sold", "2.5", "32.5"))
	add(value(eventUpDown, "queue", "7", "7"))
	add(value(eventUpDown, "queue", "-9", "-2"))
	add(value(eventUpDown, "queue", "NaN", "NaN"))
	add(event(eventEnd, "meterName=Shop.A", "instrumentName=made"))
	add(begun(0, "Counter", "Shop.A", "made"))
	add(value(eventCounter, "made", "4", "4"))
	add(value(eventCounter, "unknown", "4", "4"))
	x.Finish()
	want := map[string]float64{"made{a=2,3,site=n,z=1}": 9, "sold{a=2,3,site=n,z=1}": 12.5, "queue{a=2,3,site=n,z=1}": -2}
	if !maps.Equal(got, want) || x.Lost() != 2 {
		t.Errorf("%v, want %v; lost %d", got, want, x.Lost())
	}
	if said := strings.Join(x.Troubles(), "; "); said != "Shop.A/made was disposed of: what it measured since its "+
		"last sample is missing" {
		t.Error(said)
	}
}

// TestInstrumentOrder: a value that comes before the beginning of its instrument, or after its end, as events of different
// threads do, is taken; one whose instrument never begins is lost.
func TestInstrumentOrder(t *testing.T) {
	x := newInstruments("Shop.*")
	got := map[string]float64{}
	at := func(seconds int, e *Event) *Event {
		e.Time = quantity.Nanoseconds(seconds) * 1_000_000_000
		return e
	}
	add := func(seconds int, e *Event) {
		for _, p := range x.Add(at(seconds, e)) {
			got[p.Name+"{"+p.Tags+"}"] = p.Sum
		}
	}
	value := func(id int, tags, rate string) *Event {
		return event(eventCounter, "meterName=Shop.A", "instrumentName=made", fmt.Sprint("instrumentId=", id),
			"tags="+tags, "rate="+rate)
	}
	add(1, begun(1, "Counter", "Shop.A", "made"))
	add(1, value(1, "a=1", "5"))
	add(2, value(2, "a=1", "7")) // it is made again
	add(2, value(2, "a=2", "8"))
	add(3, value(2, "a=1", "1"))
	add(3, value(9, "a=1", "100")) // its beginning is lost
	add(2, event(eventEnd, "meterName=Shop.A", "instrumentName=made", "instrumentId=1"))
	add(2, begun(2, "Counter", "Shop.A", "made"))
	add(3, value(1, "a=1", "3"))
	want := map[string]float64{"made{a=1,site=n}": 16, "made{a=2,site=n}": 8}
	if !maps.Equal(got, want) || x.Lost() != 0 {
		t.Errorf("%v, want %v; lost %d", got, want, x.Lost())
	}
	add(14, value(1, "a=1", "1"))
	if x.Lost() != 1 {
		t.Errorf("lost %d, want that of which no instrument began", x.Lost())
	}
	add(14, value(1, "a=1", "1"))
	if x.Finish(); x.Lost() != 3 {
		t.Errorf("lost %d, want those of the instrument that had ended long before, too", x.Lost())
	}
}

// TestInstrumentNames: what the runtime compares otherwise is asked for by its exact name, once.
func TestInstrumentNames(t *testing.T) {
	for _, newer := range []bool{false, true} {
		x := newInstruments("Shop.*", "shop.b", "*r")
		if p := x.First(); !strings.HasSuffix(p.Arguments, ";Metrics=Shop.*,shop.b") || p.Keywords != 6 {
			t.Errorf("%+v", p)
		}
		for _, meter := range []string{"Shop.A", "Shop.A", "Shop.B", "Stock", "Shop.C"} {
			pairs := []string{"meterName=" + meter, "instrumentName=made"}
			if newer {
				pairs = append(pairs, "instrumentId=1")
			}
			x.Add(event(eventInstrument, pairs...))
		}
		if _, ok := x.More(); ok {
			t.Error("asked before all instruments are known")
		}
		x.Add(event(eventListed))
		p, ok := x.More()
		if ok == newer || ok && !strings.HasSuffix(p.Arguments, ";Metrics=Shop.A,Shop.B,Shop.C") {
			t.Errorf("%v: %v, %+v", newer, ok, p)
		}
		x.Add(event(eventListed))
		if _, again := x.More(); again {
			t.Error("asked again")
		}
	}
}

// TestInstrumentOtherTools: who is refused takes no values, which are another tool's; one that is refused because of this
// session changes nothing.
func TestInstrumentOtherTools(t *testing.T) {
	for _, c := range []struct {
		event   *Event
		refused bool
	}{
		{event(eventOtherSession, "runningSessionId=other"), true},
		{event(eventOtherSession, "runningSessionId="+shared), false},
		{event(eventOtherLimits, "clientId=c-1"), true},
		{event(eventOtherLimits, "clientId=d-1"), false},
	} {
		x := newInstruments("Shop.*")
		x.Add(c.event)
		x.Add(begun(1, "Gauge", "Shop.A", "level"))
		values := x.Add(event(eventGauge, "meterName=Shop.A", "instrumentName=level", "instrumentId=1", "lastValue=3"))
		ok := len(values) != 0
		if x.Refused() != c.refused || ok == c.refused {
			t.Errorf("event %d: refused %v, a value %v", c.event.ID, x.Refused(), ok)
		}
	}
}
