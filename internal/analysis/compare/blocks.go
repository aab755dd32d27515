package compare

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/stat"
)

// plain is the least change that blocks can show. What servers that nobody changed
// differ by from run to run cannot be seen in one run a side, and is less than that.
const plain = 0.10

// What blocks must show. Of equal series of 16 to 100 values, with any correlation of
// neighbours up to 0.98, no more than 1.4 % are then called different, without the help
// of plain and of a tolerance, so that three metrics need no correction: those that are
// not called have no p to be counted (TestBlocksOfEqualSeries).
const (
	slack     = 2  // times the standard error, for what neighbours have in common
	fewBlocks = 4  // with fewer, 2 at least, the shift must be
	farOff    = 10 // times what single rows scatter by
)

// byBlocks decides where the paired rows hang together too closely, or are too few,
// for an interval that tells small differences, and the difference is plain: it is
// plain's or more, every block of rows that counts as one independent row shows it
// beyond the tolerance, it is beyond chance by Student's t over the blocks with slack,
// and where there are few blocks it dwarfs what rows scatter by. It never says that
// two sides are the same.
func byBlocks(p *stat.Pairs, q int, shift, scale, tolerance float64) (e effect, ok bool) {
	blocks := p.Blocks(q)
	k := float64(len(blocks))
	if len(blocks) < 2 || len(blocks) < fewBlocks && math.Abs(shift) < float64(farOff*p.Scatter()) || scale <= 0 || math.Abs(shift) < float64(max(plain, tolerance)*scale) {
		return e, false
	}
	for _, s := range blocks {
		if s < 0 != (shift < 0) || math.Abs(s) <= float64(tolerance*scale) {
			return e, false
		}
	}
	sd, _ := stat.SD(blocks)
	if e = ofT(ByBlocks, shift, float64(slack*sd)/math.Sqrt(k), k-1); e.p > Alpha {
		return e, false
	}
	e.why = fmt.Sprintf("each of the %d independent blocks of rows shows it", len(blocks))
	if sd := p.Scatter(); len(blocks) < fewBlocks && sd > 0 {
		e.why += fmt.Sprintf(", and it is %.0f times what single rows scatter by", math.Abs(shift)/sd)
	}
	return e, true
}

// tooFew says why pairs carry no interval, and how many would.
func tooFew(p *stat.Pairs, rows, q int, name string) string {
	worth, need := p.Need(q)
	more := max(int(need), rows+1)
	if worth >= 0.95*float64(rows) {
		return fmt.Sprintf("%s; an interval of %s takes about %d", plural(rows, "paired row"), name, more)
	}
	return fmt.Sprintf("%s hang together so closely that they count as %.2g independent ones; an interval of %s takes about %d such rows", plural(rows, "paired row"), math.Max(1, worth), name, more)
}
