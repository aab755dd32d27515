package rows

import (
	"fmt"

	"tokentape/internal/workload"
)

// notes counts what rows decide for themselves.
type notes struct {
	output, least, most int64
	messages, ownSystem int64
}

func (n *notes) add(item workload.Item, h how) {
	if l := item.OutputLen; l > 0 {
		if n.output == 0 || l < n.least {
			n.least = l
		}
		n.most = max(n.most, l)
		n.output++
	}
	if h.messages {
		n.messages++
	}
	if h.ownSystem {
		n.ownSystem++
	}
}

func (n notes) say(rows int64, system string) []string {
	var out []string
	if n.output > 0 {
		out = append(out, fmt.Sprintf("%d of %d dataset rows set their own output length (%d to %d tokens), which wins over workload.output_tokens", n.output, rows, n.least, n.most))
	}
	if n.messages > 0 {
		out = append(out, fmt.Sprintf("%d of %d dataset rows have no question; their messages are sent as they are", n.messages, rows))
	}
	if n.ownSystem > 0 && system != "" {
		out = append(out, fmt.Sprintf("%d of %d dataset rows have a system message of their own, which wins over workload.system", n.ownSystem, rows))
	}
	return out
}
