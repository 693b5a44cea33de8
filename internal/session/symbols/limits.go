package symbols

const (
	// maxName bounds a resolved name, in bytes. Instantiations can nest without
	// end, and a name longer than a few screens tells a person nothing. A longer
	// name is cut and ends in "…".
	maxName = 8 << 10
	// maxTypeDepth bounds the nesting of type arguments and array elements, which
	// in a corrupt session may form a loop. Deeper types are shown as "?".
	maxTypeDepth = 64
	// maxArguments bounds the type arguments of one type or method. C# compilers
	// allow 65535; nobody has written more than 20.
	maxArguments = 1024
	// maxOverloads bounds how many methods of one name a name is compared with.
	maxOverloads = 256
	// maxSiblings bounds the methods of one type that names are compared with, and
	// maxSiblingTypes the types whose methods are remembered. The largest type of
	// the frameworks has 3,000 methods.
	maxSiblings     = 1 << 14
	maxSiblingTypes = 64
	// maxGenerated bounds how often names that compilers made from names are
	// taken apart: a state machine of a lambda in a local function is 3.
	maxGenerated = 16
	// maxBody bounds the body of a method whose objects are looked for, in bytes, and
	// maxObjects their number in it. Methods that people write have some ten.
	maxBody    = 1 << 20
	maxObjects = 1 << 12
	// maxRun bounds the calls in what the runtime's map has as one statement, and
	// the return addresses there: their lines are not looked for if there are more.
	maxRun = 1 << 8
	// maxRoutes bounds the routes of one function that are named, and maxGroups the
	// groups of routes within each other. People write two or three. maxGiven bounds
	// the ways that are followed from one builder of routes to where it is from.
	maxRoutes = 16
	maxGroups = 64
	maxGiven  = 1 << 10
	// maxPDB bounds the size of a PDB that is read into memory. That of the
	// .NET runtime's core library has 5 MB.
	maxPDB = 1 << 30
)
