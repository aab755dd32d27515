package simserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Kind is a way of going wrong.
type Kind string

// The kinds of faults. Where a fault begins After output tokens, an answer that
// is shorter ends before it happens.
const (
	FaultStatus     Kind = "status"      // status Code with Body instead of an answer
	FaultDelay      Kind = "delay"       // For passes between the request and its arrival in the engine
	FaultErrorEvent Kind = "error-event" // 200, then an error object with Code After tokens, then [DONE]; not streamed: status Code
	FaultCut        Kind = "cut"         // the connection is closed After tokens, without the end of the body
	FaultReset      Kind = "reset"       // the same with a TCP reset
	FaultStall      Kind = "stall"       // After tokens nothing for For; the engine goes on
	FaultNoUsage    Kind = "no-usage"    // usage is left out though it was asked for
	FaultNoDone     Kind = "no-done"     // a clean end without [DONE]
)

var kinds = []Kind{FaultStatus, FaultDelay, FaultErrorEvent, FaultCut, FaultReset, FaultStall, FaultNoUsage, FaultNoDone}

// FaultHeader is a request header that asks for a fault in ParseFault's form; it
// wins over FaultAt and Faults.
const FaultHeader = "X-Sim-Fault"

// Fault is one way of going wrong and how often.
type Fault struct {
	Kind  Kind          `json:"kind"`
	Share float64       `json:"share,omitempty"` // of the generation requests, 0..1; not used in FaultAt and FaultHeader
	Code  int           `json:"code,omitempty"`  // of status (default 503) and error-event (default 500)
	Body  string        `json:"body,omitempty"`  // of status; default: an error object in SGLang's form
	After int64         `json:"after,omitempty"` // output tokens before it
	For   time.Duration `json:"for_ns,omitempty"`
}

// ParseFault reads "KIND[,share=0.1][,code=503][,after=3][,for=2s][,body=TEXT]";
// body takes the rest of the text. A share that is not given is 1.
func ParseFault(s string) (Fault, error) {
	kind, rest, _ := strings.Cut(s, ",")
	f := Fault{Kind: Kind(strings.TrimSpace(kind)), Share: 1}
	for rest != "" {
		var kv string
		if strings.HasPrefix(rest, "body=") {
			kv, rest = rest, ""
		} else {
			kv, rest, _ = strings.Cut(rest, ",")
		}
		k, v, _ := strings.Cut(kv, "=")
		var err error
		switch strings.TrimSpace(k) {
		case "share":
			f.Share, err = strconv.ParseFloat(v, 64)
		case "code":
			f.Code, err = strconv.Atoi(v)
		case "after":
			f.After, err = strconv.ParseInt(v, 10, 64)
		case "for":
			f.For, err = time.ParseDuration(v)
		case "body":
			f.Body = v
		default:
			err = errors.New("no such setting; known: share, code, after, for, body")
		}
		if err != nil {
			return f, fmt.Errorf("fault %q: %s: %w", s, k, err)
		}
	}
	if err := f.validate(); err != nil {
		return f, fmt.Errorf("fault %q: %w", s, err)
	}
	return f, nil
}

func (f *Fault) validate() error {
	known := false
	for _, k := range kinds {
		known = known || k == f.Kind
	}
	switch {
	case !known:
		return fmt.Errorf("kind %q is not one of %v", f.Kind, kinds)
	case !(f.Share >= 0 && f.Share <= 1):
		return fmt.Errorf("share must be from 0 to 1, not %g", f.Share)
	case f.Code != 0 && (f.Code < 200 || f.Code > 599):
		return fmt.Errorf("code must be from 200 to 599, not %d", f.Code)
	case f.After < 0:
		return fmt.Errorf("after must be 0 or more, not %d", f.After)
	case f.For < 0:
		return fmt.Errorf("for must be 0 or more, not %s", f.For)
	case (f.Kind == FaultDelay || f.Kind == FaultStall) && f.For == 0:
		return fmt.Errorf("%s needs for=DURATION", f.Kind)
	}
	return nil
}

func (f *Fault) code(def int) int {
	if f.Code == 0 {
		return def
	}
	return f.Code
}

// pick decides the fault of generation request n; nil: none.
func (o *Options) pick(n int, header string) (*Fault, error) {
	if header != "" {
		f, err := ParseFault(header)
		return &f, err
	}
	if f, ok := o.FaultAt[n]; ok {
		return &f, nil
	}
	if len(o.Faults) == 0 {
		return nil, nil
	}
	u := rand.New(rand.NewPCG(o.Seed, uint64(n)+1<<32)).Float64()
	for i := range o.Faults {
		if u < o.Faults[i].Share {
			return &o.Faults[i], nil
		}
		u -= o.Faults[i].Share
	}
	return nil, nil
}
