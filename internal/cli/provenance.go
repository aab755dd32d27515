package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/clock"
	"tokentape/internal/probe"
	"tokentape/internal/provenance"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// Bounds of the command line on the tape.
const (
	mostWords = 300
	longWord  = 1000 // bytes
)

// origin is where a run comes from, as found out right before it begins.
type origin struct {
	host     tape.Host
	envelope *tape.Envelope // of the host; nil: not known
	source   *tape.Source
	command  []string
	servers  []*witnessed
}

// witnessed is a server and what it said before the run.
type witnessed struct {
	base   spec.Base
	by     *probe.Witness
	before *tape.ServerFacts // its T by the machine's clock, until t = 0 is known
}

// addOriginFlags are those that say more of where a run comes from.
func addOriginFlags(cmd *cobra.Command, f *specFlags) {
	cmd.Flags().StringArrayVar(&f.notes, "note", nil, "name=value to keep with the run, such as server_commit=1a2b3c or cards=8 (may be given more than once)")
}

// noteSets are the notes of the command line, as the spec takes them.
func noteSets(notes []string) ([]spec.Set, error) {
	var sets []spec.Set
	for _, n := range notes {
		name, value, ok := strings.Cut(n, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usageError("--note: name=value is needed", "such as --note server_commit=1a2b3c --note cards=8") // what was given may be a secret
		}
		sets = append(sets, spec.Set{Path: "notes." + name, Value: value, Origin: "--note " + name})
	}
	return sets, nil
}

// witness keeps what the server at base says, from the preflight on.
func (j *job) witness(base spec.Base) *probe.Witness {
	w := &witnessed{base: base, by: probe.NewWitness(base, secret.New(j.secrets()))}
	j.origin.servers = append(j.origin.servers, w)
	return w.by
}

// sourceFolder refuses a source that is no folder, before anything is sent.
func (j *job) sourceFolder() error {
	dir := j.spec.Provenance.Source
	if dir == "" {
		return nil
	}
	if i, err := os.Stat(dir); err != nil {
		return usageError(fmt.Sprintf("provenance.source: %v", err), "name a folder that git knows, or leave --source out")
	} else if !i.IsDir() {
		return usageError(fmt.Sprintf("provenance.source: %s is no folder", dir), "name a folder that git knows, or leave --source out")
	}
	return nil
}

// originate finds out where the run comes from: last of all before it begins.
func (a *app) originate(ctx context.Context, j *job, clk *clock.Clock) {
	o := &j.origin
	o.command = commandLine(a.args, j.mask)
	if dir := j.spec.Provenance.Source; dir != "" {
		s := provenance.Source(ctx, dir)
		for _, text := range []*string{&s.Path, &s.Branch, &s.Describe, &s.Why} {
			*text = j.mask(*text)
		}
		o.source = s
		if s.By == "" {
			j.notes = append(j.notes, fmt.Sprintf("provenance.source: %s: %s", s.Path, s.Why))
		}
	}
	if len(o.servers) > 0 {
		c := j.client(clk)
		defer c.Close()
		for _, w := range o.servers {
			w.before = w.by.Before(ctx, j.look(c, w.base))
			w.before.T = clk.Machine(clk.Now())
		}
	}
	o.host = provenance.Host("/", a.env, clk.Wall())
	var err error
	if o.envelope, err = knownEnvelope(o.host); err != nil {
		j.notes = append(j.notes, "the envelope that tokentape doctor kept cannot be read, which tokentape doctor mends: "+err.Error())
	}
}

// commandLine is the command line fit to be kept, the program first.
func commandLine(args []string, mask func(string) string) []string {
	shown, hidden := maskWords(args)
	set := secret.New(hidden)
	out := []string{"tokentape"}
	for i, w := range shown {
		if i == mostWords {
			return append(out, fmt.Sprintf("… and %d more", len(shown)-i))
		}
		w = secret.OneLine(mask(set.Mask(w)))
		if len(w) > longWord {
			w = strings.ToValidUTF8(w[:longWord], "") + "…"
		}
		out = append(out, w)
	}
	return out
}

// testify puts what the servers say on the tape: what they said before the run at
// once, and when the run is over what they say then.
func (j *job) testify(clk *clock.Clock) run.Sampler {
	return func(ctx context.Context, _ func() run.Gauges, emit func(any)) {
		for _, w := range j.origin.servers {
			if w.before != nil {
				w.before.T -= clk.Machine(0)
				emit(w.before)
			}
		}
		<-ctx.Done()
		c := j.client(clk)
		defer c.Close()
		for _, w := range j.origin.servers {
			if w.before != nil {
				t := clk.Now()
				after := w.by.After(context.WithoutCancel(ctx), j.look(c, w.base))
				after.T = t
				emit(after)
			}
		}
	}
}

// hostFacts are those of this machine now.
func hostFacts() tape.Host { return provenance.Host("/", os.LookupEnv, clock.New().Wall()) }
