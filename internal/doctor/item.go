package doctor

// Verdicts of an Item.
const (
	OK    = "ok"
	Note  = "note"         // it may cost truth or speed; a run tells more
	Short = "short"        // what is planned, or any load worth the name, does not fit
	None  = "not_observed" // it could not be read, or was not asked for
)

// Item is one thing about this host. Texts are for people, Number is Value's, where it
// is one number, in Unit.
type Item struct {
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"`
	Value   string   `json:"value"`
	Number  *float64 `json:"number,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Limit   string   `json:"limit,omitempty"` // beyond which the verdict is another; "": nothing is judged
	How     string   `json:"how"`             // it was measured or read
	Do      string   `json:"do,omitempty"`    // what mends it
}

// number sets the item's number.
func (i Item) number(v float64, unit string) Item {
	i.Number, i.Unit = &v, unit
	return i
}

// judge gives the item a verdict, and keeps what mends it only where it is needed.
func (i Item) judge(good bool, bad, do string) Item {
	if i.Verdict, i.Do = OK, ""; !good {
		i.Verdict, i.Do = bad, do
	}
	return i
}

func absent(name, why, how string) Item {
	return Item{Name: name, Verdict: None, Value: why, How: how}
}
