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
// is shorter ends before it happens. Kinds tells what each does.
const (
	FaultNone Kind = "none"

	FaultStatus     Kind = "status"
	FaultDelay      Kind = "delay"
	FaultErrorEvent Kind = "error-event"
	FaultCut        Kind = "cut"
	FaultReset      Kind = "reset"
	FaultStall      Kind = "stall"
	FaultNoUsage    Kind = "no-usage"
	FaultNoDone     Kind = "no-done"

	FaultRedirect Kind = "redirect"
	FaultHTML     Kind = "html"
	FaultType     Kind = "type"
	FaultOneShot  Kind = "one-shot"
	FaultSilent   Kind = "silent"
	FaultHang     Kind = "hang"

	FaultCRLF      Kind = "crlf"
	FaultCR        Kind = "cr"
	FaultNoSpace   Kind = "no-space"
	FaultMultiLine Kind = "multi-line"
	FaultFields    Kind = "fields"
	FaultBOM       Kind = "bom"
	FaultDrip      Kind = "drip"
	FaultBuffer    Kind = "buffer"
	FaultGzip      Kind = "gzip"
	FaultGzipEnd   Kind = "gzip-end"
	FaultComments  Kind = "comments"
	FaultRoleEarly Kind = "role-early"

	FaultMalformed Kind = "malformed"
	FaultNaN       Kind = "nan"
	FaultHuge      Kind = "huge"
	FaultPing      Kind = "ping"

	FaultTruncate     Kind = "truncate"
	FaultDoubleDone   Kind = "double-done"
	FaultGhost        Kind = "ghost"
	FaultLinger       Kind = "linger"
	FaultUsageNull    Kind = "usage-null"
	FaultUsageEvery   Kind = "usage-every"
	FaultUsageDummy   Kind = "usage-dummy"
	FaultUsageBare    Kind = "usage-bare"
	FaultUsageFloat   Kind = "usage-float"
	FaultAbort        Kind = "abort"
	FaultFilter       Kind = "filter"
	FaultEmpty        Kind = "empty"
	FaultEmptyReasons Kind = "empty-reasons"
)

// KindInfo is a kind of fault and what it does.
type KindInfo struct {
	Kind   Kind
	About  string
	Stream bool // happens to streams alone; an answer in one piece stays whole
}

// Kinds are all kinds of faults. In what they do CODE, BODY, SIZE, AFTER and FOR
// are the fault's settings, with their defaults in brackets.
var Kinds = []KindInfo{
	{FaultNone, "no fault: spares a request, as in --fault-at 0:none", false},
	{FaultStatus, "status CODE (503) with BODY instead of an answer; FOR: as Retry-After", false},
	{FaultRedirect, "status CODE (307) with BODY (/elsewhere) as Location", false},
	{FaultHTML, "status 200 and a login page in HTML", false},
	{FaultType, "BODY (text/plain) as content type", false},
	{FaultOneShot, "one JSON answer although a stream was asked for", true},
	{FaultDelay, "FOR passes between the request and its arrival in the engine", false},
	{FaultSilent, "nothing is ever answered", false},
	{FaultHang, "AFTER tokens nothing more comes, and the connection stays open", true},
	{FaultStall, "AFTER tokens nothing comes for FOR; the engine goes on", false},
	{FaultCut, "the connection is closed AFTER tokens, without the end of the body", false},
	{FaultReset, "the same with a TCP reset", false},
	{FaultErrorEvent, "status 200, then AFTER tokens an error object with CODE (500), then [DONE]; not streamed: status CODE", false},
	{FaultMalformed, "AFTER tokens an event whose JSON is torn", true},
	{FaultNaN, "AFTER tokens an event with a bare NaN", true},
	{FaultHuge, "AFTER tokens an event with SIZE (70000) bytes of content", true},
	{FaultPing, "AFTER tokens an event of another kind: event: ping", true},
	{FaultComments, "a comment every FOR (100ms) until the first token", true},
	{FaultRoleEarly, "the role chunk on arrival, before prefill", true},
	{FaultCRLF, "lines end in CR LF", true},
	{FaultCR, "lines end in CR", true},
	{FaultNoSpace, "no space behind data:", true},
	{FaultMultiLine, "each payload over several data lines", true},
	{FaultFields, "event, id, retry, unknown fields and a line without a colon in each event", true},
	{FaultBOM, "a byte order mark at the start", true},
	{FaultDrip, "one byte a write", true},
	{FaultBuffer, "everything in one write at the end", true},
	{FaultGzip, "Content-Encoding: gzip though nobody asked, flushed with each write", true},
	{FaultGzipEnd, "the same, flushed at the end only", true},
	{FaultNoUsage, "usage is left out though it was asked for", false},
	{FaultUsageNull, "usage is null to the end", true},
	{FaultUsageEvery, "running usage in every chunk, not asked for", true},
	{FaultUsageDummy, "the usage chunk has a choice with an empty delta", true},
	{FaultUsageBare, "the usage chunk has no choices at all", true},
	{FaultUsageFloat, "completion_tokens is written as a float, such as 7.0", true},
	{FaultNoDone, "a clean end without [DONE]", true},
	{FaultTruncate, "a clean end without finish reason and [DONE]", true},
	{FaultDoubleDone, "[DONE] twice", true},
	{FaultGhost, "a token and another usage object after [DONE]", true},
	{FaultLinger, "the connection stays open for FOR (30s) after [DONE]", true},
	{FaultEmptyReasons, `finish_reason is "" instead of null until the end`, true},
	{FaultAbort, "finish reason abort", true},
	{FaultFilter, "no tokens, finish reason content_filter", true},
	{FaultEmpty, "no tokens, finish reason stop", true},
}

