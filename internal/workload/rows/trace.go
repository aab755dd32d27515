package rows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokentape/internal/spec"
	"tokentape/internal/workload/dataset"
)

// A trace says when requests came and how long they were, not what they asked.

// leftNoInput and leftNoOutput are requests of a trace that failed or are empty.
const (
	leftNoInput  = leaves("no_input")
	leftNoOutput = leaves("no_output")
)

// stamp is a time as it stands in the file, before its unit is known: whole units
// and billionths of one.
type stamp struct {
	whole int64
	nano  int32
}

func (a stamp) compare(b stamp) int {
	return cmp.Or(cmp.Compare(a.whole, b.whole), cmp.Compare(a.nano, b.nano))
}

// stamp reads the time of a row.
func (s *Source) stamp(row dataset.Row) (stamp, error) {
	name := s.when(row)
	raw, ok := given(row, name)
	if !ok {
		return stamp{}, row.Issue("every row of a trace says when it was sent; take the row out, or leave it out with workload.dataset.on_bad_row: skip",
			"the row has no %s", name)
	}
	// The times of a Parquet table have a type of their own, and come as text.
	if (s.kind.dates || s.file.Info().Format == "parquet") && raw[0] == '"' {
		if at, ok := dates(plain(raw)); ok {
			s.dated++
			return at, nil
		}
		return stamp{}, row.Issue("such as 2023-11-16 18:17:03.9799600, from 1970 on", "%s is %s, which is no time", name, short(raw))
	}
	s.counted++
	at, why := parseStamp(string(raw))
	if why != "" {
		return at, row.Issue("a number that counts from any fixed point", "%s is %s, which is %s", name, short(raw), why)
	}
	return at, nil
}

// when is the field that holds the time.
func (s *Source) when(row dataset.Row) string {
	if s.w.Dataset.Columns["timestamp"] != "" || s.kind.when == "" {
		return "timestamp"
	}
	return s.kind.when
}

// parseStamp reads a JSON number exactly, or says what is wrong with it.
func parseStamp(text string) (stamp, string) {
	switch {
	case text[0] == '"' || text == "true" || text == "false" || text[0] == '{' || text[0] == '[':
		return stamp{}, "no number"
	case text[0] == '-' && strings.Trim(text, "-0.eE+") != "":
		return stamp{}, "negative"
	}
	text = strings.TrimPrefix(text, "-")
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f > 1<<62 {
			return stamp{}, "too large"
		}
		whole, frac := math.Modf(f)
		return stamp{int64(whole), int32(frac * 1e9)}, ""
	}
	whole, frac, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return stamp{}, "too large"
	}
	nano, _ := strconv.ParseInt((frac + "000000000")[:9], 10, 32)
	return stamp{n, int32(nano)}, ""
}

var units = map[string]int64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// unit is what a time counts, and why it is taken to. fractions: there are some,
// and the mean time between rows is below one.
func (s *Source) unit(least stamp, fractions bool) (name, why string, err error) {
	u := s.w.Dataset.TimeUnit
	switch {
	case s.dated > 0 && s.counted > 0:
		return "", "", spec.Issue{File: s.w.Dataset.Path, Message: fmt.Sprintf("%d times are dates and %d are numbers", s.dated, s.counted), Hint: "write all of them in one way"}
	case s.dated > 0 && u != "" && u != "auto":
		return "", "", spec.Issue{File: s.w.Dataset.Path, Field: "workload.dataset.time_unit", Message: "has no effect: the times are dates", Hint: "remove it"}
	case s.dated > 0:
		return "s", "", nil
	}
	if u != "" && u != "auto" {
		return u, "workload.dataset.time_unit", nil
	}
	// Times since 1970, from 2001 to 2100: no trace that counts from its own start
	// has its first row after thirty years.
	for _, u := range []struct {
		name string
		from int64
	}{{"s", 1e9}, {"ms", 1e12}, {"us", 1e15}, {"ns", 1e18}} {
		if least.whole >= u.from && least.whole/4 < u.from/100*103 {
			return u.name, "they count from 1970", nil
		}
	}
	switch {
	case s.kind.unit == "":
		return "", "", spec.Issue{File: s.w.Dataset.Path, Field: "workload.dataset.time_unit", Message: "the unit of the timestamps is not known",
			Hint: "set it to s, ms, us or ns"}
	case s.kind.unit == "ms" && fractions:
		return "s", "fractions, which as ms would come more often than every ms", nil
	}
	return s.kind.unit, "the rule of " + s.kind.what, nil
}

