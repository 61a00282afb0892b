package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/Azure/go-amqp"
)

// described is a message as tests/interop/catalogue.py describes it.
type described struct {
	Header                map[string]any `json:"header,omitempty"`
	DeliveryAnnotations   [][2]any       `json:"delivery-annotations,omitempty"`
	MessageAnnotations    [][2]any       `json:"message-annotations,omitempty"`
	Properties            map[string]any `json:"properties,omitempty"`
	ApplicationProperties [][2]any       `json:"application-properties,omitempty"`
	Body                  body           `json:"body"`
	Footer                [][2]any       `json:"footer,omitempty"`
}

type body struct {
	Kind     string `json:"kind"`
	Value    any    `json:"value,omitempty"`
	Sections []any  `json:"sections,omitempty"`
}

// read turns what encoding/json made of a part of a description into another form of it.
func read(found, into any) error {
	written, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return json.Unmarshal(written, into)
}

// message returns the message as go-amqp's users write it.
func (d described) message() (*amqp.Message, error) {
	made := &amqp.Message{}
	for _, set := range []func(*amqp.Message) error{
		d.setHeader, d.setAnnotations, d.setProperties, d.setApplicationProperties, d.setBody,
	} {
		if err := set(made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (d described) setHeader(made *amqp.Message) error {
	if d.Header == nil {
		return nil
	}
	made.Header = &amqp.MessageHeader{Priority: 4} // its zero value is not AMQP's default
	for name, written := range d.Header {
		value, err := nativeOf(written)
		if err != nil {
			return err
		}
		switch name {
		case "durable":
			made.Header.Durable = value.(bool)
		case "priority":
			made.Header.Priority = value.(uint8)
		case "ttl":
			made.Header.TTL = time.Duration(value.(uint32)) * time.Millisecond
		case "first-acquirer":
			made.Header.FirstAcquirer = value.(bool)
		case "delivery-count":
			made.Header.DeliveryCount = value.(uint32)
		}
	}
	return nil
}

func nativeOf(written any) (any, error) {
	var value typed
	if err := read(written, &value); err != nil {
		return nil, err
	}
	return value.native()
}

func (d described) setAnnotations(made *amqp.Message) (err error) {
	if made.DeliveryAnnotations, err = annotations(d.DeliveryAnnotations); err != nil {
		return err
	}
	if made.Annotations, err = annotations(d.MessageAnnotations); err != nil {
		return err
	}
	made.Footer, err = annotations(d.Footer)
	return err
}

// annotations returns a map whose keys are strings, which go-amqp writes as symbols.
func annotations(written [][2]any) (amqp.Annotations, error) {
	if written == nil {
		return nil, nil
	}
	made := amqp.Annotations{}
	for _, pair := range written {
		key, err := nativeOf(pair[0])
		if err != nil {
			return nil, err
		}
		if made[string(key.(amqp.Symbol))], err = nativeOf(pair[1]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (d described) setProperties(made *amqp.Message) error {
	if d.Properties == nil {
		return nil
	}
	properties := &amqp.MessageProperties{}
	made.Properties = properties
	texts := map[string]**string{
		"to": &properties.To, "subject": &properties.Subject, "reply-to": &properties.ReplyTo,
		"content-type": &properties.ContentType, "content-encoding": &properties.ContentEncoding,
		"group-id": &properties.GroupID, "reply-to-group-id": &properties.ReplyToGroupID,
	}
	for name, written := range d.Properties {
		value, err := nativeOf(written)
		if err != nil {
			return err
		}
		switch value := value.(type) {
		case time.Time:
			if name == "creation-time" {
				properties.CreationTime = &value
			} else {
				properties.AbsoluteExpiryTime = &value
			}
			continue
		case uint32:
			properties.GroupSequence = &value
			continue
		}
		switch name {
		case "message-id":
			properties.MessageID = value
		case "correlation-id":
			properties.CorrelationID = value
		case "user-id":
			properties.UserID = value.([]byte)
		default:
			text := fmt.Sprint(value)
			*texts[name] = &text
		}
	}
	return nil
}

func (d described) setApplicationProperties(made *amqp.Message) error {
	if d.ApplicationProperties == nil {
		return nil
	}
	made.ApplicationProperties = map[string]any{}
	for _, pair := range d.ApplicationProperties {
		value, err := nativeOf(pair[1])
		if err != nil {
			return err
		}
		made.ApplicationProperties[pair[0].(string)] = value
	}
	return nil
}

func (d described) setBody(made *amqp.Message) error {
	switch d.Body.Kind {
	case "value":
		value, err := nativeOf(d.Body.Value)
		if value == nil {
			value = amqp.Null{}
		}
		made.Value = value
		return err
	case "data":
		for _, section := range d.Body.Sections {
			bytes, err := hex.DecodeString(section.(string))
			if err != nil {
				return err
			}
			made.Data = append(made.Data, bytes)
		}
	case "sequence":
		for _, section := range d.Body.Sections {
			var elements []typed
			if err := read(section, &elements); err != nil {
				return err
			}
			list, err := natives(elements)
			if err != nil {
				return err
			}
			made.Sequence = append(made.Sequence, list)
		}
	}
	return nil
}

// seen describes a message that go-amqp has received.
func seen(message *amqp.Message) described {
	made := described{
		DeliveryAnnotations: seenMap(message.DeliveryAnnotations),
		MessageAnnotations:  seenMap(message.Annotations),
		Footer:              seenMap(message.Footer),
		Body:                seenBody(message),
	}
	for name, value := range message.ApplicationProperties {
		made.ApplicationProperties = append(made.ApplicationProperties, [2]any{name, seenValue(value)})
	}
	sort.Slice(made.ApplicationProperties, func(a, b int) bool {
		return made.ApplicationProperties[a][0].(string) < made.ApplicationProperties[b][0].(string)
	})
	if header := message.Header; header != nil {
		made.Header = map[string]any{
			"durable":  seenValue(header.Durable),
			"priority": seenValue(header.Priority),
		}
	}
	if message.Properties != nil {
		made.Properties = seenProperties(message.Properties)
	}
	return made
}

func seenProperties(found *amqp.MessageProperties) map[string]any {
	made := map[string]any{}
	add := func(name string, value any) { made[name] = seenValue(value) }
	texts := map[string]*string{
		"to": found.To, "subject": found.Subject, "reply-to": found.ReplyTo,
		"content-type": found.ContentType, "content-encoding": found.ContentEncoding,
		"group-id": found.GroupID, "reply-to-group-id": found.ReplyToGroupID,
	}
	for name, text := range texts {
		if text != nil {
			add(name, *text)
		}
	}
	if found.MessageID != nil {
		add("message-id", found.MessageID)
	}
	if found.CorrelationID != nil {
		add("correlation-id", found.CorrelationID)
	}
	if found.UserID != nil {
		add("user-id", found.UserID)
	}
	if found.AbsoluteExpiryTime != nil {
		add("absolute-expiry-time", *found.AbsoluteExpiryTime)
	}
	if found.CreationTime != nil {
		add("creation-time", *found.CreationTime)
	}
	if found.GroupSequence != nil {
		add("group-sequence", *found.GroupSequence)
	}
	return made
}

func seenBody(message *amqp.Message) body {
	if message.Data != nil {
		made := body{Kind: "data"}
		for _, section := range message.Data {
			made.Sections = append(made.Sections, hex.EncodeToString(section))
		}
		return made
	}
	if message.Sequence != nil {
		made := body{Kind: "sequence"}
		for _, section := range message.Sequence {
			made.Sections = append(made.Sections, seenList(section))
		}
		return made
	}
	// go-amqp gives the same for an amqp-value null and for no body.
	return body{Kind: "value", Value: seenValue(message.Value)}
}
