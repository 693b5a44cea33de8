// What targets use and a trimmed core library does not have. The names of this
// namespace come before those of System.

using System;
using System.Collections.Generic;
using System.Reflection;

static class GC
{
    /// <summary>Of the whole process, not of the thread.</summary>
    public static long GetAllocatedBytesForCurrentThread() => System.GC.GetTotalAllocatedBytes(true);

    public static void Collect() => System.GC.Collect();

    public static void KeepAlive(object o) => System.GC.KeepAlive(o);
}

static class Missing
{
    public static Type[] GetNestedTypes(this Type type, BindingFlags flags)
    {
        var nested = new List<Type>();
        foreach (Type t in type.Assembly.GetTypes())
            if (t.DeclaringType == type)
                nested.Add(t);
        return nested.ToArray();
    }
}
