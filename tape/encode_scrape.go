package tape

import (
	"maps"
	"slices"
	"strconv"
)

// appendScrape appends s as one JSON object without a line end. Like appendRequest it
// means the same as encoding/json with the tags of model.go: a reading of every series
// of large pages would else cost more than all that leads to it. Values must be finite.
func appendScrape(b []byte, s *Scrape) []byte {
	b = append(b, `{"type":"scrape"`...)
	b = appendInt(b, `,"t":`, s.T)
	b = appendText(b, `,"source":`, s.Source)
	b = append(b, `,"ok":`...)
	b = strconv.AppendBool(b, s.OK)
	b = appendTextIf(b, `,"cause":`, s.Cause)
	b = appendTextIf(b, `,"error":`, s.Error)
	b = appendIntIf(b, `,"status":`, int64(s.Status))
	if len(s.Series) > 0 {
		b = append(b, `,"series":`...)
		b = appendMap(b, s.Series, appendSeconds)
	}
	b = appendOpt(b, `,"part":`, s.Part)
	b = appendTextIf(b, `,"role":`, s.Role)
	b = appendTextIf(b, `,"kind":`, s.Kind)
	if len(s.Types) > 0 {
		b = append(b, `,"types":`...)
		b = appendMap(b, s.Types, AppendString)
	}
	b = appendIntIf(b, `,"nr":`, s.Nr)
	b = appendOpt(b, `,"same":`, s.Same)
	for i, name := range s.Gone {
		if i == 0 {
			b = append(b, `,"gone":[`...)
		} else {
			b = append(b, ',')
		}
		b = AppendString(b, name)
	}
	if len(s.Gone) > 0 {
		b = append(b, ']')
	}
	b = appendIntIf(b, `,"left":`, s.Left)
	b = appendIntIf(b, `,"not_finite":`, s.NotFinite)
	b = appendIntIf(b, `,"repeated":`, s.Repeated)
	b = appendIntIf(b, `,"missed":`, s.Missed)
	b = appendOpt(b, `,"took_ns":`, s.Took)
	b = appendOpt(b, `,"parse_ns":`, s.Parse)
	b = appendOpt(b, `,"bytes":`, s.Bytes)
	return append(b, '}')
}

func appendIntIf(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return appendInt(b, key, v)
}

// appendMap writes an object in order of its names.
func appendMap[V any](b []byte, m map[string]V, value func([]byte, V) []byte) []byte {
	sep := byte('{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = append(AppendString(append(b, sep), name), ':')
		b = value(b, m[name])
		sep = ','
	}
	return append(b, '}')
}
