// Package pyconf evaluates configuration files written in Python, without Python.
//
// In: a file, values for its environment reads, and limits. Out: the values of
// its top-level names, each field of a dict with the place that gave it, or an
// Error with file:line:col of the Python text and what mends it.
//
// It rewrites the tokens of a subset of Python to Starlark (imports, f-strings,
// implicit concatenation, unpacking, powers, annotations) and runs that within a
// budget of steps and bytes. What is imported becomes a Symbol, a name without
// behaviour. It must never run a program, open a socket, or read a file other
// than the configs that the file includes from its own tree.
package pyconf