func (k Kind) info() *KindInfo {
	for i := range Kinds {
		if Kinds[i].Kind == k {
			return &Kinds[i]
		}
	}
	return nil
}

// FaultHeader is a request header that asks for a fault in ParseFault's form; it
// wins over FaultAt and Faults.
const FaultHeader = "X-Sim-Fault"

// Fault is one way of going wrong and how often.
type Fault struct {
	Kind  Kind          `json:"kind"`
	Share float64       `json:"share,omitempty"` // of the generation requests, 0..1; not used in FaultAt and FaultHeader
	Code  int           `json:"code,omitempty"`  // of status (default 503), redirect (307) and error-event (500)
	Body  string        `json:"body,omitempty"`  // of status; default: an error object in SGLang's form
	After int64         `json:"after,omitempty"` // output tokens before it
	Size  int64         `json:"size,omitempty"`  // bytes of huge (default 70000)
	For   time.Duration `json:"for_ns,omitempty"`
}

// ParseFault reads "KIND[,share=0.1][,code=503][,after=3][,size=70000][,for=2s][,body=TEXT]";
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
		case "size":
			f.Size, err = strconv.ParseInt(v, 10, 64)
		case "for":
			f.For, err = time.ParseDuration(v)
		case "body":
			f.Body = v
		default:
			err = errors.New("no such setting; known: share, code, after, size, for, body")
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
	switch {
	case f.Kind.info() == nil:
		var names []string
		for _, k := range Kinds {
			names = append(names, string(k.Kind))
		}
		return fmt.Errorf("kind %q is not one of %s", f.Kind, strings.Join(names, ", "))
	case !(f.Share >= 0 && f.Share <= 1):
		return fmt.Errorf("share must be from 0 to 1, not %g", f.Share)
	case f.Code != 0 && (f.Code < 200 || f.Code > 599):
		return fmt.Errorf("code must be from 200 to 599, not %d", f.Code)
	case f.After < 0:
		return fmt.Errorf("after must be 0 or more, not %d", f.After)
	case f.Size < 0 || f.Size > 1<<30:
		return fmt.Errorf("size must be from 0 to 1 GiB, not %d", f.Size)
	case f.For < 0:
		return fmt.Errorf("for must be 0 or more, not %s", f.For)
	case (f.Kind == FaultDelay || f.Kind == FaultStall) && f.For == 0:
		return fmt.Errorf("%s needs for=DURATION", f.Kind)
	}
	return nil
}

func (f *Fault) lasts(def time.Duration) time.Duration {
	if f.For == 0 {
		return def
	}
	return f.For
}

func (f *Fault) code(def int) int {
	if f.Code == 0 {
		return def
	}
	return f.Code
}

// pick decides the fault of generation request n; nil: none.
func (o *Options) pick(n int, header string) (*Fault, error) {
	f, err := o.drawn(n, header)
	if f != nil && f.Kind == FaultNone {
		f = nil
	}
	return f, err
}

func (o *Options) drawn(n int, header string) (*Fault, error) {
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
