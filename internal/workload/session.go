package workload

import "fmt"

// Conversation is an item whose messages hold several turns, cut into them. A
// turn is what comes between two answers: messages of the user, and of tools.
type Conversation struct {
	item  Item
	ends  []int // of each turn: the messages before this index
	reply []int // of each turn: where the recorded answers to it end
}

// Converse cuts an item. With recorded answers a turn ends where an answer
// begins; without, it ends with each message of the user, and an answer of the
// server's own will take the place of the recorded one. The error says why the
// item is no conversation.
func Converse(item Item, recorded bool) (*Conversation, error) {
	switch {
	case item.Body != nil:
		return nil, fmt.Errorf("it is a whole request body, which cannot be continued")
	case item.TokenIDs != nil:
		return nil, fmt.Errorf("its prompt is token ids, which cannot be continued")
	}
	c := &Conversation{item: item}
	m := item.Messages
	for i := 0; i < len(m); {
		for i < len(m) && m[i].Role != "assistant" {
			if !recorded && m[i].Role == "tool" {
				return nil, fmt.Errorf("messages[%d] is the result of a tool that a recorded answer called, and the server's own answer will not have called it; set workload.history: recorded", i)
			}
			i++
			if !recorded && m[i-1].Role == "user" {
				break
			}
		}
		c.ends = append(c.ends, i)
		for i < len(m) && m[i].Role == "assistant" {
			i++
		}
		c.reply = append(c.reply, i)
	}
	if len(c.ends) == 0 {
		return nil, fmt.Errorf("it has no messages")
	}
	for k, end := range c.ends {
		from := 0
		if k > 0 {
			from = c.reply[k-1]
		}
		if end == from || m[end-1].Role != "user" && m[end-1].Role != "tool" {
			return nil, fmt.Errorf("turn %d asks nothing: human and assistant do not take turns", k)
		}
	}
	return c, nil
}

// Turns is the number of turns, at least 1.
func (c *Conversation) Turns() int { return len(c.ends) }

// Turn is what turn k sends: all that came before, and what the user says now.
// replies are the server's answers to the turns before; nil: the recorded ones.
func (c *Conversation) Turn(k int, replies []string) Item {
	item := c.item
	if replies == nil {
		item.Messages = c.item.Messages[:c.ends[k]]
	} else {
		item.Messages = make([]Message, 0, c.ends[k]+k)
		from := 0
		for i := range k {
			item.Messages = append(item.Messages, c.item.Messages[from:c.ends[i]]...)
			item.Messages = append(item.Messages, Message{Role: "assistant", Content: replies[i]})
			from = c.reply[i]
		}
		item.Messages = append(item.Messages, c.item.Messages[from:c.ends[k]]...)
	}
	item.Prompt = ""
	if len(item.Messages) == 1 {
		item.Prompt = item.Messages[0].Content
	}
	return item
}
