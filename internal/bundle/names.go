package bundle

import (
	"regexp"
	"slices"
	"strings"

	"tokentape/tape"
)

// Members that every pack has, beside the tape.
const (
	ManifestName = "pack.json"  // what is in it, and of what
	SumsName     = "SHA256SUMS" // of every other member, as sha256sum -c reads it
)

// Members that a pack may have, as in a run's folder.
const (
	SpecName    = "spec.yaml"
	PlanName    = "plan.jsonl"
	ResultsName = "results.json"
	PowerName   = "power.csv"
	LogName     = "run.log"
)

// fromFolder are the files of a run's folder that tokentape writes.
var fromFolder = []string{
	tape.NameCompressed, tape.NamePlain, SpecName, PlanName, ResultsName, "report.txt", "report.md", "report.html",
	"stats.csv", "requests.csv", "server.csv", PowerName, LogName,
}

// FromFolder are the names of a run's folder that a pack takes, tape included.
func FromFolder() []string { return slices.Clone(fromFolder) }

// setName is a dataset, with its place among those of the tape, or its manifest.
var setName = regexp.MustCompile(`^dataset-(\d{1,4})(\.manifest\.json|(\.[a-z0-9]{1,8}){0,2})$`)

// isManifest reports whether a member is a dataset's manifest.
func isManifest(name string) bool { return strings.HasSuffix(name, ".manifest.json") }

// known reports whether a pack may have a member of that name.
func known(name string) bool {
	return name == ManifestName || name == SumsName || slices.Contains(fromFolder, name) || setName.MatchString(name)
}

// isTape reports whether a member is the tape.
func isTape(name string) bool { return name == tape.NameCompressed || name == tape.NamePlain }

// stored reports whether a member lies in the pack as it is: it is compressed
// already, or must be readable in place.
func stored(name string) bool {
	return isTape(name) || strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst") || strings.HasSuffix(name, ".parquet")
}
