package tape

import (
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"
)

// Generators of model values. Text is deliberately nasty: bad UTF-8, control
// characters, line separators, quotes.

func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\x00\x01\x7f", "\u2028\u2029", "\xed\xa0\xbd", `</script>"\`, "a\r\nb\tc", "\xff\xfe", "日本語\U0001F600"}),
	)
}

func genInt() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 1e12), rapid.Int64(), rapid.SampledFrom([]int64{0, -1, math.MaxInt64, math.MinInt64}))
}

func genOpt[T any](g *rapid.Generator[T]) *rapid.Generator[Opt[T]] {
	return rapid.Custom(func(t *rapid.T) Opt[T] {
		if rapid.Bool().Draw(t, "present") {
			return Some(g.Draw(t, "value"))
		}
		return Opt[T]{}
	})
}

func genEvents() *rapid.Generator[Events] {
	return rapid.Custom(func(t *rapid.T) Events {
		n := rapid.IntRange(0, 40).Draw(t, "events")
		if n == 0 {
			return Events{} // no events is one value, not many
		}
		e := Events{DT: rapid.SliceOfN(genInt(), n, n).Draw(t, "dt")}
		e.Kind = EncodeKinds(rapid.SliceOfN(rapid.SampledFrom([]byte("rcstxhfuedo")), n, n).Draw(t, "kinds"))
		if rapid.Bool().Draw(t, "toks") {
			e.Tok = rapid.SliceOfN(genInt(), n, n).Draw(t, "tok")
		}
		if rapid.Bool().Draw(t, "choices") {
			e.Choice = rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "choice")
		}
		return e
	})
}

func genRequest() *rapid.Generator[*Request] {
	return rapid.Custom(func(t *rapid.T) *Request {
		text, num, opt := genText(), genInt(), genOpt(genInt())
		s := func() string { return text.Draw(t, "text") }
		o := func() Opt[int64] { return opt.Draw(t, "opt") }
		i := func() int64 { return num.Draw(t, "int") }
		r := &Request{
			Type: "request", Seq: i(), ID: s(), Phase: Phase(s()), Worker: int(i()), Part: o(), Session: genOpt(text).Draw(t, "session"), Turn: int(i()),
			Ref:  Ref{Row: i(), Offset: i(), SHA256: s()},
			TDue: o(), TReady: o(), TReleased: o(), TConn: o(), URL: o(), TWroteFirst: o(), TWrote: o(), THeaders: o(),
			TFirstEvent: o(), TFirstToken: o(), TFirstVisible: o(), TLastToken: o(), TEnd: o(),
			Events: genEvents().Draw(t, "events"), Asked: Asked{Output: o(), Input: o(), Cached: o(), Group: s()},
			Tokens: Tokens{Input: o(), InputSource: s(), Output: o(), OutputSource: s(), Recount: o(), Cached: o(), Reasoning: o(), Accepted: o(), Rejected: o(), Verify: o(), Drafted: o(), CachedDevice: o(), CachedHost: o(), CachedStorage: o(), CachedBackend: s(), Unread: s()},
			Bytes:  Bytes{Sent: i(), Body: i(), Reads: i()}, HTTP: HTTP{Status: int(i()), Proto: s()}, RetryAfter: o(),
			Model: genOpt(text).Draw(t, "model"), Finish: s(), Outcome: Outcome(s()), Cause: s(), Message: s(), Flags: rapid.SliceOfN(text, 0, 3).Draw(t, "flags"), Attempts: int(i()),
		}
		for range rapid.IntRange(0, 2).Draw(t, "log") {
			r.AttemptLog = append(r.AttemptLog, Attempt{TReleased: o(), TEnd: o(), Status: int(i()), Outcome: Outcome(s()), Cause: s(), Message: s(), RetryAfter: o(), Wait: i()})
		}
		if rapid.Bool().Draw(t, "conn") {
			r.Conn = &Conn{ID: i(), Reused: rapid.Bool().Draw(t, "reused"), Remote: s(), DNS: o(), Dial: o(), TLS: o()}
		}
		if rapid.Bool().Draw(t, "engine") {
			r.Engine = rapid.MapOfN(text, rapid.Float64Range(-1e300, 1e300), 1, 3).Draw(t, "figures")
		}
		if rapid.Bool().Draw(t, "steps") {
			r.StepsAccepting = rapid.SliceOfN(num, 1, 5).Draw(t, "accepting")
		}
		if rapid.Bool().Draw(t, "output") {
			r.Output = &Output{SHA256: s(), Text: s(), Reasoning: s(), Tools: s()}
		}
		if rapid.Bool().Draw(t, "src") {
			r.Src = &Src{T: rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), 1, 5).Draw(t, "points")}
		}
		return r
	})
}

// stream is a lawful request with n token events.
func stream(seq int64, n int) *Request {
	r := &Request{
		Type: "request", Seq: seq, Phase: PhaseMeasure, Ref: Ref{Row: seq, Offset: seq * 4096, SHA256: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"},
		TDue: Some(seq * 1e6), TReady: Some(seq * 1e6), TReleased: Some(seq*1e6 + 800), TConn: Some(seq*1e6 + 1200),
		Conn: &Conn{ID: seq % 90, Reused: true}, TWroteFirst: Some(seq*1e6 + 60_000), TWrote: Some(seq*1e6 + 70_000),
		Asked: Asked{Output: Some(int64(n))}, Bytes: Bytes{Sent: 70213, Body: 9310, Reads: 34}, HTTP: HTTP{200, "HTTP/1.1"},
		Tokens: Tokens{Input: Some(int64(16388)), InputSource: SourceUsage, Output: Some(int64(n)), OutputSource: SourceUsage},
		Finish: "length", Outcome: OutcomeOK, Attempts: 1,
		Output: &Output{SHA256: "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},
	}
	kinds := []byte{KindRole}
	dt, tok := []int64{200_011_000 + seq}, []int64{-1}
	jitter := rand.New(rand.NewPCG(uint64(seq), 1))
	for i := range n {
		kinds = append(kinds, KindContent)
		dt = append(dt, 10_000_000+jitter.Int64N(200_000))
		tok = append(tok, int64(i+1))
	}
	kinds = append(kinds, KindFinish, KindUsage, KindDone)
	r.Events = Events{DT: append(dt, 0, 1000, 0), Kind: EncodeKinds(kinds), Tok: append(tok, -1, int64(n), -1)}
	for _, ev := range r.Events.All(r.TWroteFirst.V) {
		if !r.TFirstEvent.OK {
			r.TFirstEvent = Some(ev.T)
		}
		if IsToken(ev.Kind) {
			if !r.TFirstToken.OK {
				r.TFirstToken, r.TFirstVisible = Some(ev.T), Some(ev.T)
			}
			r.TLastToken = Some(ev.T)
		}
		r.TEnd = Some(ev.T)
	}
	r.THeaders = r.TFirstEvent
	return r
}
