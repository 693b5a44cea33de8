// Prints what Microsoft's own reader (System.Reflection.Metadata) finds in
// assemblies and in their PDBs, one line per item, for tests to compare with.
//
//   Dump metadata FILE...    names, signatures, nesting, generic parameters, sizes of IL
//   Dump points FILE...      sequence points of the PDB in or beside the file
using System;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using System.Text;

static class Dump
{
    static readonly StreamWriter Out = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16);

    static void Main(string[] args)
    {
        Out.NewLine = "\n";
        foreach (var file in args.Skip(1))
        {
            using var stream = File.OpenRead(file);
            using var pe = new PEReader(stream);
            Out.WriteLine("file " + file);
            if (!pe.HasMetadata) { Out.WriteLine("none"); continue; }
            if (args[0] == "metadata") { Metadata(pe.GetMetadataReader()); Sizes(pe); } else Points(pe, file);
        }
        Out.Flush();
    }

    static string Token(EntityHandle h) => MetadataTokens.GetToken(h).ToString("x8");

    static string Generics(MetadataReader r, GenericParameterHandleCollection g) =>
        string.Join(",", g.Select(h => r.GetString(r.GetGenericParameter(h).Name)));

    static void Sizes(PEReader pe)
    {
        var r = pe.GetMetadataReader();
        foreach (var h in r.MethodDefinitions)
        {
            var m = r.GetMethodDefinition(h);
            bool il = m.RelativeVirtualAddress != 0 && (m.ImplAttributes & MethodImplAttributes.CodeTypeMask) == MethodImplAttributes.IL;
            Out.WriteLine("il " + Token(h) + " " + (il ? pe.GetMethodBody(m.RelativeVirtualAddress).Size : 0));
        }
    }

    static void Metadata(MetadataReader r)
    {
        var module = r.GetModuleDefinition();
        Out.WriteLine("module " + r.GetGuid(module.Mvid) + " " + r.GetString(module.Name) + " " + r.MetadataVersion);
        Out.WriteLine("assembly " + (r.IsAssembly ? r.GetString(r.GetAssemblyDefinition().Name) : ""));
        var names = new Names();
        foreach (var h in r.TypeDefinitions)
        {
            var t = r.GetTypeDefinition(h);
            var outer = t.GetDeclaringType();
            Out.WriteLine("type " + Token(h) + " " + (outer.IsNil ? "0" : Token(outer)) + " " + names.GetTypeFromDefinition(r, h, 0) + " [" + Generics(r, t.GetGenericParameters()) + "]");
            foreach (var mh in t.GetMethods())
            {
                var m = r.GetMethodDefinition(mh);
                var s = m.DecodeSignature(names, null);
                var b = new StringBuilder();
                b.Append("method ").Append(Token(mh)).Append(' ').Append(Token(m.GetDeclaringType())).Append(' ').Append(r.GetString(m.Name));
                b.Append(" [").Append(Generics(r, m.GetGenericParameters())).Append("] ");
                b.Append((int)s.Header.RawValue).Append(' ').Append(s.GenericParameterCount).Append(' ').Append(Names.Method(s));
                foreach (var ph in m.GetParameters())
                {
                    var p = r.GetParameter(ph);
                    b.Append(' ').Append(p.SequenceNumber).Append(':').Append((int)p.Attributes).Append(':').Append(r.GetString(p.Name));
                    foreach (var ah in p.GetCustomAttributes()) b.Append(' ').Append(Attribute(r, names, ah));
                    if (p.SequenceNumber == s.ParameterTypes.Length && s.Header.CallingConvention != SignatureCallingConvention.VarArgs &&
                        p.SequenceNumber > 0 && p.GetCustomAttributes().Select(a => Attribute(r, names, a)).Any(a =>
                            a == "System.ParamArrayAttribute" && s.ParameterTypes.Last().StartsWith("vec{") ||
                            a == "System.Runtime.CompilerServices.ParamCollectionAttribute"))
                        b.Append(" params");
                }
                Out.WriteLine(b);
            }
        }
        foreach (var h in r.TypeReferences) Out.WriteLine("typeref " + Token(h) + " " + names.GetTypeFromReference(r, h, 0));
        for (int i = 1; i <= r.GetTableRowCount(TableIndex.TypeSpec); i++)
        {
            var h = MetadataTokens.TypeSpecificationHandle(i);
            Out.WriteLine("typespec " + Token(h) + " " + r.GetTypeSpecification(h).DecodeSignature(names, null));
        }
        foreach (var h in r.MemberReferences)
            if (r.GetMemberReference(h).GetKind() == MemberReferenceKind.Method)
                Out.WriteLine("call " + Token(h) + " " + Called(r, names, h));
        for (int i = 1; i <= r.GetTableRowCount(TableIndex.MethodSpec); i++)
        {
            var h = MetadataTokens.MethodSpecificationHandle(i);
            Out.WriteLine("call " + Token(h) + " " + Called(r, names, r.GetMethodSpecification(h).Method));
        }
        for (int i = 1; i <= r.GetTableRowCount(TableIndex.StandAloneSig); i++)
        {
            var h = MetadataTokens.StandaloneSignatureHandle(i);
            if (r.GetBlobReader(r.GetStandaloneSignature(h).Signature).ReadSignatureHeader().Kind == SignatureKind.Method)
                Out.WriteLine("call " + Token(h) + " 0 0  " + Names.Method(r.GetStandaloneSignature(h).DecodeMethodSignature(names, null)));
        }
    }

    // Called writes what a reference to a method says: type, definition, name, signature.
    static string Called(MetadataReader r, Names names, EntityHandle h)
    {
        if (h.Kind == HandleKind.MemberReference)
        {
            var m = r.GetMemberReference((MemberReferenceHandle)h);
            return Token(m.Parent) + " 0 " + r.GetString(m.Name) + " " + Names.Method(m.DecodeMethodSignature(names, null));
        }
        var d = r.GetMethodDefinition((MethodDefinitionHandle)h);
        return Token(d.GetDeclaringType()) + " " + Token(h) + " " + r.GetString(d.Name) + " " + Names.Method(d.DecodeSignature(names, null));
    }

    // Attribute writes the type of an attribute.
    static string Attribute(MetadataReader r, Names names, CustomAttributeHandle h)
    {
        var ctor = r.GetCustomAttribute(h).Constructor;
        if (ctor.Kind == HandleKind.MethodDefinition)
            return names.GetTypeFromDefinition(r, r.GetMethodDefinition((MethodDefinitionHandle)ctor).GetDeclaringType(), 0);
        var type = r.GetMemberReference((MemberReferenceHandle)ctor).Parent;
        return type.Kind == HandleKind.TypeReference ? names.GetTypeFromReference(r, (TypeReferenceHandle)type, 0) : Token(type);
    }

    static void Points(PEReader pe, string file)
    {
        var entries = pe.ReadDebugDirectory();
        foreach (var e in entries.Where(e => e.Type == DebugDirectoryEntryType.CodeView))
        {
            var c = pe.ReadCodeViewDebugDirectoryData(e);
            Out.WriteLine("codeview " + c.Guid + " " + e.Stamp.ToString("x8") + " " + c.Age + " " + e.IsPortableCodeView + " " + c.Path);
        }
        foreach (var e in entries.Where(e => e.Type == DebugDirectoryEntryType.PdbChecksum))
        {
            var c = pe.ReadPdbChecksumDebugDirectoryData(e);
            Out.WriteLine("checksum " + c.AlgorithmName + " " + BitConverter.ToString(c.Checksum.ToArray()).Replace("-", "").ToLowerInvariant());
        }
        Out.WriteLine("reproducible " + entries.Any(e => e.Type == DebugDirectoryEntryType.Reproducible));
        if (!pe.TryOpenAssociatedPortablePdb(file, p => File.Exists(p) ? File.OpenRead(p) : null, out var provider, out var path))
        {
            Out.WriteLine("none");
            return;
        }
        using (provider)
        {
            var r = provider.GetMetadataReader();
            Out.WriteLine("id " + BitConverter.ToString(r.DebugMetadataHeader.Id.ToArray()).Replace("-", "").ToLowerInvariant() + " " +
                (r.DebugMetadataHeader.EntryPoint.IsNil ? "00000000" : Token(r.DebugMetadataHeader.EntryPoint)));
            foreach (var h in r.Documents) Out.WriteLine("document " + r.GetString(r.GetDocument(h).Name) + Source(r, h));
            foreach (var h in r.MethodDebugInformation)
            {
                var m = r.GetMethodDebugInformation(h);
                var b = new StringBuilder("points " + Token(h.ToDefinitionHandle()));
                foreach (var s in m.GetSequencePoints())
                {
                    b.Append(' ').Append(s.Offset).Append('@').Append(MetadataTokens.GetRowNumber(s.Document)).Append(':');
                    if (s.IsHidden) b.Append("hidden");
                    else b.Append(s.StartLine).Append(',').Append(s.StartColumn).Append('-').Append(s.EndLine).Append(',').Append(s.EndColumn);
                }
                var kickoff = m.GetStateMachineKickoffMethod();
                if (!kickoff.IsNil) b.Append(" kickoff ").Append(Token(kickoff));
                Out.WriteLine(b);
            }
        }
    }

    // Source writes the source that is embedded, and whether the document has its hash.
    static string Source(MetadataReader r, DocumentHandle document)
    {
        foreach (var h in r.GetCustomDebugInformation(document))
        {
            var c = r.GetCustomDebugInformation(h);
            if (r.GetGuid(c.Kind) != new Guid("0E8A571B-6926-466E-B4AD-8AB04611F5FE")) continue;
            var blob = r.GetBlobBytes(c.Value);
            var size = BitConverter.ToInt32(blob, 0);
            var content = new MemoryStream(blob, 4, blob.Length - 4);
            var source = content.ToArray();
            if (size > 0)
            {
                var inflated = new MemoryStream();
                new System.IO.Compression.DeflateStream(content, System.IO.Compression.CompressionMode.Decompress).CopyTo(inflated);
                source = inflated.ToArray();
            }
            var d = r.GetDocument(document);
            var algorithm = r.GetGuid(d.HashAlgorithm);
            var sum = algorithm == new Guid("8829d00f-11b8-4213-878b-770e8597ac16") ? System.Security.Cryptography.SHA256.Create().ComputeHash(source)
                : algorithm == new Guid("ff1816ec-aa5e-4d10-87f7-6f4963833460") ? System.Security.Cryptography.SHA1.Create().ComputeHash(source) : null;
            return " source " + source.Length + " " + Hex(System.Security.Cryptography.SHA256.Create().ComputeHash(source)) + " " +
                (sum != null && r.GetBlobBytes(d.Hash).SequenceEqual(sum));
        }
        return "";
    }

    static string Hex(byte[] b) => BitConverter.ToString(b).Replace("-", "").ToLowerInvariant();

    // Names writes types so that no decision of style is in it.
    class Names : ISignatureTypeProvider<string, object>
    {
        public static string Method(MethodSignature<string> s) => "(" + string.Join(" ", s.ParameterTypes) + ")" + s.ReturnType;
        public string GetArrayType(string e, ArrayShape shape) => "array" + shape.Rank + "{" + e + "}";
        public string GetByReferenceType(string e) => "ref{" + e + "}";
        public string GetFunctionPointerType(MethodSignature<string> s) => "fn{" + Method(s) + "}";
        public string GetGenericInstantiation(string g, ImmutableArray<string> a) => "inst{" + g + " " + string.Join(" ", a) + "}";
        public string GetGenericMethodParameter(object c, int i) => "!!" + i;
        public string GetGenericTypeParameter(object c, int i) => "!" + i;
        public string GetModifiedType(string modifier, string t, bool required) => required ? "req{" + modifier + " " + t + "}" : t;
        public string GetPinnedType(string e) => "pinned{" + e + "}";
        public string GetPointerType(string e) => "ptr{" + e + "}";
        public string GetSZArrayType(string e) => "vec{" + e + "}";
        public string GetPrimitiveType(PrimitiveTypeCode c) => "#" + ((int)c).ToString("x");
        public string GetTypeFromSpecification(MetadataReader r, object c, TypeSpecificationHandle h, byte k) => "spec:" + Token(h);

        public string GetTypeFromDefinition(MetadataReader r, TypeDefinitionHandle h, byte k)
        {
            var t = r.GetTypeDefinition(h);
            var name = r.GetString(t.Name);
            var outer = t.GetDeclaringType();
            if (!outer.IsNil) return GetTypeFromDefinition(r, outer, 0) + "/" + name;
            return t.Namespace.IsNil ? name : r.GetString(t.Namespace) + "." + name;
        }

        public string GetTypeFromReference(MetadataReader r, TypeReferenceHandle h, byte k)
        {
            var t = r.GetTypeReference(h);
            var name = r.GetString(t.Name);
            if (t.ResolutionScope.Kind == HandleKind.TypeReference)
                return GetTypeFromReference(r, (TypeReferenceHandle)t.ResolutionScope, 0) + "/" + name;
            return t.Namespace.IsNil ? name : r.GetString(t.Namespace) + "." + name;
        }
    }
}
