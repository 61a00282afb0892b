// The client of the interop suite on go-amqp: see tests/interop/README.md.
//
//	interop send PORT ADDRESS settled|unsettled FILE    an empty ADDRESS: the anonymous terminus
//	interop receive PORT ADDRESS COUNT
//	interop talk PORT
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/Azure/go-amqp"
)

// Everything that takes longer has failed.
const limit = 60 * time.Second

type outcome struct {
	State     string `json:"state"`
	Condition string `json:"condition"`
}

type result struct {
	Outcomes []outcome   `json:"outcomes,omitempty"`
	Messages []described `json:"messages,omitempty"`
}

func main() {
	var err error
	if len(os.Args) == 3 && os.Args[1] == "talk" {
		err = talk(os.Args[2])
	} else {
		var answer result
		if answer, err = run(os.Args[1:]); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(answer)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) (result, error) {
	if len(arguments) < 4 {
		return result{}, errors.New("send PORT ADDRESS settled|unsettled FILE, receive PORT ADDRESS COUNT or talk PORT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	connection, err := amqp.Dial(ctx, "amqp://127.0.0.1:"+arguments[1], &amqp.ConnOptions{ContainerID: "interop-go"})
	if err != nil {
		return result{}, err
	}
	defer connection.Close()
	session, err := connection.NewSession(ctx, nil)
	if err != nil {
		return result{}, err
	}
	if arguments[0] == "receive" {
		count, err := strconv.Atoi(arguments[3])
		if err != nil {
			return result{}, err
		}
		return receive(ctx, session, arguments[2], count)
	}
	return send(ctx, session, arguments[2], arguments[3] == "settled", arguments[4])
}

func send(ctx context.Context, session *amqp.Session, address string, settled bool, file string) (result, error) {
	written, err := os.ReadFile(file)
	if err != nil {
		return result{}, err
	}
	var messages []described
	if err := json.Unmarshal(written, &messages); err != nil {
		return result{}, err
	}
	options := &amqp.SenderOptions{}
	if settled {
		options.SettlementMode = amqp.SenderSettleModeSettled.Ptr()
	}
	sender, err := session.NewSender(ctx, address, options)
	if err != nil {
		return result{}, err
	}
	var receipts []amqp.SendReceipt
	for number, each := range messages {
		message, err := each.message()
		if err != nil {
			return result{}, fmt.Errorf("message %d: %w", number, err)
		}
		if settled {
			err = sender.Send(ctx, message, nil)
		} else {
			var receipt amqp.SendReceipt
			receipt, err = sender.SendWithReceipt(ctx, message, nil)
			receipts = append(receipts, receipt)
		}
		if err != nil {
			return result{}, fmt.Errorf("message %d: %w", number, err)
		}
	}
	answer := result{}
	for number := range receipts {
		state, err := receipts[number].Wait(ctx)
		if err != nil {
			return result{}, fmt.Errorf("message %d: %w", number, err)
		}
		answer.Outcomes = append(answer.Outcomes, told(state))
	}
	return answer, sender.Close(ctx)
}

func told(state amqp.DeliveryState) outcome {
	switch state := state.(type) {
	case *amqp.StateAccepted:
		return outcome{State: "accepted"}
	case *amqp.StateRejected:
		if state.Error == nil {
			return outcome{State: "rejected"}
		}
		return outcome{State: "rejected", Condition: string(state.Error.Condition)}
	default:
		return outcome{State: fmt.Sprintf("%T", state)}
	}
}

func receive(ctx context.Context, session *amqp.Session, address string, count int) (result, error) {
	receiver, err := session.NewReceiver(ctx, address, &amqp.ReceiverOptions{Credit: 100})
	if err != nil {
		return result{}, err
	}
	answer := result{}
	for range count {
		message, err := receiver.Receive(ctx, nil)
		if err != nil {
			return result{}, err
		}
		if err := receiver.AcceptMessage(ctx, message); err != nil {
			return result{}, err
		}
		answer.Messages = append(answer.Messages, seen(message))
	}
	return answer, receiver.Close(ctx)
}
