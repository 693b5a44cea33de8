// FreshTypes ROUNDS: threads allocate the first objects of types that the runtime has just made, from methods that it
// has just compiled, while other threads collect garbage without end. What the agent asks of the runtime about a new
// type or place lets a collection happen, which moves the very object that is being counted.

using System;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Threading;

static class FreshTypes
{
    static readonly Type[] Arguments = { typeof(int), typeof(string), typeof(long), typeof(Guid), typeof(DateTime), typeof(object) };
    const int MaxCollections = 1500; // of each thread; who compares them needs time for each
    static volatile bool done;

    static int Main(string[] args)
    {
        int rounds = int.Parse(args[0]);
        Thread[] collectors = Enumerable.Range(0, 2).Select(i => new Thread(() => Collect(i))).ToArray();
        Thread[] makers = Enumerable.Range(0, 3).Select(i => new Thread(() => Make(i, rounds))).ToArray();
        foreach (Thread t in collectors.Concat(makers))
            t.Start();
        foreach (Thread t in makers)
            t.Join();
        done = true;
        foreach (Thread t in collectors)
            t.Join();
        return 0;
    }

    static void Collect(int generation)
    {
        for (int i = 0; i < MaxCollections && !done; i++)
            GC.Collect(generation);
    }

    static void Make(int thread, int rounds)
    {
        var random = new Random(thread);
        var kept = new object[64];
        Type nested = typeof(object);
        for (int i = 0; i < rounds; i++)
        {
            Type argument = Arguments[random.Next(Arguments.Length)];
            nested = i % 8 == 0 ? typeof(Pair<,>).MakeGenericType(argument, typeof(Pair<,>)) : typeof(Pair<,>).MakeGenericType(nested, argument);
            object made = nested.ContainsGenericParameters ? new object() : Activator.CreateInstance(nested);
            kept[random.Next(kept.Length)] = made;
            kept[random.Next(kept.Length)] = Array.CreateInstance(nested.ContainsGenericParameters ? argument : nested, random.Next(20));
            kept[random.Next(kept.Length)] = Fresh(argument)();
            if (nested.ContainsGenericParameters)
                nested = typeof(object);
        }
        GC.KeepAlive(kept);
    }

    // A method of its own for each call, which allocates where none has before.
    static Func<object> Fresh(Type element)
    {
        var method = new DynamicMethod("Fresh", typeof(object), Type.EmptyTypes, typeof(FreshTypes).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldc_I4, 3);
        il.Emit(OpCodes.Newarr, element);
        il.Emit(OpCodes.Ret);
        return (Func<object>)method.CreateDelegate(typeof(Func<object>));
    }
}

sealed class Pair<A, B>
{
    public A First;
    public B Second;
}
