package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"time"

	"github.com/Azure/go-amqp"
)

// typed is a value as tests/interop/values.py describes it: Value is a text for primitive types.
type typed struct {
	Type       string          `json:"type"`
	Value      json.RawMessage `json:"value"`
	Of         string          `json:"of,omitempty"`
	Descriptor *typed          `json:"descriptor,omitempty"`
}

// native returns the value as go-amqp's users write it.
func (t typed) native() (any, error) {
	switch t.Type {
	case "null":
		return nil, nil
	case "list":
		return t.list()
	case "map":
		return t.dictionary()
	case "array":
		return t.array()
	}
	var text string
	if err := json.Unmarshal(t.Value, &text); err != nil {
		return nil, err
	}
	return primitive(t.Type, text)
}

func primitive(kind, text string) (any, error) {
	switch kind {
	case "boolean":
		return text == "true", nil
	case "ubyte":
		number, err := strconv.ParseUint(text, 10, 8)
		return uint8(number), err
	case "ushort":
		number, err := strconv.ParseUint(text, 10, 16)
		return uint16(number), err
	case "uint":
		number, err := strconv.ParseUint(text, 10, 32)
		return uint32(number), err
	case "ulong":
		return strconv.ParseUint(text, 10, 64)
	case "byte":
		number, err := strconv.ParseInt(text, 10, 8)
		return int8(number), err
	case "short":
		number, err := strconv.ParseInt(text, 10, 16)
		return int16(number), err
	case "int":
		number, err := strconv.ParseInt(text, 10, 32)
		return int32(number), err
	case "long":
		return strconv.ParseInt(text, 10, 64)
	case "float":
		number, err := strconv.ParseFloat(text, 32)
		return float32(number), err
	case "double":
		return strconv.ParseFloat(text, 64)
	case "timestamp":
		milliseconds, err := strconv.ParseInt(text, 10, 64)
		return time.UnixMilli(milliseconds), err
	case "uuid":
		bytes, err := hex.DecodeString(text[0:8] + text[9:13] + text[14:18] + text[19:23] + text[24:])
		if err != nil {
			return nil, err
		}
		return amqp.UUID(bytes), nil
	case "binary":
		return hex.DecodeString(text)
	case "string":
		return text, nil
	case "symbol":
		return amqp.Symbol(text), nil
	}
	return nil, fmt.Errorf("go-amqp cannot send the type %s", kind)
}

func (t typed) list() ([]any, error) {
	var elements []typed
	if err := json.Unmarshal(t.Value, &elements); err != nil {
		return nil, err
	}
	return natives(elements)
}

func natives(elements []typed) ([]any, error) {
	made := make([]any, 0, len(elements))
	for _, element := range elements {
		each, err := element.native()
		if err != nil {
			return nil, err
		}
		made = append(made, each)
	}
	return made, nil
}

func (t typed) dictionary() (map[any]any, error) {
	var pairs [][2]typed
	if err := json.Unmarshal(t.Value, &pairs); err != nil {
		return nil, err
	}
	return dictionary(pairs)
}

