package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tokentape/internal/analysis"
	"tokentape/internal/bundle"
	"tokentape/tape"
)

// powerName is the power series of a run, kept beside its tape, so that energy can
// be read off the folder again.
const powerName = "power.csv"

// analyse reads a tape, with the power series beside it, or the one at power where
// that is given.
func analyse(path string, o analysis.Options, power string) (*analysis.Results, error) {
	var err error
	if o.Power, err = powerOf(path, power); err != nil {
		return nil, err
	}
	var res *analysis.Results
	err = guard(func() error {
		res, err = analysis.AnalyseFile(path, o)
		return err
	})
	return res, err
}

// powerOf is the power series at power, else that beside the tape, nil for none.
func powerOf(path, power string) (*analysis.Power, error) {
	if power == "" && tape.Packed(path) {
		return packedPower(path)
	}
	if power == "" {
		if power = filepath.Join(filepath.Dir(path), powerName); !fileExists(power) {
			return nil, nil
		}
	}
	p, err := analysis.ReadPowerFile(power)
	if err != nil {
		return nil, fmt.Errorf("power series: %w", err)
	}
	return p, nil
}

// packedPower is the power series in a pack, nil for none.
func packedPower(path string) (*analysis.Power, error) {
	p, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if !p.Has(bundle.PowerName) {
		return nil, nil
	}
	r, err := p.Open(bundle.PowerName)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	series, err := analysis.ReadPower(r)
	if err != nil {
		return nil, fmt.Errorf("power series: %s of %s: %w", bundle.PowerName, path, err)
	}
	return series, nil
}

// checkPack refuses a pack that is none, or not one that is read; any other file
// passes.
func checkPack(path string) error {
	if !tape.Packed(path) {
		return nil
	}
	p, err := bundle.Open(path)
	if err != nil {
		return usageError(printable(err.Error()), "tokentape check "+path)
	}
	return p.Close()
}

// keepPower copies the power series that the spec names into the run's folder, if
// it can be read. It is no error when it cannot: what was measured is not lost, and
// the series can be given later.
func (a *app) keepPower(from string, dir *runDir) {
	if from == "" {
		return
	}
	_, err := analysis.ReadPowerFile(from)
	if err == nil {
		err = dir.write(powerName, func(to *os.File) error {
			f, err := os.Open(from)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(to, f)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "no energy: %v\n  → tokentape report RUN --power FILE reads it later\n", err)
	}
}
