// Functions whose framework code has the names that rules look for, and does something else, or is called by the
// framework on its own behalf. They are named after the id of the rule that must not find them, with a number; each makes
// so much that the rule would: see TestAlikeNames.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Runtime.CompilerServices;
using System.Text.Json;

static class AlikeNames
{
    const int Often = 3_000;

    public static void All()
    {
        Reflection1(); Reflection2(); Reflection3(); Reflection4(); Reflection5();
        Enumerators1(); Enumerators2(); Enumerators3(); Enumerators4();
        Substrings1(); Substrings2(); Substrings3();
        StringFormat1();
        BoxingKeys1(); BoxingKeys2(); BoxingKeys3();
        CollectionGrowth1();
    }

    static void Reflection1() // the tables of an assembly, as a file
    {
        using (var file = new PEReader(File.OpenRead(typeof(object).Assembly.Location)))
        {
            MetadataReader tables = file.GetMetadataReader();
            foreach (MethodDefinitionHandle method in tables.MethodDefinitions)
                Sink.Kept = tables.GetString(tables.GetMethodDefinition(method).Name);
        }
    }

    static void Reflection2() // the parts of a name
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new AssemblyName("Some, Version=1.2.3.4");
    }

    static void Reflection3() // code that is made
    {
        for (int i = 0; i < Often / 10; i++)
        {
            var made = new DynamicMethod("made", typeof(int), Type.EmptyTypes, typeof(AlikeNames).Module);
            ILGenerator code = made.GetILGenerator();
            code.Emit(OpCodes.Ldc_I4, i);
            code.Emit(OpCodes.Ret);
            Sink.Sum += ((Func<int>)made.CreateDelegate(typeof(Func<int>)))();
        }
    }

    static void Reflection4() // names of the methods on a stack
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new StackTrace().ToString();
    }

    static void Reflection5() // what compiles expressions
    {
        for (int i = 0; i < Often / 10; i++)
        {
            Expression<Func<string, int>> length = s => s.Length;
            Sink.Sum += length.Compile()(Sink.Text);
        }
    }

    static void Enumerators1() // classes whose own type has no other one
    {
        string empty = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())).FullName;
        for (int i = 0; i < Often; i++)
            foreach (string file in Directory.EnumerateFiles(empty))
                Sink.Sum += file.Length;
        Directory.Delete(empty);
    }

    static void Enumerators2()
    {
        var all = new ConcurrentDictionary<int, int> { [1] = 2 };
        for (int i = 0; i < Often; i++)
            foreach (KeyValuePair<int, int> x in all)
                Sink.Sum += x.Value;
    }

    static void Enumerators3()
    {
        for (int i = 0; i < Often; i++)
            for (TextElementEnumerator text = StringInfo.GetTextElementEnumerator("ab"); text.MoveNext();)
                Sink.Sum++;
    }

    static void Enumerators4() // the framework's loop
    {
        var some = new SortedSet<int> { 1, 2, 3 };
        var all = new List<int>(some.Count);
        for (int i = 0; i < Often; i++, all.Clear())
            all.AddRange(Enumerators4Pass(some));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static IEnumerable<int> Enumerators4Pass(IEnumerable<int> all) => all;

    static void Substrings1() // the framework's own
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Uri("http://somebody@example.org:8080/path?query=1#fragment").Host;
    }

    static void Substrings2()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new StringReader("one\ntwo").ReadLine();
    }

    static void Substrings3()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = Path.GetFileName("/var/log/some.log");
    }

    static void StringFormat1() // the text of an exception
    {
        for (int i = 0; i < Often / 2; i++)
            try { Sink.Sum += Enum.Parse(typeof(DayOfWeek), "None") == null ? 1 : 0; }
            catch (ArgumentException) { Sink.Sum++; }
    }

    static void BoxingKeys1() // elements that an old interface returns
    {
        IEnumerable all = new List<int> { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            foreach (object x in all)
                Sink.Kept = x;
    }

    static void BoxingKeys2() // a pair as text
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new KeyValuePair<DayOfWeek, DayOfWeek>((DayOfWeek)(i % 7), DayOfWeek.Friday).ToString();
    }

    static void BoxingKeys3()
    {
        IDictionary all = new Dictionary<int, int> { [1] = 2, [3] = 4 };
        for (int i = 0; i < Often; i++)
            foreach (DictionaryEntry x in all)
                Sink.Kept = x.Value;
    }

    static void CollectionGrowth1() // a list that the framework makes
    {
        string text = "[" + string.Join(",", Enumerable.Range(1_000, 2_000)) + "]";
        for (int i = 0; i < 300; i++)
            Sink.Kept = JsonSerializer.Deserialize<List<int>>(text);
    }
}
