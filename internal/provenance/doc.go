// Package provenance reads where a run comes from: the machine of the client, the
// program itself, and the git state of a folder of source.
//
// In: the files of /proc, /sys and /etc below a root, the environment, a folder. Out:
// facts in the tape's words; what cannot be read is absent, never an error. It must
// never write, never reach the network, and never run anything but git, on a folder
// that the user named.
package provenance
