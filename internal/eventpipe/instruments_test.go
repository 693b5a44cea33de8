package eventpipe

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
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
		if p, ok := x.Add(e); ok {
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
	want := map[string]float64{"made{a=2,3,site=n,z=1}": 9, "sold{a=2,3,site=n,z=1}": 12.5, "queue{a=2,3,site=n,z=1}": -2}
	if !maps.Equal(got, want) || x.Lost() != 2 {
		t.Errorf("%v, want %v; lost %d", got, want, x.Lost())
	}
	if said := strings.Join(x.Troubles(), "; "); said != "Shop.A/made was disposed of: what it measured since its "+
		"last sample is missing" {
		t.Error(said)
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
		_, ok := x.Add(event(eventGauge, "meterName=Shop.A", "instrumentName=level", "instrumentId=1", "lastValue=3"))
		if x.Refused() != c.refused || ok == c.refused {
			t.Errorf("event %d: refused %v, a value %v", c.event.ID, x.Refused(), ok)
		}
	}
}
