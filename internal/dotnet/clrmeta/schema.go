package clrmeta

import "math/bits"

// Table is the number of a metadata table (ECMA-335 II.22, portable PDB
// specification for 0x30 and up).
type Table uint8

// The tables that this project names.
const (
	TableModule                 Table = 0x00
	TableTypeRef                Table = 0x01
	TableTypeDef                Table = 0x02
	TableFieldPtr               Table = 0x03
	TableField                  Table = 0x04
	TableMethodPtr              Table = 0x05
	TableMethodDef              Table = 0x06
	TableParamPtr               Table = 0x07
	TableParam                  Table = 0x08
	TableMemberRef              Table = 0x0A
	TableCustomAttribute        Table = 0x0C
	TableStandAloneSig          Table = 0x11
	TableMethodImpl             Table = 0x19
	TableTypeSpec               Table = 0x1B
	TableAssembly               Table = 0x20
	TableAssemblyRef            Table = 0x23
	TableExportedType           Table = 0x27
	TableNestedClass            Table = 0x29
	TableGenericParam           Table = 0x2A
	TableMethodSpec             Table = 0x2B
	TableDocument               Table = 0x30
	TableCustomDebugInformation Table = 0x37
	TableMethodDebugInformation Table = 0x31
	TableStateMachineMethod     Table = 0x36

	tableCount = 0x38
)

// column is the kind of a column. Values below tableCount are row numbers of
// that table; values from codedBase are coded indexes.
type column uint8

const (
	colU2 column = 0x60 + iota
	colU4
	colString
	colGUID
	colBlob
)

const codedBase column = 0x80

// Coded indexes, ECMA-335 II.24.2.6.
const (
	typeDefOrRef column = codedBase + iota
	hasConstant
	hasCustomAttribute
	hasFieldMarshal
	hasDeclSecurity
	memberRefParent
	hasSemantics
	methodDefOrRef
	memberForwarded
	implementation
	customAttributeType
	resolutionScope
	typeOrMethodDef
	hasCustomDebugInformation
)

// noTable marks a tag that has no meaning.
const noTable Table = 0xFF

// coded lists the tables of each coded index, by tag.
var coded = [...][]Table{
	typeDefOrRef - codedBase: {0x02, 0x01, 0x1B},
	hasConstant - codedBase:  {0x04, 0x08, 0x17},
	hasCustomAttribute - codedBase: {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14,
		0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2A, 0x2C, 0x2B},
	hasFieldMarshal - codedBase:     {0x04, 0x08},
	hasDeclSecurity - codedBase:     {0x02, 0x06, 0x20},
	memberRefParent - codedBase:     {0x02, 0x01, 0x1A, 0x06, 0x1B},
	hasSemantics - codedBase:        {0x14, 0x17},
	methodDefOrRef - codedBase:      {0x06, 0x0A},
	memberForwarded - codedBase:     {0x04, 0x06},
	implementation - codedBase:      {0x26, 0x23, 0x27},
	customAttributeType - codedBase: {noTable, noTable, 0x06, 0x0A, noTable},
	resolutionScope - codedBase:     {0x00, 0x1A, 0x23, 0x01},
	typeOrMethodDef - codedBase:     {0x02, 0x06},
	hasCustomDebugInformation - codedBase: {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14,
		0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2A, 0x2C, 0x2B, 0x30, 0x32, 0x33, 0x34, 0x35},
}

// tagBits is how many low bits of a coded index are its tag.
func tagBits(c column) int { return bits.Len(uint(len(coded[c-codedBase]) - 1)) }

