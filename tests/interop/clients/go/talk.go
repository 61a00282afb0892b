package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/Azure/go-amqp"
)

// instruction is one line of a conversation: what to do, and with what.
type instruction struct {
	Do string `json:"do"`

	Container string `json:"container"`
	Address   string `json:"address"`
	Mode      string `json:"mode"`
	Selector  string `json:"selector"`
	Filters   []struct {
		Name  string `json:"name"`
		Code  uint64 `json:"code"`
		Value typed  `json:"value"`
	} `json:"filters"`
	Copies bool `json:"copies"`

	Count int `json:"count"`

	Numbers       []int             `json:"numbers"`
	State         string            `json:"state"`
	Failed        bool              `json:"failed"`
	Undeliverable bool              `json:"undeliverable"`
	Annotations   map[string]string `json:"annotations"`
	Condition     string            `json:"condition"`
	Description   string            `json:"description"`
}

type delivered struct {
	Number      int               `json:"number"`
	Body        string            `json:"body"`
	Count       uint32            `json:"count"`
	Annotations map[string]string `json:"annotations"`
}

type reply struct {
	Error      string      `json:"error,omitempty"`
	Applied    []string    `json:"applied"`
	Deliveries []delivered `json:"deliveries"`
}

const selectorName = "apache.org:selector-filter:string"

// conversation has one receiver at a time, on a connection of its own.
type conversation struct {
	port       string
	connection *amqp.Conn
	receiver   *amqp.Receiver
	taken      []*amqp.Message
}

// talk receives as it is told to, line by line, until there are no more lines.
func talk(port string) error {
	talking := &conversation{port: port}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var line instruction
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		answer, err := talking.do(line)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c *conversation) do(line instruction) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	switch line.Do {
	case "attach":
		return c.attach(ctx, line)
	case "credit":
		return reply{}, c.receiver.IssueCredit(uint32(line.Count))
	case "take":
		return c.take(ctx, line.Count)
	case "answer":
		for _, number := range line.Numbers {
			if err := c.answer(ctx, c.taken[number], line); err != nil {
				return reply{}, err
			}
		}
		return reply{}, nil
	case "drain":
		if err := c.receiver.DrainCredit(ctx, nil); err != nil {
			return reply{}, err
		}
		answer := reply{}
		for message := c.receiver.Prefetched(); message != nil; message = c.receiver.Prefetched() {
			answer.Deliveries = append(answer.Deliveries, c.describe(message))
		}
		return answer, nil
	case "close":
		if err := c.receiver.Close(ctx); err != nil {
			return reply{}, err
		}
		return reply{}, c.connection.Close()
	}
	return reply{}, fmt.Errorf("nothing to do: %q", line.Do)
}

func (c *conversation) attach(ctx context.Context, line instruction) (reply, error) {
	options := &amqp.ReceiverOptions{Credit: -1, RequestedSenderSettleMode: amqp.SenderSettleModeUnsettled.Ptr()}
	switch line.Mode {
	case "settled":
		options.RequestedSenderSettleMode = amqp.SenderSettleModeSettled.Ptr()
	case "second":
		options.SettlementMode = amqp.ReceiverSettleModeSecond.Ptr()
	}
	if line.Copies {
		options.SourceDistributionMode = amqp.SourceDistributionModeCopy
	}
	names := []string{}
	if line.Selector != "" {
		names = append(names, selectorName)
		options.Filters = append(options.Filters, amqp.NewSelectorFilter(line.Selector))
	}
	for _, filter := range line.Filters {
		value, err := filter.Value.native()
		if err != nil {
			return reply{}, err
		}
		names = append(names, filter.Name)
		options.Filters = append(options.Filters, amqp.NewLinkFilter(filter.Name, filter.Code, value))
	}
	var err error
	c.connection, err = amqp.Dial(ctx, "amqp://127.0.0.1:"+c.port, &amqp.ConnOptions{ContainerID: line.Container})
	if err != nil {
		return reply{}, err
	}
	session, err := c.connection.NewSession(ctx, nil)
	if err != nil {
		return reply{}, err
	}
	c.receiver, err = session.NewReceiver(ctx, line.Address, options)
	if err != nil {
		c.connection.Close()
		return reply{}, err
	}
	c.taken = nil
	answer := reply{}
	for _, name := range names {
		if c.receiver.LinkSourceFilterValue(name) != nil {
			answer.Applied = append(answer.Applied, name)
		}
	}
	return answer, nil
}

func (c *conversation) take(ctx context.Context, count int) (reply, error) {
	answer := reply{}
	for range count {
		message, err := c.receiver.Receive(ctx, nil)
		if err != nil {
			return answer, err
		}
		answer.Deliveries = append(answer.Deliveries, c.describe(message))
	}
	return answer, nil
}

func (c *conversation) describe(message *amqp.Message) delivered {
	c.taken = append(c.taken, message)
	made := delivered{Number: len(c.taken) - 1, Annotations: map[string]string{}}
	if message.Data != nil {
		made.Body = string(message.GetData())
	} else {
		made.Body = fmt.Sprint(message.Value)
	}
	if message.Header != nil {
		made.Count = message.Header.DeliveryCount
	}
	for name, value := range message.Annotations {
		made.Annotations[fmt.Sprint(name)] = fmt.Sprint(value)
	}
	return made
}

// answer settles a message; with rcv-settle-mode second it waits until the peer has settled it.
func (c *conversation) answer(ctx context.Context, message *amqp.Message, line instruction) error {
	switch line.State {
	case "accepted":
		return c.receiver.AcceptMessage(ctx, message)
	case "released":
		return c.receiver.ReleaseMessage(ctx, message)
	case "rejected":
		return c.receiver.RejectMessage(ctx, message, &amqp.Error{
			Condition:   amqp.ErrCond(line.Condition),
			Description: line.Description,
		})
	}
	annotations := amqp.Annotations{}
	for name, value := range line.Annotations {
		annotations[name] = value
	}
	return c.receiver.ModifyMessage(ctx, message, &amqp.ModifyMessageOptions{
		DeliveryFailed:    line.Failed,
		UndeliverableHere: line.Undeliverable,
		Annotations:       annotations,
	})
}
