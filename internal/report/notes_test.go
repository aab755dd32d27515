package report

import (
	"strings"
	"testing"
)

// Notes that a run's header holds are said in Chinese as a whole: a half that stays
// English reads worse than none.
func TestChineseNotes(t *testing.T) {
	for note, outside := range map[string][]string{
		"all prompts begin with the same 626 bytes (86.7 % of the shortest), which the server's prefix cache can serve": nil,
		"rows 0 to 31 of 700 are this run's own":                                                                        nil,
		"700 of 700 dataset rows set their own output length (16 tokens)":                                               nil,
		"700 of 700 dataset rows set their own output length (16 to 96 tokens), which wins over workload.output_tokens": nil,
		"these rows were sent to this server before, once under runs (last by runs/load/20261130T102534Z-2f7fd4768f): its prefix cache may still hold them; the set is made afresh with tokentape dataset build --resalt load.manifest.json --out NEW.jsonl": {"load.manifest.json"},
		"these rows were sent to this server before, 8 times under runs (last by runs/load/20261130T102534Z-2f7fd4768f): its prefix cache may still hold them":                                                                                               nil,
		"10 of 12 dataset rows are used, as filter, skip and limit say":                                                                                                                                             nil,
		"1 row was left out since they ask nothing: no_question 1":                                                                                                                                                  nil,
		"3 rows were left out since they ask nothing: no_question 3":                                                                                                                                                nil,
		"2 of 9 dataset rows have no question; their messages are sent as they are":                                                                                                                                 nil,
		"5 prompts are made up of common words, one token each in most vocabularies (seeds.run 7); the server's counts say what it came to":                                                                         nil,
		"4 of 5 prompts are sent as token ids":                                                                                                                                                                      nil,
		"4 of 5 dataset rows have a system message of their own, which wins over workload.system":                                                                                                                   nil,
		"of 5 dataset rows, these set body fields of their own, which win over the spec's: top_k (3)":                                                                                                               nil,
		"4 of 5 request bodies ask for no stream, so that their answers have no token times; workload.dataset.override: [stream] changes that":                                                                      {"stream"},
		"4 of 5 request bodies do not ask for usage (stream_options.include_usage), so that a server may not count their tokens":                                                                                    nil,
		"6 of 9 prompts (66.7 %) repeat an earlier one; they can hit the server's prefix cache":                                                                                                                     nil,
		"6 requests send a dataset row that was sent before; they can hit the server's prefix cache":                                                                                                                nil,
		"dataset rows are sent again when they run out; a repeated prompt can hit the server's prefix cache":                                                                                                        nil,
		"6 requests of the point before were cut short, and the server may still have been working on them when this one began (sweep.pause waits)":                                                                 nil,
		"the load is that of the plan plan.jsonl":                                                                                                                                                                   nil,
		"HTTP/2: a stamp is the return of a read from the decoded body, not from the connection":                                                                                                                    nil,
		"start-up wave: the first 8 requests (3.1 % of all, as many as the cap of 8 lets out at once) have a mean TTFT of 305 ms, the rest 104 ms; 8 of the 13 at or above P95 of TTFT in the whole run are theirs": nil,
	} {
		allChinese(t, note, Chinese(note), append(outside, "NEW.jsonl", "tokentape dataset build --resalt", "no_question", "top_k", "runs/load/20261130T102534Z-2f7fd4768f")...)
	}
	if got := Chinese("these rows were sent to this server before, 8 times under runs (last by runs/a/b): its prefix cache may still hold them"); !strings.Contains(got, "（8 次，见 runs，") {
		t.Error(got)
	}
}
