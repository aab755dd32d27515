package analysis

import "tokentape/internal/analysis/catalog"

// Definition is what a value means, from the one place where that is written.
type Definition = catalog.Entry

// Definitions are those of the metrics of a request, of the rows and facts of a
// window, and of the run, in the order of docs/metrics.md.
func Definitions() []Definition { return catalog.All() }

// MetricDefinitions are those of the metrics of a request, in the order in which
// they are shown.
func MetricDefinitions() []Definition { return catalog.Of(catalog.KindMetric) }

// DefinitionOf is that of a row or fact of a window, or of a word of the report.
func DefinitionOf(name string) (Definition, bool) {
	return catalog.Find(name, catalog.KindSystem, catalog.KindFact, catalog.KindTerm)
}
