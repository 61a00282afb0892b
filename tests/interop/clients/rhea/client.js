'use strict';
// The client of the interop suite on rhea: see tests/interop/README.md.
//
//   node client.js send PORT ADDRESS settled|unsettled FILE    an empty ADDRESS: the anonymous terminus
//   node client.js receive PORT ADDRESS COUNT
//   node client.js talk PORT

const fs = require('fs');
const rhea = require('rhea');
const { described, toRhea } = require('./messages');
const { talk } = require('./talk');

const SETTLED = 1;

function fail(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

function connect(port) {
  const container = rhea.create_container({ id: 'interop-rhea' });
  for (const event of ['connection_error', 'session_error', 'sender_error', 'receiver_error', 'error']) {
    container.on(event, (context) => {
      const end = context.sender || context.receiver || context.session || context.connection || {};
      const { condition, description } = end.error || {};
      fail(`${event}: ${condition}: ${description}`);
    });
  }
  container.on('disconnected', (context) => {
    if (context.error) fail(`disconnected: ${context.error}`);
  });
  return container.connect({ host: '127.0.0.1', port, reconnect: false });
}

function answer(result) {
  process.stdout.write(JSON.stringify(result));
}

function send(port, address, mode, file) {
  const waiting = JSON.parse(fs.readFileSync(file, 'utf8')).map(toRhea);
  const count = waiting.length;
  const outcomes = new Map();
  const connection = connect(port);
  const sender = connection.open_sender({
    target: { address: address || undefined },
    ...(mode === 'settled' ? { snd_settle_mode: SETTLED } : {}),
  });
  const numbers = new Map();
  let sent = 0;
  connection.on('sendable', () => {
    while (sent < count && sender.sendable()) {
      const delivery = sender.send(waiting[sent]);
      numbers.set(delivery.id, sent);
      sent += 1;
    }
    if (mode === 'settled' && sent === count) connection.close();
  });
  for (const state of ['accepted', 'rejected', 'released', 'modified']) {
    connection.on(state, ({ delivery }) => {
      const error = delivery.remote_state && delivery.remote_state.error;
      outcomes.set(numbers.get(delivery.id), { state, condition: error ? error.condition : '' });
      if (outcomes.size === count) connection.close();
    });
  }
  connection.on('connection_close', () => {
    answer({ outcomes: [...outcomes.keys()].sort((a, b) => a - b).map((number) => outcomes.get(number)) });
  });
}

function receive(port, address, count) {
  const messages = [];
  const connection = connect(port);
  const receiver = connection.open_receiver({
    source: { address },
    autoaccept: false,
    credit_window: 0,
  });
  receiver.add_credit(count);
  connection.on('message', ({ message: found, delivery }) => {
    messages.push(described(found));
    delivery.accept();
    if (messages.length === count) connection.close();
  });
  connection.on('connection_close', () => answer({ messages }));
}

const [verb, port, address, ...rest] = process.argv.slice(2);
if (verb === 'send') send(Number(port), address, ...rest);
else if (verb === 'talk') talk(Number(port));
else receive(Number(port), address, Number(rest[0]));
