// HotReload: compiles a library, loads it, calls it, changes it as hot reload does (dotnet watch, an IDE), and calls it
// again. It prints what the library said each time. Built by an SDK, whose compiler it uses; wants
// DOTNET_MODIFIABLE_ASSEMBLIES=debug.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Metadata;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using Microsoft.CodeAnalysis.Text;

namespace HotReload
{
    static class Program
    {
        const string Before = "public static class Changed { public static string Text(int n) { return new string('a', n); } "
            + "public static int Sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += Text(i % 5).Length; return s; } }";
        const string After = "public static class Changed { public static string Text(int n) { return Added(n) + \"!\"; } "
            + "static string Added(int n) { return new string('b', n); } "
            + "public static int Sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += Text(i % 5).Length; return s; } }";

        static SyntaxTree Parse(string text) => CSharpSyntaxTree.ParseText(SourceText.From(text, Encoding.UTF8), path: "changed.cs");

        static int Main()
        {
            string dll = Path.Combine(AppContext.BaseDirectory, "Changed.dll");
            var references = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")).Split(':')
                .Where(p => Path.GetFileName(p).StartsWith("System.")).Select(p => MetadataReference.CreateFromFile(p));
            var before = CSharpCompilation.Create("Changed", new[] { Parse(Before) }, references,
                new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Debug));
            var image = new MemoryStream();
            if (!before.Emit(image).Success)
                return 3;
            File.WriteAllBytes(dll, image.ToArray());
            Assembly assembly = Assembly.LoadFrom(dll);
            MethodInfo sum = assembly.GetType("Changed").GetMethod("Sum");
            Console.WriteLine("before " + sum.Invoke(null, new object[] { 1000 }));
            Change(before, image.ToArray(), assembly);
            for (int i = 0; i < 3; i++)
                Console.WriteLine("after " + sum.Invoke(null, new object[] { 1000 }));
            return 0;
        }

        static void Change(CSharpCompilation before, byte[] image, Assembly assembly)
        {
            CSharpCompilation after = before.ReplaceSyntaxTree(before.SyntaxTrees[0], Parse(After));
            INamedTypeSymbol old = before.GetTypeByMetadataName("Changed"), now = after.GetTypeByMetadataName("Changed");
            EmitBaseline baseline = EmitBaseline.CreateInitialBaseline(before, ModuleMetadata.CreateFromImage(image), h => default, h => default, true);
            var edits = new List<SemanticEdit>
            {
                new SemanticEdit(SemanticEditKind.Update, old.GetMembers("Text")[0], now.GetMembers("Text")[0]),
                new SemanticEdit(SemanticEditKind.Insert, null, now.GetMembers("Added")[0]),
            };
            MemoryStream metadata = new MemoryStream(), il = new MemoryStream(), pdb = new MemoryStream();
            EmitDifferenceResult result = after.EmitDifference(baseline, edits, s => false, metadata, il, pdb);
            if (!result.Success)
                throw new InvalidOperationException(string.Join("\n", result.Diagnostics));
            MetadataUpdater.ApplyUpdate(assembly, metadata.ToArray(), il.ToArray(), pdb.ToArray());
        }
    }
}
