// Package columns encodes a block of rows column by column, so that it becomes small and quick to read.
//
// # Problem
//
// A recording has millions of rows of a few integers each: references that rise from row to row, and counts that are
// mostly small. As rows of a database each takes some 20 to 150 bytes, and a microsecond to write.
//
// # Idea
//
// The values of one column stand together, each as the difference to the one before it. The differences are small, so
// they take a byte or two as variable-length integers, and repeat, so that a general compressor shortens them further
// (that is left to the caller). Texts are stored once for a block; a column of texts holds their numbers.
//
// # Format
//
//	block    = number of texts, texts, columns
//	text     = length in bytes, bytes (UTF-8)
//	column   = a value for each row: the difference to the value above it (the first: to 0), modulo 2^64,
//	           as a signed integer
//	number   = unsigned integer: 7 bits for each byte, the lowest first, the top bit set in all bytes but the last
//	signed   = n as the unsigned integer 2n, and -n as 2n-1 ("zigzag")
//
// How many rows and columns there are, and which columns hold texts, is not in the block.
//
// # Limits
//
// Whatever the bytes, decode returns a block or an error, and sets aside no more memory than its arguments and the
// length of the bytes allow.
package columns
