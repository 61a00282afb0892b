'use strict';
// Messages and values as tests/interop/catalogue.py describes them, and as rhea's users write and get them.

const rhea = require('rhea');
const { types, message } = rhea;

// ---- Described messages to rhea's ----------------------------------------------------------------

function long(text) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt.asIntN(64, BigInt(text)));
  return bytes;
}

const hex = (text) => Buffer.from(text, 'hex');

// What rhea's types take: raw values, as elements of arrays are given.
const RAW = {
  boolean: (text) => text === 'true',
  ubyte: Number,
  ushort: Number,
  uint: Number,
  ulong: long,
  byte: Number,
  short: Number,
  int: Number,
  long,
  float: Number,
  double: Number,
  decimal32: hex,
  decimal64: hex,
  decimal128: hex,
  char: (text) => text.codePointAt(0),
  timestamp: Number,
  uuid: (text) => hex(text.replaceAll('-', '')),
  binary: hex,
  string: (text) => text,
  symbol: (text) => text,
};

// rhea has no wrap_decimal32 and the like, but the types.
const WRAP = { decimal32: types.Decimal32, decimal64: types.Decimal64, decimal128: types.Decimal128 };

// Constructors that any value of a type fits.
const CODES = {
  boolean: 0x56,
  ubyte: 0x50,
  ushort: 0x60,
  uint: 0x70,
  ulong: 0x80,
  byte: 0x51,
  short: 0x61,
  int: 0x71,
  long: 0x81,
  float: 0x72,
  double: 0x82,
  timestamp: 0x83,
  uuid: 0x98,
  binary: 0xb0,
  string: 0xb1,
  symbol: 0xb3,
};

function wrap({ type, value, of, descriptor }) {
  switch (type) {
    case 'null':
      return types.Null();
    case 'list':
      return types.wrap_list(value.map(wrap));
    case 'map':
      return types.wrap_map_as_map(new Map(value.map(([key, each]) => [wrap(key), wrap(each)])));
    case 'array':
      return types.wrap_array(value.map((each) => RAW[each.type](each.value)), CODES[of]);
    case 'described': {
      const { type: kind, value: text } = descriptor;
      return types.wrap_described(wrap(value), kind === 'symbol' ? text : Number(text));
    }
    default:
      return (WRAP[type] || types[`wrap_${type}`])(RAW[type](value));
  }
}

// Fields of sections are set as applications do it, with plain values; ids say which type they have.
function field(name, typed) {
  return name === 'message_id' || name === 'correlation_id' ? wrap(typed) : RAW[typed.type](typed.value);
}

function body(described) {
  switch (described.kind) {
    case 'value':
      return wrap(described.value);
    case 'data': {
      const sections = described.sections.map(hex);
      return sections.length === 1 ? message.data_section(sections[0]) : message.data_sections(sections);
    }
    case 'sequence': {
      const sections = described.sections.map((section) => section.map(wrap));
      return sections.length === 1
        ? message.sequence_section(sections[0])
        : message.sequence_sections(sections);
    }
    default:
      throw new Error(`rhea cannot send a body of the kind ${described.kind}`);
  }
}

function toRhea(described) {
  const made = { body: body(described.body) };
  for (const section of ['header', 'properties']) {
    for (const [dashed, typed] of Object.entries(described[section] || {})) {
      const name = dashed.replaceAll('-', '_');
      made[name] = field(name, typed);
    }
  }
  for (const section of ['delivery-annotations', 'message-annotations', 'footer']) {
    if (described[section]) {
      const pairs = described[section].map(([key, typed]) => [key.value, wrap(typed)]);
      made[section.replaceAll('-', '_')] = Object.fromEntries(pairs);
    }
  }
  if (described['application-properties']) {
    const pairs = described['application-properties'].map(([name, typed]) => [name, wrap(typed)]);
    made.application_properties = Object.fromEntries(pairs);
  }
  return made;
}

// ---- rhea's messages, described: JavaScript has fewer types than AMQP -------------------------------

function seen(found) {
  if (found === null || found === undefined) return { type: 'null', value: null };
  if (typeof found === 'boolean') return { type: 'boolean', value: String(found) };
  if (typeof found === 'number') return { type: 'number', value: String(found) };
  if (typeof found === 'string') return { type: 'string', value: found };
  if (Buffer.isBuffer(found)) return { type: 'bytes', value: found.toString('hex') };
  if (found instanceof Date) return { type: 'timestamp', value: String(found.getTime()) };
  if (Array.isArray(found)) return { type: 'list', value: found.map(seen) };
  if (found.descriptor) {
    const inner = seen(types.unwrap(found.value, true));
    return { type: 'described', descriptor: seen(found.descriptor.value), value: inner };
  }
  return { type: 'map', value: Object.entries(found).map(([key, each]) => [seen(key), seen(each)]) };
}

const HEADER = ['durable', 'priority', 'ttl', 'first_acquirer', 'delivery_count'];
const PROPERTIES = [
  'message_id', 'user_id', 'to', 'subject', 'reply_to', 'correlation_id', 'content_type',
  'content_encoding', 'absolute_expiry_time', 'creation_time', 'group_id', 'group_sequence',
  'reply_to_group_id',
];

function seenBody(found) {
  if (found && found.collect_sections) {
    const sections = found.multiple ? found.content : [found.content];
    return found.typecode === 0x75
      ? { kind: 'data', sections: sections.map((each) => each.toString('hex')) }
      : { kind: 'sequence', sections: sections.map((each) => each.map(seen)) };
  }
  return found === undefined ? { kind: 'none' } : { kind: 'value', value: seen(found) };
}

function described(found) {
  const made = { header: {}, properties: {}, body: seenBody(found.body) };
  for (const [section, names] of [['header', HEADER], ['properties', PROPERTIES]]) {
    for (const name of names) {
      if (found[name] !== undefined) made[section][name.replaceAll('_', '-')] = seen(found[name]);
    }
  }
  for (const section of ['delivery_annotations', 'message_annotations', 'footer']) {
    if (found[section]) made[section.replaceAll('_', '-')] = seen(found[section]).value;
  }
  if (found.application_properties) {
    const pairs = Object.entries(found.application_properties);
    made['application-properties'] = pairs.map(([name, each]) => [name, seen(each)]);
  }
  return made;
}

module.exports = { described, toRhea, wrap };
