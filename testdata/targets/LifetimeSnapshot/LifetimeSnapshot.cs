// LifetimeSnapshot [N]: leaves a heap whose graph it knows. LifetimeSnapshot stack: has objects that only stacks hold
// during its one full collection. For each of its types it prints a row "heap": how many
// objects and bytes there are at the end, how many bytes they retain, and the types on the shortest path from a root.

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace LifetimeSnapshot
{
    sealed class ListNode { public ListNode Next; public long Value; }

    sealed class Tree { public Tree Left, Right; public Leaf Leaf; }
    sealed class Leaf { }

    sealed class Left { public Shared Shared; }
    sealed class Right { public Shared Shared; }
    sealed class Shared { public Part[] Parts; }
    sealed class Part { public long A, B, C; }

    sealed class Twin { public TwinShared Shared; }
    sealed class TwinShared { public long A, B; }

    sealed class RingA { public RingB Next; }
    sealed class RingB { public RingA Next; public RingPart Part; }
    sealed class RingPart { }

    sealed class Element { public ElementName Name; }
    sealed class ElementName { public long A; }

    sealed class ByHandle { public HandlePart Part; }
    sealed class HandlePart { public long A, B, C, D; }
    [StructLayout(LayoutKind.Sequential)] sealed class ByPin { public long A, B, C; }
    sealed class ByWeak { public WeakPart Part; }
    sealed class WeakPart { }
    sealed class WeakAndStatic { public long A; }

    sealed class Key { }
    sealed class Value { public Key2 Key; public long A; }
    sealed class Key2 { }
    sealed class Value2 { public long A, B; }
    sealed class LostKey { }
    sealed class LostValue { public LostKey Key; }

    sealed class Waiting { public WaitingPart Part; ~Waiting() { } }
    sealed class WaitingPart { public long A, B, C; }

    struct Pair { public InStruct One; public int Number; }
    sealed class InStruct { public long A; }
    class Base { public InBase One; }
    sealed class Derived : Base { public InDerived Two; }
    sealed class InBase { }
    sealed class InDerived { }
    sealed class Generic<T> { public T One; }
    sealed class InGeneric { }

    sealed class OnStack { public StackPart Part; }
    sealed class StackPart { public long A, B; }
    struct Inner { public InnerPart Part; }
    sealed class InnerPart { public long A; }
    sealed class OnOtherStack { public long A, B, C; }

    static class Program
    {
        static readonly ListNode list = new ListNode();
        static Tree tree;
        static Left left;
        static Right right;
        static Twin[] twins;
        static RingA ring;
        static Element[] elements;
        static GCHandle handle, pin, weak, weakLong, weakAndStatic;
        static WeakAndStatic held;
        static Key[] keys;
        static readonly ConditionalWeakTable<Key, Value> table = new ConditionalWeakTable<Key, Value>();
        static readonly ConditionalWeakTable<Key2, Value2> table2 = new ConditionalWeakTable<Key2, Value2>();
        static readonly ConditionalWeakTable<LostKey, LostValue> lost = new ConditionalWeakTable<LostKey, LostValue>();
        static Pair[] pairs;
        static Derived derived;
        static Generic<InGeneric[]> generic;

        static int Main(string[] args)
        {
            if (args.Length > 0 && args[0] == "stack")
            {
                Stacks();
                return Truth.Print();
            }
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            Lists(n);
            Trees(10);
            SharedParts(n);
            Rings(3);
            Arrays(n);
            Handles();
            Tables(n);
            Fields(n);
            Finalizer();
            return Truth.Print();
        }

        /// <summary>What is known of a type: its objects, the bytes of each, what they retain, what holds them.</summary>
        static void Say(Type type, long objects, long each, long retained, string state, params Type[] path) =>
            Truth.Say("heap", "name", type.FullName, "objects", objects, "bytes", objects * each, "retained", retained,
                "state", state, "path", string.Join(" ", path.Select(p => p.FullName)));

        static void Reachable(Type type, long objects, long each, long retained, params Type[] path) =>
            Say(type, objects, each, retained, "reachable", path);

        static void Gone(Type type) => Say(type, 0, 0, 0, "gone");

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Lists(int n)
        {
            ListNode at = list;
            for (int i = 1; i < n; i++)
                at = at.Next = new ListNode { Value = i };
            long each = Size.Object(16);
            Reachable(typeof(ListNode), n, each, n * each, typeof(ListNode));
        }

        static Tree Grow(int depth) => depth == 1
            ? new Tree { Leaf = new Leaf() }
            : new Tree { Left = Grow(depth - 1), Right = Grow(depth - 1) };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Trees(int depth)
        {
            tree = Grow(depth);
            long trees = (1 << depth) - 1, leaves = 1 << (depth - 1), each = Size.Object(24), leaf = Size.Object(0);
            Reachable(typeof(Tree), trees, each, trees * each + leaves * leaf, typeof(Tree));
            Reachable(typeof(Leaf), leaves, leaf, leaves * leaf, Enumerable.Repeat(typeof(Tree), depth).Append(typeof(Leaf)).ToArray());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SharedParts(int n)
        {
            var shared = new Shared { Parts = new Part[n] };
            for (int i = 0; i < n; i++)
                shared.Parts[i] = new Part();
            left = new Left { Shared = shared };
            right = new Right { Shared = shared };
            long part = Size.Object(24), parts = Size.Array(8, n) + n * part;
            Reachable(typeof(Left), 1, 24, 24, typeof(Left)); // neither alone holds what they share
            Reachable(typeof(Right), 1, 24, 24, typeof(Right));
            Say(typeof(Shared), 1, 24, 24 + parts, "reachable"); // by the left or by the right
            Say(typeof(Part[]), 1, Size.Array(8, n), parts, "reachable");
            Say(typeof(Part), n, part, n * part, "reachable");
            var both = new TwinShared();
            twins = new[] { new Twin { Shared = both }, new Twin { Shared = both } };
            Reachable(typeof(Twin[]), 1, Size.Array(8, 2), Size.Array(8, 2) + 48 + Size.Object(16), typeof(Twin[]));
            Reachable(typeof(Twin), 2, 24, 48, typeof(Twin[]), typeof(Twin));
            Reachable(typeof(TwinShared), 1, Size.Object(16), Size.Object(16), typeof(Twin[]), typeof(Twin), typeof(TwinShared));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Rings(int n)
        {
            RingA at = ring = new RingA();
            for (int i = 0; i < n; i++)
            {
                at.Next = new RingB { Part = new RingPart() };
                at = at.Next.Next = i == n - 1 ? ring : new RingA();
            }
            long b = Size.Object(16), part = Size.Object(0);
            Reachable(typeof(RingA), n, 24, n * (24 + b + part), typeof(RingA));
            Reachable(typeof(RingB), n, b, (n - 1) * 24 + n * (b + part), typeof(RingA), typeof(RingB));
            Reachable(typeof(RingPart), n, part, n * part, typeof(RingA), typeof(RingB), typeof(RingPart));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Arrays(int n)
        {
            elements = new Element[n];
            for (int i = 0; i < n; i++)
                elements[i] = new Element { Name = new ElementName() };
            elements[0].Name = elements[1].Name; // and its own is garbage
            long name = Size.Object(8);
            Reachable(typeof(Element[]), 1, Size.Array(8, n), Size.Array(8, n) + n * 24 + (n - 1) * name, typeof(Element[]));
            Reachable(typeof(Element), n, 24, n * 24 + (n - 2) * name, typeof(Element[]), typeof(Element));
            Reachable(typeof(ElementName), n - 1, name, (n - 1) * name, typeof(Element[]), typeof(Element), typeof(ElementName));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Handles()
        {
            handle = GCHandle.Alloc(new ByHandle { Part = new HandlePart() });
            pin = GCHandle.Alloc(new ByPin(), GCHandleType.Pinned);
            weak = GCHandle.Alloc(new ByWeak { Part = new WeakPart() }, GCHandleType.Weak);
            weakLong = GCHandle.Alloc(new ByWeak { Part = new WeakPart() }, GCHandleType.WeakTrackResurrection);
            held = new WeakAndStatic();
            weakAndStatic = GCHandle.Alloc(held, GCHandleType.Weak);
            long part = Size.Object(32);
            Say(typeof(ByHandle), 1, 24, 24 + part, "handle", typeof(ByHandle));
            Say(typeof(HandlePart), 1, part, part, "handle", typeof(ByHandle), typeof(HandlePart));
            Say(typeof(ByPin), 1, Size.Object(24), Size.Object(24), "pinned", typeof(ByPin));
            Gone(typeof(ByWeak));
            Gone(typeof(WeakPart));
            Reachable(typeof(WeakAndStatic), 1, 24, 24, typeof(WeakAndStatic));
        }

        /// <summary>A key holds its value, and that the key of another table.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Tables(int n)
        {
            keys = new Key[n];
            for (int i = 0; i < n; i++)
            {
                var value = new Value { Key = new Key2() };
                keys[i] = new Key();
                table.Add(keys[i], value);
                table2.Add(value.Key, new Value2());
                var alone = new LostKey();
                lost.Add(alone, new LostValue { Key = alone });
            }
            long value1 = Size.Object(16), value2 = Size.Object(16);
            Reachable(typeof(Key[]), 1, Size.Array(8, n), Size.Array(8, n) + n * (48 + value1 + value2), typeof(Key[]));
            Reachable(typeof(Key), n, 24, n * (48 + value1 + value2), typeof(Key[]), typeof(Key));
            Reachable(typeof(Value), n, value1, n * (24 + value1 + value2), typeof(Key[]), typeof(Key), typeof(Value));
            Reachable(typeof(Key2), n, 24, n * (24 + value2), typeof(Key[]), typeof(Key), typeof(Value), typeof(Key2));
            Reachable(typeof(Value2), n, value2, n * value2, typeof(Key[]), typeof(Key), typeof(Value), typeof(Key2), typeof(Value2));
            Gone(typeof(LostKey));
            Gone(typeof(LostValue));
        }

        /// <summary>References in structs in arrays, in base classes and in generic fields.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fields(int n)
        {
            pairs = new Pair[n];
            for (int i = 0; i < n; i += 2)
                pairs[i].One = new InStruct();
            long half = (n + 1) / 2;
            Reachable(typeof(Pair[]), 1, Size.Array(16, n), Size.Array(16, n) + half * 24, typeof(Pair[]));
            Reachable(typeof(InStruct), half, 24, half * 24, typeof(Pair[]), typeof(InStruct));
            derived = new Derived { One = new InBase(), Two = new InDerived() };
            Reachable(typeof(Derived), 1, Size.Object(16), Size.Object(16) + 48, typeof(Derived));
            Reachable(typeof(InBase), 1, 24, 24, typeof(Derived), typeof(InBase));
            Reachable(typeof(InDerived), 1, 24, 24, typeof(Derived), typeof(InDerived));
            generic = new Generic<InGeneric[]> { One = new[] { new InGeneric() } };
            Reachable(typeof(InGeneric[]), 1, Size.Array(8, 1), Size.Array(8, 1) + 24);
            Reachable(typeof(InGeneric), 1, 24, 24);
        }

        static void Stacks()
        {
            using (var ready = new ManualResetEvent(false))
            using (var done = new ManualResetEvent(false))
            {
                var other = new Thread(() => Wait(ready, done));
                other.Start();
                ready.WaitOne();
                Hold();
                done.Set();
                other.Join();
            }
            Say(typeof(OnStack), 1, 24, 24 + Size.Object(16), "stack " + Holder, typeof(OnStack));
            Say(typeof(StackPart), 1, Size.Object(16), Size.Object(16), "stack " + Holder, typeof(OnStack), typeof(StackPart));
            Say(typeof(Inner[]), 1, Size.Array(8, 10), Size.Array(8, 10) + 24, "interior stack " + Holder, typeof(Inner[]));
            Say(typeof(InnerPart), 1, 24, 24, "interior stack " + Holder, typeof(Inner[]), typeof(InnerPart));
            Say(typeof(OnOtherStack), 1, Size.Object(24), Size.Object(24), "stack LifetimeSnapshot.Program.Wait", typeof(OnOtherStack));
        }

        const string Holder = "LifetimeSnapshot.Program.Hold";

        /// <summary>Holds an object, and an array by a reference into it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Hold()
        {
            OnStack held = MakeHeld();
            ref Inner inner = ref MakeInner()[5];
            GC.Collect();
            inner.Part.A = 1;
            GC.KeepAlive(held);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static OnStack MakeHeld() => new OnStack { Part = new StackPart() };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Inner[] MakeInner()
        {
            var array = new Inner[10];
            array[5].Part = new InnerPart();
            return array;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Wait(ManualResetEvent ready, ManualResetEvent done)
        {
            var held = new OnOtherStack();
            ready.Set();
            done.WaitOne();
            GC.KeepAlive(held);
        }

        /// <summary>An object that waits for its finalizer when the last collection is over, as there is none before.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Finalizer()
        {
            new Waiting { Part = new WaitingPart() };
            long part = Size.Object(24);
            Say(typeof(Waiting), 1, 24, 24 + part, "finalizer", typeof(Waiting));
            Say(typeof(WaitingPart), 1, part, part, "finalizer", typeof(Waiting), typeof(WaitingPart));
        }
    }
}
