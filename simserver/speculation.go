package simserver

import (
	"strconv"

	"tokentape/internal/sim"
)

// appendSpec appends what SGLang tells of speculation, as far as the options let
// it: after verify steps so far, and with ended the counts of the whole answer of
// out tokens. It begins with a comma where it says anything.
func (o *Options) appendSpec(b []byte, verify, out int64, f sim.Facts, ended bool) []byte {
	if o.TokensPerEvent <= 1 {
		return b
	}
	if o.SpecVerify {
		b = append(b, `,"spec_verify_ct":`...)
		b = strconv.AppendInt(b, verify, 10)
	}
	if !ended || f.Drafted == 0 {
		return b
	}
	if o.SpecVerify {
		b = append(b, `,"spec_accept_length":`...)
		b = strconv.AppendFloat(b, float64(out)/float64(verify), 'g', -1, 64)
	}
	if o.SpecUsage {
		b = append(b, `,"spec_accept_rate":`...)
		b = strconv.AppendFloat(b, float64(f.Accepted)/float64(f.Drafted), 'g', -1, 64)
		b = append(b, `,"spec_num_correct_drafts":`...)
		b = strconv.AppendInt(b, f.Accepted, 10)
		b = append(b, `,"spec_num_proposed_drafts":`...)
		b = strconv.AppendInt(b, f.Drafted, 10)
	}
	if o.SpecVerify && o.SpecUsage {
		b = append(b, `,"spec_correct_drafts_histogram":[`...)
		for j, n := range f.Accepting {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, ']')
	}
	return b
}

// specDetails is what a body asks for with return_spec_tokens_details, as a member
// of sglext.
func (o *Options) specDetails(b []byte, out int64, f sim.Facts) []byte {
	verify := int64(0)
	for _, n := range f.Accepting {
		verify += n
	}
	details := o.appendSpec(nil, verify, out, f, true)
	if len(details) == 0 {
		return b
	}
	b = append(b, `,"spec_tokens_details":{`...)
	b = append(b, details[1:]...)
	return append(b, '}')
}
