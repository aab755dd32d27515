// Package template renders a prompt from the fields of a dataset row.
//
// In: a template such as "Answer briefly: {question}" and a row's fields. Out: a
// prompt, or an error that names the field and its nearest neighbour. It must
// never render a missing or null field as nothing.
package template
