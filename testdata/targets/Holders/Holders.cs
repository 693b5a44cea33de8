// Holders: objects of which it knows who holds how many, at the only full collection. For each pair of a type and a holder
// it prints a row "holder": the type, the holder as clrprof writes it, and how many objects.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Holders
{
    sealed class InArray { public long A; }
    sealed class ByWeak { public long A; }
    [StructLayout(LayoutKind.Sequential)] sealed class ByPin { public long A; }
    sealed class ByKey { public long A; }
    sealed class ByBoth { public long A; }
    sealed class Key { }
    sealed class Box { public List<ByBoth> Shared; }

    static class Table
    {
        public static InArray[] All = Program.Some(10);
        public static Box First, Second;
        public static Key[] Keys = new Key[3];
        public static ConditionalWeakTable<Key, ByKey> Values = new ConditionalWeakTable<Key, ByKey>();
    }

    static class Program
    {
        public static InArray[] Some(int n)
        {
            var all = new InArray[n];
            for (int i = 0; i < n; i++)
                all[i] = new InArray();
            return all;
        }

        static int Main()
        {
            InArray[] onStack = Some(40);
            Handles();
            Weak();
            Keys();
            Both();
            Say(typeof(InArray), "Holders.Table.All (static)", 10);
            Say(typeof(InArray), "handle: Holders.InArray[]", 20);
            Say(typeof(InArray), "Holders.Program.Main(), on the stack: Holders.InArray[]", 40);
            GC.Collect();
            GC.KeepAlive(onStack);
            return Truth.Print();
        }

        static void Say(Type type, string holder, int objects) => Truth.Say("holder", "type", type.FullName, "holder", holder, "objects", objects);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Handles()
        {
            GCHandle.Alloc(Some(20));
            for (int i = 0; i < 30; i++)
                GCHandle.Alloc(new ByPin(), GCHandleType.Pinned);
            Say(typeof(ByPin), "handle, pinning: Holders.ByPin", 30);
        }

        /// <summary>A weak handle holds nothing.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Weak()
        {
            var one = new ByWeak();
            GCHandle.Alloc(one, GCHandleType.Weak);
            GCHandle.Alloc(one, GCHandleType.Normal);
            Say(typeof(ByWeak), "handle: Holders.ByWeak", 1);
        }

        /// <summary>The table holds its values as long as their keys are alive, which a static field holds.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Keys()
        {
            for (int i = 0; i < Table.Keys.Length; i++)
                Table.Values.Add(Table.Keys[i] = new Key(), new ByKey());
            Say(typeof(ByKey), "as long as its key is alive: Holders.Key", 3);
            Say(typeof(Key), "Holders.Table.Keys (static)", 3);
        }

        /// <summary>Two static fields refer to boxes of one list: neither of them alone holds it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Both()
        {
            var shared = new List<ByBoth>(50);
            for (int i = 0; i < 50; i++)
                shared.Add(new ByBoth());
            Table.First = new Box { Shared = shared };
            Table.Second = new Box { Shared = shared };
            Say(typeof(ByBoth), "several together: System.Collections.Generic.List<Holders.ByBoth>", 50);
        }
    }
}