func dictionary(pairs [][2]typed) (map[any]any, error) {
	made := make(map[any]any, len(pairs))
	for _, pair := range pairs {
		key, err := pair[0].native()
		if err != nil {
			return nil, err
		}
		if made[key], err = pair[1].native(); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (t typed) array() (any, error) {
	elements, err := t.list()
	if err != nil {
		return nil, err
	}
	switch t.Of {
	case "boolean":
		return slice[bool](elements), nil
	case "ushort":
		return slice[uint16](elements), nil
	case "uint":
		return slice[uint32](elements), nil
	case "ulong":
		return slice[uint64](elements), nil
	case "short":
		return slice[int16](elements), nil
	case "int":
		return slice[int32](elements), nil
	case "long":
		return slice[int64](elements), nil
	case "float":
		return slice[float32](elements), nil
	case "double":
		return slice[float64](elements), nil
	case "timestamp":
		return slice[time.Time](elements), nil
	case "uuid":
		return slice[amqp.UUID](elements), nil
	case "binary":
		return slice[[]byte](elements), nil
	case "string":
		return slice[string](elements), nil
	case "symbol":
		return slice[amqp.Symbol](elements), nil
	}
	return nil, fmt.Errorf("go-amqp cannot send an array of the type %s", t.Of)
}

func slice[T any](elements []any) []T {
	made := make([]T, 0, len(elements))
	for _, element := range elements {
		made = append(made, element.(T))
	}
	return made
}

// seenValue describes a value that go-amqp has decoded. It gives symbols as strings.
func seenValue(found any) any {
	text := func(kind, value string) any { return map[string]any{"type": kind, "value": value} }
	switch found := found.(type) {
	case nil:
		return map[string]any{"type": "null", "value": nil}
	case bool:
		return text("boolean", strconv.FormatBool(found))
	case uint8:
		return text("ubyte", strconv.FormatUint(uint64(found), 10))
	case uint16:
		return text("ushort", strconv.FormatUint(uint64(found), 10))
	case uint32:
		return text("uint", strconv.FormatUint(uint64(found), 10))
	case uint64:
		return text("ulong", strconv.FormatUint(found, 10))
	case int8:
		return text("byte", strconv.FormatInt(int64(found), 10))
	case int16:
		return text("short", strconv.FormatInt(int64(found), 10))
	case int32:
		return text("int", strconv.FormatInt(int64(found), 10))
	case int64:
		return text("long", strconv.FormatInt(found, 10))
	case float32:
		return text("float", number(float64(found), 32))
	case float64:
		return text("double", number(found, 64))
	case time.Time:
		return text("timestamp", strconv.FormatInt(found.UnixMilli(), 10))
	case amqp.UUID:
		return text("uuid", found.String())
	case []byte:
		return text("binary", hex.EncodeToString(found))
	case string:
		return text("string", found)
	case amqp.Symbol:
		return text("string", string(found))
	case []any:
		return map[string]any{"type": "list", "value": seenList(found)}
	case map[string]any:
		pairs := make(map[any]any, len(found))
		for key, value := range found {
			pairs[key] = value
		}
		return map[string]any{"type": "map", "value": seenMap(pairs)}
	case map[any]any:
		return map[string]any{"type": "map", "value": seenMap(found)}
	}
	return seenArray(found)
}

func seenArray(found any) any {
	switch found := found.(type) {
	case []bool:
		return array("boolean", found)
	case []uint16:
		return array("ushort", found)
	case []uint32:
		return array("uint", found)
	case []uint64:
		return array("ulong", found)
	case []int16:
		return array("short", found)
	case []int32:
		return array("int", found)
	case []int64:
		return array("long", found)
	case []float32:
		return array("float", found)
	case []float64:
		return array("double", found)
	case []time.Time:
		return array("timestamp", found)
	case []amqp.UUID:
		return array("uuid", found)
	case [][]byte:
		return array("binary", found)
	case []string:
		return array("string", found)
	case []amqp.Symbol:
		return array("symbol", found)
	}
	return map[string]any{"type": fmt.Sprintf("%T", found), "value": fmt.Sprint(found)}
}

func array[T any](of string, elements []T) any {
	made := make([]any, 0, len(elements))
	for _, element := range elements {
		made = append(made, seenValue(element))
	}
	return map[string]any{"type": "array", "of": of, "value": made}
}

func seenList(found []any) []any {
	made := make([]any, 0, len(found))
	for _, each := range found {
		made = append(made, seenValue(each))
	}
	return made
}

// seenMap describes a map's pairs, ordered by their keys as Go's maps have no order.
func seenMap(found map[any]any) [][2]any {
	made := make([][2]any, 0, len(found))
	for key, value := range found {
		made = append(made, [2]any{seenValue(key), seenValue(value)})
	}
	sort.Slice(made, func(a, b int) bool { return fmt.Sprint(made[a]) < fmt.Sprint(made[b]) })
	return made
}

func number(found float64, bits int) string {
	if math.IsInf(found, 0) {
		return map[bool]string{true: "Infinity", false: "-Infinity"}[found > 0]
	}
	return strconv.FormatFloat(found, 'g', -1, bits)
}
