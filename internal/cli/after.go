package cli

import (
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/spec"
)

// setHelp is the help of --set where a tape is read.
const setHelp = "what is known only now, over the tape's spec and noted as such: devices, cost.*, energy.watts, report.slo.*, report.strict, limits.failed_share (path=value, several times)"

// after lays settings that were given when the tape at path is read over its spec.
func after(path string, texts []string, power string, o *analysis.Options) error {
	if len(texts) == 0 {
		return nil
	}
	sets, err := parseSets(texts)
	if err != nil {
		return err
	}
	var recorded []byte
	if h := tapeHead(path); h != nil {
		recorded = h.Spec
	}
	given, issues := spec.After(recorded, sets)
	var errs []string
	for _, i := range issues {
		errs = append(errs, i.Format())
	}
	for _, s := range sets {
		if p, err := powerOf(path, power); s.Path == "energy.watts" && (p != nil || err != nil) {
			errs = append(errs, "--set energy.watts has no effect: a power series, by --power or "+powerName+" beside the tape, is measured")
		}
	}
	if len(errs) > 0 {
		return &exitError{code: exitUsage, msg: strings.Join(errs, "\n")}
	}
	o.Over, o.Given = given.Spec, given.Given
	return nil
}