// Bounds of the mean time between two rows outside of which a trace is more
// likely read in a wrong unit than real.
const (
	fastest = time.Millisecond
	slowest = time.Minute
)

// sort turns stamps into times after the first, in their order.
func (s *Source) sort(stamps []stamp) error {
	least, fraction, late := stamps[0], false, 0
	latest := stamps[0]
	for _, at := range stamps {
		if at.compare(least) < 0 {
			least = at
		}
		fraction = fraction || at.nano != 0
		if at.compare(latest) < 0 {
			late++
		} else {
			latest = at
		}
	}
	dense := latest.whole-least.whole < int64(len(stamps)-1)
	name, why, err := s.unit(least, fraction && dense)
	if err != nil {
		return err
	}
	per := units[name]
	if latest.whole-least.whole > math.MaxInt64/per-1 {
		return spec.Issue{File: s.w.Dataset.Path, Field: "workload.dataset.time_unit", Message: fmt.Sprintf("in %s the trace would last more than 290 years", name),
			Hint: "set the unit to s, ms, us or ns, or take the rows with absurd times out"}
	}
	n := &s.notes
	if late > 0 {
		by := make([]int64, len(stamps))
		for i := range by {
			by[i] = int64(i)
		}
		slices.SortStableFunc(by, func(a, b int64) int { return stamps[a].compare(stamps[b]) })
		s.picked.order(by)
		slices.SortFunc(stamps, stamp.compare)
		n.say("%d of %s out of order; they are sorted by time", late, count(int64(len(stamps)), "row was", "rows were"))
	}
	s.times = make([]int64, len(stamps))
	for i, at := range stamps {
		s.times[i] = (at.whole-least.whole)*per + (int64(at.nano)-int64(least.nano))*per/1e9
	}
	span := time.Duration(s.times[len(s.times)-1])
	if why != "" {
		n.say("timestamps are read as %s (%s): %d rows over %s; workload.dataset.time_unit sets another unit", name, why, len(stamps), span)
	}
	if rows := time.Duration(len(stamps)); rows > 1 && (span < fastest*(rows-1) || span > slowest*(rows-1)) {
		n.say("absurd timestamps? %d rows over %s is one every %s; is %s the right unit (workload.dataset.time_unit)?", len(stamps), span, (span / (rows - 1)).Round(time.Microsecond), name)
	}
	return nil
}

// dates reads the times of a trace that writes them as text.
func dates(text string) (stamp, bool) {
	text = strings.Replace(text, "T", " ", 1)
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07"} {
		if t, err := time.Parse(layout, text); err == nil && t.Unix() >= 0 {
			return stamp{t.Unix(), int32(t.Nanosecond())}, true
		}
	}
	return stamp{}, false
}

// length is a number of tokens of a trace.
func length(row dataset.Row, name string) (int64, error) {
	raw, ok := given(row, name)
	if !ok {
		return 0, row.Issue("every row of a trace says how long it was", "the row has no %s", name)
	}
	text := strings.TrimSuffix(string(raw), ".0") // as tables with gaps write it
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > maxTokens {
		return 0, row.Issue(fmt.Sprintf("a whole number up to %d", maxTokens), "%s is %s, which is no number of tokens", name, short(raw))
	}
	return v, nil
}

// maxTokens bounds a length; beyond it a trace is damaged.
const maxTokens = 100_000_000

// lengths are those of a row, in and out.
func lengths(row dataset.Row, in, out string) (input, output int64, err error) {
	if input, err = length(row, in); err != nil {
		return 0, 0, err
	}
	if output, err = length(row, out); err != nil {
		return 0, 0, err
	}
	switch {
	case input == 0:
		return 0, 0, leftNoInput
	case output == 0:
		return 0, 0, leftNoOutput
	}
	return input, output, nil
}

// hashIDs are the ids of a row's blocks, nil without.
func hashIDs(row dataset.Row) ([]int64, error) {
	raw, ok := given(row, "hash_ids")
	if !ok {
		return nil, nil
	}
	raw = structured(json.RawMessage(raw))
	if raw[0] != '[' {
		return nil, row.Issue("such as [46, 47, 48]", "hash_ids is no list: %s", short(raw))
	}
	ids, bad := wholeNumbers[int64](raw, 63)
	if bad != "" {
		return nil, row.Issue("ids are whole numbers from 0", "hash_ids holds %s", bad)
	}
	return ids, nil
}
