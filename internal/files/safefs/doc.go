// Package safefs works in folders that another user may write, without believing what is there.
//
// Problem: clrprof runs as root beside processes of users whom nobody trusts, and meets each in a folder that the
// process's own environment names. Between two system calls such a user can put a link where a file was, a folder where
// another was, or a FIFO, a device or a file of somebody else under a name that is about to be opened. A path that is
// looked up with root's rights then leads to any file of the machine.
//
// Idea, in two layers. A User lends its rights: what is done in its folders is done by a thread that has that user's
// identity towards files, and none of root's privileges, so a link leads nowhere that the user could not go alone. And
// a Dir is a folder by its descriptor: names in it have no slash, links are never followed, what is opened must be a
// regular file of the folder's owner on the same file system, and it is looked at before it is opened, as it can be a
// device. A folder of a container is found with the container's root as the root of all links (openat2(2),
// RESOLVE_IN_ROOT).
//
// Trusted says of a path that nobody but this user and root can change what it leads to.
package safefs
