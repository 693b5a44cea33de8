// Ways to allocate: of each the runtime's own count of all bytes, and of those that
// make an object of a known type and size how many there are, and who made them.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Ways
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 300;
            RuntimeHelpers.RunClassConstructor(typeof(Bodies).TypeHandle);
            var known = new Dictionary<string, (Made made, bool itself)>();
            Below(known, "Initialized", typeof(ulong[]), Size.Array(8, 6));
            Itself(known, "Doubles", typeof(double[]), Size.Array(8, 4));
            Itself(known, "OfStatic", typeof(Func<Answer>), Size.Delegate);
            Below(known, "WeakTable", typeof(Held), Size.Object(0));
            known.Add("Resized", (new Made(typeof(Key[]), 2, (Size.Array(8, 2) + Size.Array(8, 5)) / 2), false));
            Below(known, "Instance", typeof(Plain[]), Size.Array(8, 3));
            Below(known, "InstanceOfRank2", typeof(Plain[,]), Size.Array(2, 8, 4));
            Below(known, "LowerBound", Array.CreateInstance(typeof(Held), new[] { 3 }, new[] { 1 }).GetType(), Size.Array(1, 8, 3));
            Below(known, "ToArray", typeof(int[]), Size.Array(4, 3));
            Below(known, "NewOfClass", typeof(New), Size.Object(0));
            Below(known, "ActivatedByType", typeof(Activated), Size.Object(0));
            Below(known, "ActivatedByArgument", typeof(Activated), Size.Object(0));
            Below(known, "ActivatedWith", typeof(Constructed), Size.Object(4));
            Below(known, "ActivatedMade", typeof(ActivatedGeneric<string>), Size.Object(0));
            Below(known, "Invoke", typeof(Answer), Size.Object(24));
            Below(known, "InvokeConstructor", typeof(Invoked), Size.Object(0));
            Below(known, "ForeignStruct", typeof(Foreign), Size.Object(8));
            Below(known, "DelegateByReflection", typeof(Func<Answer>), Size.Delegate);
            int ways = 0;
            foreach (MethodInfo way in typeof(Bodies).GetMethods(BindingFlags.Static | BindingFlags.Public).Where(m => m.ReturnType == typeof(void)))
            {
                Measured(way, n);
                ways++;
                if (!known.TryGetValue(way.Name, out (Made made, bool itself) k))
                    continue;
                known.Remove(way.Name);
                if (k.itself)
                    Truth.Site(way, k.made.Type, k.made.Objects * (n + 1), k.made.Bytes * (n + 1));
                else
                    Truth.Below(way, k.made.Type, k.made.Objects * (n + 1), k.made.Bytes * (n + 1));
            }
            Truth.Say("ways", "count", ways);
            return known.Count == 0 ? Truth.Print() : 98; // a way that is not there
        }

        static void Itself(Dictionary<string, (Made, bool)> known, string way, Type type, long size) => known.Add(way, (new Made(type, 1, size), true));

        static void Below(Dictionary<string, (Made, bool)> known, string way, Type type, long size) => known.Add(way, (new Made(type, 1, size), false));

        // It is compiled before: then all that this thread makes meanwhile is made below
        // the way, the first time, when the runtime loads types, too.
        static void Measured(MethodInfo way, int n)
        {
            var body = (Action<int>)way.CreateDelegate(typeof(Action<int>));
            RuntimeHelpers.PrepareMethod(way.MethodHandle);
            long before = GC.GetAllocatedBytesForCurrentThread();
            body(1);
            body(n);
            Truth.Total(way, GC.GetAllocatedBytesForCurrentThread() - before);
        }
    }
}