// schema lists the columns of each table: ECMA-335 II.22, the pointer tables of
// uncompressed (#-) metadata, and the portable PDB specification. A table
// without columns does not exist.
var schema = [tableCount][]column{
	0x00: {colU2, colString, colGUID, colGUID, colGUID},                               // Module
	0x01: {resolutionScope, colString, colString},                                     // TypeRef
	0x02: {colU4, colString, colString, typeDefOrRef, 0x04, 0x06},                     // TypeDef
	0x03: {0x04},                                                                      // FieldPtr
	0x04: {colU2, colString, colBlob},                                                 // Field
	0x05: {0x06},                                                                      // MethodPtr
	0x06: {colU4, colU2, colU2, colString, colBlob, 0x08},                             // MethodDef
	0x07: {0x08},                                                                      // ParamPtr
	0x08: {colU2, colU2, colString},                                                   // Param
	0x09: {0x02, typeDefOrRef},                                                        // InterfaceImpl
	0x0A: {memberRefParent, colString, colBlob},                                       // MemberRef
	0x0B: {colU2, hasConstant, colBlob},                                               // Constant
	0x0C: {hasCustomAttribute, customAttributeType, colBlob},                          // CustomAttribute
	0x0D: {hasFieldMarshal, colBlob},                                                  // FieldMarshal
	0x0E: {colU2, hasDeclSecurity, colBlob},                                           // DeclSecurity
	0x0F: {colU2, colU4, 0x02},                                                        // ClassLayout
	0x10: {colU4, 0x04},                                                               // FieldLayout
	0x11: {colBlob},                                                                   // StandAloneSig
	0x12: {0x02, 0x14},                                                                // EventMap
	0x13: {0x14},                                                                      // EventPtr
	0x14: {colU2, colString, typeDefOrRef},                                            // Event
	0x15: {0x02, 0x17},                                                                // PropertyMap
	0x16: {0x17},                                                                      // PropertyPtr
	0x17: {colU2, colString, colBlob},                                                 // Property
	0x18: {colU2, 0x06, hasSemantics},                                                 // MethodSemantics
	0x19: {0x02, methodDefOrRef, methodDefOrRef},                                      // MethodImpl
	0x1A: {colString},                                                                 // ModuleRef
	0x1B: {colBlob},                                                                   // TypeSpec
	0x1C: {colU2, memberForwarded, colString, 0x1A},                                   // ImplMap
	0x1D: {colU4, 0x04},                                                               // FieldRVA
	0x1E: {colU4, colU4},                                                              // EncLog
	0x1F: {colU4},                                                                     // EncMap
	0x20: {colU4, colU2, colU2, colU2, colU2, colU4, colBlob, colString, colString},   // Assembly
	0x21: {colU4},                                                                     // AssemblyProcessor
	0x22: {colU4, colU4, colU4},                                                       // AssemblyOS
	0x23: {colU2, colU2, colU2, colU2, colU4, colBlob, colString, colString, colBlob}, // AssemblyRef
	0x24: {colU4, 0x23},                                                               // AssemblyRefProcessor
	0x25: {colU4, colU4, colU4, 0x23},                                                 // AssemblyRefOS
	0x26: {colU4, colString, colBlob},                                                 // File
	0x27: {colU4, colU4, colString, colString, implementation},                        // ExportedType
	0x28: {colU4, colU4, colString, implementation},                                   // ManifestResource
	0x29: {0x02, 0x02},                                                                // NestedClass
	0x2A: {colU2, colU2, typeOrMethodDef, colString},                                  // GenericParam
	0x2B: {methodDefOrRef, colBlob},                                                   // MethodSpec
	0x2C: {0x2A, typeDefOrRef},                                                        // GenericParamConstraint
	0x30: {colBlob, colGUID, colBlob, colGUID},                                        // Document
	0x31: {0x30, colBlob},                                                             // MethodDebugInformation
	0x32: {0x06, 0x35, 0x33, 0x34, colU4, colU4},                                      // LocalScope
	0x33: {colU2, colU2, colString},                                                   // LocalVariable
	0x34: {colString, colBlob},                                                        // LocalConstant
	0x35: {0x35, colBlob},                                                             // ImportScope
	0x36: {0x06, 0x06},                                                                // StateMachineMethod
	0x37: {hasCustomDebugInformation, colGUID, colBlob},                               // CustomDebugInformation
}

// Columns that are read by number. The order is that of schema.
const (
	moduleName, moduleMVID                         = 1, 2
	typeRefScope, typeRefName, typeRefNamespace    = 0, 1, 2
	typeDefName, typeDefNamespace, typeDefMethods  = 1, 2, 5
	typeDefExtends, typeDefFields                  = 3, 4
	methodRVA, methodImplFlags                     = 0, 1
	methodFlags, methodName                        = 2, 3
	methodSignature, methodParams                  = 4, 5
	paramFlags, paramSequence, paramName           = 0, 1, 2
	memberRefClass, memberRefName                  = 0, 1
	memberRefSignature                             = 2
	fieldName                                      = 1
	attributeParent, attributeType, attributeValue = 0, 1, 2
	implClass, implBody, implDeclaration           = 0, 1, 2
	assemblyName, assemblyRefName                  = 7, 6
	exportedName, exportedNamespace, exportedIn    = 2, 3, 4
	nestedClass, nestedEnclosing                   = 0, 1
	genericNumber, genericOwner, genericName       = 0, 2, 3
)
