package exchange

import (
	"strings"
	"unicode/utf8"

	"tokentape/internal/dialect"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// maxModel bounds the name of a model that a reply gives, in bytes.
const maxModel = 200

// modelOf is the model that the body of an item asks for; "": none is named.
func (e *Exchanger) modelOf(item workload.Item, body []byte) string {
	if _, own := item.Extra["model"]; own || item.Body != nil {
		return dialect.ModelOf(body)
	}
	return e.cfg.Options.Model
}

// replied is what a tape says of the model that a reply named: "" stands for the
// one that was asked for, so that an ordinary line grows by no name.
func (e *Exchanger) replied(named, asked string) tape.Opt[string] {
	switch {
	case named == "":
		return tape.Opt[string]{}
	case named == asked, len(named) > maxModel-utf8.UTFMax && strings.HasPrefix(asked, named): // cut
		return tape.Some("")
	}
	return tape.Some(e.secrets.Line(named, maxModel))
}
