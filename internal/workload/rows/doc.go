// Package rows is the workload.Source over a dataset: what a row means, template
// and system message become an Item. Each meaning has a file: question, messages,
// sharegpt, tokens, bodies, mooncake, burstgpt, azure.
//
// In: the workload part of a spec. Out: Items, after every row has been checked
// once. It must never send a row that differs from the one it checked, never drop
// or fill in a part of a row without saying so in Notes, and never keep rows in
// memory (8 bytes a row where rows are chosen or sorted, 8 to find repeats, 16 for
// times).
package rows
