// Package bundle reads .NET single-file applications: an executable, the host,
// with the program's assemblies and other files behind it.
//
// # Format
//
// The host holds the SHA-256 of ".net core bundle" as a signature, and in the
// eight bytes before it the offset of a header, which is 0 in a host without a
// bundle. The header is a version, the number of files, an id, and from version 2
// on where two JSON files lie, and flags; then one entry for each file: offset,
// size, from version 6 on the size as compressed (0: it is not), type, path. All
// numbers are little endian, strings begin with their length in seven bits to a
// byte. Compressed files are DEFLATE streams, RFC 1951.
//
// Source: dotnet/runtime, src/installer/managed/Microsoft.NET.HostModel/Bundle,
// Manifest.cs and FileEntry.cs; .NET Core 3 writes version 1, .NET 5 version 2, .NET 6
// and later version 6.
//
// # Limits
//
// No file can make [Read] fail in another way than by an error, or need more
// memory than named in limits.
package bundle
