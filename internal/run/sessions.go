package run

import (
	"fmt"
	"sync"

	"tokentape/internal/pace"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// session is a conversation under way. Its turns go out one after the other, each
// a pause after the end of the answer to the one before.
type session struct {
	talk    *workload.Conversation
	turns   int // of it that the plan has
	ref     workload.Ref
	replies []string // the server's, turn by turn; nil: the recorded ones are sent
	place   slot     // under the cap on open sessions
}

// openSession reads the conversation that a row begins.
func (e *engine) openSession(row plan.Row, item workload.Item) (*session, error) {
	talk, err := workload.Converse(item, e.cfg.Recorded)
	if err != nil {
		return nil, err
	}
	s := &session{talk: talk, turns: e.cfg.Plan.Turns(row.Seq), ref: item.Ref}
	if n := talk.Turns(); s.turns > n {
		return nil, fmt.Errorf("session %d of the plan has %d turns, the row %d", row.Session, s.turns, n)
	}
	if !e.cfg.Recorded {
		s.replies = []string{}
	}
	return s, nil
}

// left is the number of turns after that of a job; 0 outside sessions.
func (j *job) left() int64 {
	if j.session == nil {
		return 0
	}
	return int64(j.session.turns - 1 - j.row.Turn)
}

// converse sends the turns of a session from j on, and gives its place back. A
// turn that does not end ok ends the session: what would follow is not issued.
func (e *engine) converse(j *job, s slot, req *tape.Request) {
	p := pace.New(e.clk)
	for {
		next := sync.OnceValues(func() (*job, error) { return e.nextTurn(j) })
		if j.left() > 0 && e.cfg.Recorded {
			go next() // what it will say is known already
		}
		answer := e.serve(j, s, req)
		if j.left() == 0 || req.Outcome != tape.OutcomeOK {
			break
		}
		if !e.cfg.Recorded {
			j.session.replies = append(j.session.replies, answer.Reply)
		}
		end := req.TEnd.V
		after, err := next()
		if err != nil {
			e.stop(tape.ReasonDataset, err.Error())
			break
		}
		freedAt := j.freedAt
		j = after
		due := end + j.row.Think // planned as a first turn's is, but from the answer on
		if _, err := p.Wait(e.issue, due); err != nil {
			break
		}
		if s, err = e.slots.take(e.issue); err != nil {
			break
		}
		if s.freedAt <= freedAt { // what giving one's own back took is ours, and no wait for a slot
			s.freedAt = due
		}
		req = e.begin(j, s, tape.Some(due), due)
	}
	j.session.place.freedAt = e.clk.Now()
	e.places.put(j.session.place)
}

// nextTurn prepares the turn after that of j.
func (e *engine) nextTurn(j *job) (*job, error) {
	row, ok := e.cfg.Plan.At(j.row.Seq + 1)
	if !ok || row.Session != j.row.Session {
		return nil, fmt.Errorf("session %d of the plan ends after turn %d, but the row goes on", j.row.Session, j.row.Turn)
	}
	return e.prepareTurn(row, j.session)
}

func (e *engine) prepareTurn(row plan.Row, s *session) (*job, error) {
	item := s.talk.Turn(row.Turn, s.replies)
	j, err := e.prepareItem(row, item)
	if err != nil {
		return nil, err
	}
	j.session = s
	j.ready.Turn = tape.Some(row.Session - 1) // its prefix is in the cache of one server
	return j, nil
}
