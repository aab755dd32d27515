package sim

import (
	"fmt"

	"tokentape/internal/clock"
)

// Clock is the clock of an engine: clock.NewPrecise on sockets, clock.New inside
// a testing/synctest bubble.
type Clock = clock.Clock

// NewClock is clock.NewPrecise.
func NewClock() *Clock { return clock.NewPrecise() }

// Config are the knobs of an Engine. Times are nanoseconds, 0 or more.
type Config struct {
	Slots           int   // requests in prefill or decode at once, ≥ 1
	PrefillFixed    int64 // of every prefill step
	PrefillPerToken int64 // of every uncached prompt token
	DecodeBase      int64 // of every decode step
	DecodePerSeq    int64 // of every request in a decode step
	ChunkTokens     int   // prompt tokens a step; 0: whole prompts in a step of their own
	Disaggregated   bool  // prefill and decode on a timeline each

	Cache      bool // prefix cache on
	PageSize   int  // tokens a page, ≥ 1
	CachePages int  // capacity in pages, ≥ 1; also the KV size that TokenUsage refers to
	// HostPages and StoragePages are what falls out of CachePages and then out of the
	// host's memory; 0: there is none. A hit there costs no time.
	HostPages, StoragePages int

	OutputMean float64 // mean output length in tokens where EOS is not ignored, ≥ 1
	OutputCV   float64 // its coefficient of variation (log-normal), ≥ 0; 0: the mean, rounded

	TokensPerEvent int     // most tokens a decode step yields for one request, ≥ 1 (speculation when > 1)
	AcceptRate     float64 // chance that a drafted token is accepted after all before it were, 0..1

	Seed uint64
}

// Validate names the first field that is out of range.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name string
		bad  bool
		want string
	}{
		{"Slots", c.Slots < 1, "at least 1"},
		{"PrefillFixed", c.PrefillFixed < 0, "0 or more"},
		{"PrefillPerToken", c.PrefillPerToken < 0, "0 or more"},
		{"DecodeBase", c.DecodeBase < 0, "0 or more"},
		{"DecodePerSeq", c.DecodePerSeq < 0, "0 or more"},
		{"ChunkTokens", c.ChunkTokens < 0, "0 or more"},
		{"PageSize", c.PageSize < 1, "at least 1"},
		{"CachePages", c.CachePages < 1, "at least 1"},
		{"HostPages", c.HostPages < 0, "0 or more"},
		{"StoragePages", c.StoragePages < 0, "0 or more"},
		{"OutputMean", !(c.OutputMean >= 1 && c.OutputMean <= 1e9), "from 1 to 1e9"},
		{"OutputCV", !(c.OutputCV >= 0 && c.OutputCV <= 100), "from 0 to 100"},
		{"TokensPerEvent", c.TokensPerEvent < 1, "at least 1"},
		{"AcceptRate", !(c.AcceptRate >= 0 && c.AcceptRate <= 1), "from 0 to 1"},
	} {
		if f.bad {
			return fmt.Errorf("simulated engine: %s must be %s", f.name, f.want)
		}
	}
	return nil
}
