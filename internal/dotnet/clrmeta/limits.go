package clrmeta

// The limits of this package. A file beyond one of them is refused with an
// error that wraps [ErrMalformed]; no file that a runtime loads is.
const (
	// maxSections: the loaders of Windows and of CoreCLR accept at most 96.
	maxSections = 96
	// maxMetadata bounds what Open reads into memory. The largest assembly of
	// the 9.0 frameworks has 5 MB of metadata.
	maxMetadata = 512 << 20
	// maxVersion: ECMA-335 II.24.2.1 allows 255 bytes, rounded up to 4.
	maxVersion = 256
	// maxStreams: ECMA-335 names five, portable PDBs add one, and
	// edit-and-continue two. There may be no others.
	maxStreams = 16
	// maxString bounds one name. CoreCLR refuses to load names of more than
	// 1023 bytes; compilers may store longer ones, which read as an error.
	maxString = 4096
	// maxNesting bounds how deep types are nested. Above all it ends loops.
	maxNesting = 64
	// maxSignature bounds one signature blob; a decoded tree takes up to 120
	// bytes of memory for each byte of it.
	maxSignature = 1 << 16
	// maxSigDepth bounds the recursion of a signature: List<List<…>>.
	maxSigDepth = 64
	// maxParams bounds the parameters of one method of which names are read.
	// The longest list in the frameworks has 33.
	maxParams = 4096
	// maxGenerics bounds the type parameters of one type or method. The most in
	// the frameworks are 17.
	maxGenerics = 1024
	// maxRank: CoreCLR refuses arrays of more than 32 dimensions.
	maxRank = 32
	// maxDebugEntries bounds the debug directory; compilers write up to 5, and
	// the ReadyToRun compiler adds 1.
	maxDebugEntries = 64
	// maxDebugName bounds the entries of the debug directory that hold a path or
	// a checksum; maxDebugData bounds the embedded PDB before decompression, and
	// maxEmbedded after it.
	maxDebugName = 1 << 16
	maxDebugData = 256 << 20
	maxEmbedded  = 512 << 20
	// maxInflate: deflate cannot make more than 1032 bytes of one, so a larger
	// claim is a lie and is refused before anything is allocated.
	maxInflate = 1032
)
