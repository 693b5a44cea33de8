using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Clrprof.Meters
{
    /// <summary>What a row is of: WIRE_METER_ADDED and so on (internal/wire).</summary>
    enum Kind
    {
        Added = 1,
        UpDown = 2,
        Set = 3,
        Total = 4,
        Measured = 5,
    }

    /// <summary>A row of the agent: struct wire_meter_value. Numbers are whole, or the bits of a double.</summary>
    [StructLayout(LayoutKind.Sequential)]
    unsafe struct Row
    {
        long count, sum, last, min, max;

        internal static void Add(Row* row, Kind kind, long value)
        {
            switch (kind)
            {
                case Kind.Set:
                case Kind.Total:
                    Volatile.Write(ref row->last, value);
                    break;
                case Kind.Measured:
                    for (long seen = Volatile.Read(ref row->min); value < seen; seen = Volatile.Read(ref row->min))
                        Interlocked.CompareExchange(ref row->min, value, seen);
                    for (long seen = Volatile.Read(ref row->max); value > seen; seen = Volatile.Read(ref row->max))
                        Interlocked.CompareExchange(ref row->max, value, seen);
                    Interlocked.Add(ref row->sum, value);
                    break;
                default:
                    Interlocked.Add(ref row->sum, value);
                    break;
            }
            Interlocked.Increment(ref row->count);
        }

        internal static void Add(Row* row, Kind kind, double value)
        {
            switch (kind)
            {
                case Kind.Set:
                case Kind.Total:
                    Volatile.Write(ref row->last, BitConverter.DoubleToInt64Bits(value));
                    break;
                case Kind.Measured:
                    for (long seen = Volatile.Read(ref row->min); value < Number(seen); seen = Volatile.Read(ref row->min))
                        Interlocked.CompareExchange(ref row->min, BitConverter.DoubleToInt64Bits(value), seen);
                    for (long seen = Volatile.Read(ref row->max); value > Number(seen); seen = Volatile.Read(ref row->max))
                        Interlocked.CompareExchange(ref row->max, BitConverter.DoubleToInt64Bits(value), seen);
                    AddTo(ref row->sum, value);
                    break;
                default:
                    AddTo(ref row->sum, value);
                    break;
            }
            Interlocked.Increment(ref row->count);
        }

        static void AddTo(ref long sum, double value)
        {
            for (long seen = Volatile.Read(ref sum), now; ; seen = now)
            {
                now = Interlocked.CompareExchange(ref sum, BitConverter.DoubleToInt64Bits(Number(seen) + value), seen);
                if (now == seen)
                    return;
            }
        }

        static double Number(long bits) => BitConverter.Int64BitsToDouble(bits);
    }

    /// <summary>The rows of an instrument, by its tags. What is known already allocates nothing, and takes no lock.</summary>
    sealed unsafe class Series
    {
        // Tags that a program makes up, such as numbers of users, have no end: what is beyond is in one row.
        const int MaxTagSets = 2000;
        const int FirstBuckets = 16;
        const string Others = "(others)";

        // Of all instruments: one that is made twice has the rows of the first.
        static readonly Dictionary<string, IntPtr> rows = new Dictionary<string, IntPtr>();

        sealed class Entry
        {
            internal int Hash;
            internal KeyValuePair<string, object>[] Tags;
            internal Row* Row; // null: there is no room
            internal Entry Next;
        }

        readonly string meter, name, unit, description;
        readonly Kind kind;
        readonly bool whole;
        readonly KeyValuePair<string, object>[] always; // tags of the meter and of the instrument
        Entry[] buckets = new Entry[FirstBuckets];
        int count;
        Entry plain, others; // without tags; of what is beyond the limit

        internal Series(Instrument instrument)
        {
            meter = instrument.Meter.Name ?? "";
            name = instrument.Name ?? "";
            unit = instrument.Unit ?? "";
            description = instrument.Description ?? "";
            kind = KindOf(instrument, out whole);
            var tags = new List<KeyValuePair<string, object>>();
            if (instrument.Meter.Tags != null)
                tags.AddRange(instrument.Meter.Tags);
            if (instrument.Tags != null)
                tags.AddRange(instrument.Tags);
            always = tags.ToArray();
        }

        static Kind KindOf(Instrument instrument, out bool whole)
        {
            Type type = instrument.GetType();
            while (type.BaseType != null && (type.Namespace != "System.Diagnostics.Metrics" || !type.IsGenericType))
                type = type.BaseType; // a program can derive its own
            Type number = type.IsGenericType ? type.GetGenericArguments()[0] : null;
            whole = number != typeof(float) && number != typeof(double) && number != typeof(decimal);
            switch (type.Name)
            {
                case "Counter`1":
                    return Kind.Added;
                case "UpDownCounter`1":
                    return Kind.UpDown;
                case "Histogram`1":
                    return Kind.Measured;
                case "ObservableCounter`1":
                    return Kind.Total;
                default: // gauges, observable ones too, and observable up-down counters
                    return Kind.Set;
            }
        }

        internal void Add(long value, ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            Row* row = Find(tags);
            if (row != null)
                Row.Add(row, kind, value);
            else
                Agent.Lost(1);
        }

        internal void Add(double value, ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            Row* row = double.IsFinite(value) ? Find(tags) : null;
            if (row != null)
                Row.Add(row, kind, value);
            else
                Agent.Lost(1);
        }

        Row* Find(ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            Entry found = tags.Length == 0 ? Volatile.Read(ref plain) : Look(Volatile.Read(ref buckets), tags, HashOf(tags));
            return (found ?? Make(tags)).Row;
        }

        static Entry Look(Entry[] in_, ReadOnlySpan<KeyValuePair<string, object>> tags, int hash)
        {
            for (Entry e = Volatile.Read(ref in_[hash & in_.Length - 1]); e != null; e = e.Next)
                if (e.Hash == hash && Same(e.Tags, tags))
                    return e;
            return null;
        }

        static bool Same(KeyValuePair<string, object>[] have, ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            if (have.Length != tags.Length)
                return false;
            for (int i = 0; i < have.Length; i++)
                if (have[i].Key != tags[i].Key || !Equals(have[i].Value, Value(tags[i].Value)))
                    return false;
            return true;
        }

        static int HashOf(ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            int hash = tags.Length;
            foreach (KeyValuePair<string, object> tag in tags)
                hash = (hash * 31 + (tag.Key?.GetHashCode() ?? 0)) * 31 + (Value(tag.Value)?.GetHashCode() ?? 0);
            return hash ^ hash >>> 16;
        }

        // What of a value counts: of types of the program its text, which may be another one the next time.
        static object Value(object value)
        {
            if (value == null || value is string || value.GetType().IsPrimitive || value is Enum || value is decimal)
                return value;
            return value.ToString();
        }

        // Finds the row of tags that are new, or come in another order.
        Entry Make(ReadOnlySpan<KeyValuePair<string, object>> tags)
        {
            if (Volatile.Read(ref count) >= MaxTagSets)
                return TakeOthers();
            var entry = new Entry { Hash = HashOf(tags), Tags = tags.ToArray() };
            for (int i = 0; i < entry.Tags.Length; i++)
                entry.Tags[i] = new KeyValuePair<string, object>(tags[i].Key, Value(tags[i].Value));
            string text = TextOf(entry.Tags);
            lock (rows)
            {
                Entry found = tags.Length == 0 ? plain : Look(buckets, tags, entry.Hash);
                if (found != null)
                    return found;
                if (count >= MaxTagSets)
                    return TakeOthers();
                entry.Row = RowOf(text);
                if (tags.Length == 0)
                    Volatile.Write(ref plain, entry);
                else
                    Put(entry);
                count++;
                return entry;
            }
        }

        // Of values that are not added up there is no sum: they are only counted as lost.
        Entry TakeOthers()
        {
            lock (rows)
                if (others == null)
                    others = new Entry { Row = kind == Kind.Set || kind == Kind.Total ? null : RowOf(Others) };
            if (others.Row != null)
                Agent.Lost(1);
            return others;
        }

        // With the lock held.
        void Put(Entry entry)
        {
            if (count >= buckets.Length)
            {
                var more = new Entry[2 * buckets.Length];
                foreach (Entry first in buckets)
                    for (Entry e = first; e != null; e = e.Next)
                        more[e.Hash & more.Length - 1] =
                            new Entry { Hash = e.Hash, Tags = e.Tags, Row = e.Row, Next = more[e.Hash & more.Length - 1] };
                Volatile.Write(ref buckets, more);
            }
            int at = entry.Hash & buckets.Length - 1;
            entry.Next = buckets[at];
            Volatile.Write(ref buckets[at], entry);
        }

        Row* RowOf(string tags)
        {
            string key = (int)kind + "\0" + whole + "\0" + meter + "\0" + name + "\0" + unit + "\0" + tags;
            if (rows.TryGetValue(key, out IntPtr known))
                return (Row*)known;
            Row* row = Agent.RowOf(kind, whole, meter, name, unit, description, tags);
            if (row != null)
                rows[key] = (IntPtr)row;
            return row;
        }

        // NAME=VALUE, separated by commas, in the order of names: in whatever order the program has them.
        string TextOf(KeyValuePair<string, object>[] tags)
        {
            if (tags.Length + always.Length == 0)
                return "";
            var all = new List<KeyValuePair<string, object>>(always);
            all.AddRange(tags);
            var texts = new List<string>();
            foreach (KeyValuePair<string, object> tag in all)
                texts.Add(tag.Key + "=" + Convert.ToString(tag.Value, System.Globalization.CultureInfo.InvariantCulture));
            texts.Sort(string.CompareOrdinal);
            return string.Join(",", texts);
        }
    }
}
