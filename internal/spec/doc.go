// Package spec is what the user asked for: one struct, defaults first, flags
// override fields before validation, read-only afterwards.
//
// In: a YAML file, environment values, flag assignments. Out: a resolved Spec or
// issues with file:line:col and a suggestion. It must never read the network or
// the dataset, never guess a misspelt key, and never write a secret.
package spec
