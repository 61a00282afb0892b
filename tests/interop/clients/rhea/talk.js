'use strict';
// Receives as it is told to, line by line: see tests/interop/README.md.

const readline = require('readline');
const rhea = require('rhea');
const { wrap } = require('./messages');
const { types } = rhea;

// Everything that takes longer has failed.
const LIMIT_MS = 60000;

const MODES = {
  unsettled: { snd_settle_mode: 0, rcv_settle_mode: 0 },
  settled: { snd_settle_mode: 1, rcv_settle_mode: 0 },
  second: { snd_settle_mode: 0, rcv_settle_mode: 1 },
};

function text(body) {
  if (body && body.collect_sections) return body.content.toString();
  return Buffer.isBuffer(body) ? body.toString() : String(body);
}

// One receiver, on a connection of its own.
class Receiver {
  constructor(port, { container, address, mode, selector, filters, copies }) {
    this.inbox = [];
    this.taken = [];
    this.waiting = [];
    this.failure = '';
    this.drained = false;
    this.second = mode === 'second';
    const set = selector ? rhea.filter.selector(selector) : {};
    for (const { name, code, value } of filters) {
      set[name] = types.wrap_described(wrap(value), code || name);
    }
    this.connection = rhea.create_container({ id: container })
      .connect({ host: '127.0.0.1', port, reconnect: false });
    this.listen();
    this.link = this.connection.open_receiver({
      source: {
        address,
        ...(Object.keys(set).length ? { filter: set } : {}),
        ...(copies ? { distribution_mode: 'copy' } : {}),
      },
      ...MODES[mode],
      autoaccept: false,
      credit_window: 0,
    });
  }

  listen() {
    const on = (event, handle) => this.connection.on(event, (context) => {
      handle(context);
      this.look();
    });
    on('message', ({ message, delivery }) => this.inbox.push({ message, delivery }));
    on('receiver_drained', () => { this.drained = true; });
    for (const event of ['receiver_open', 'settled', 'connection_close', 'receiver_close']) on(event, () => {});
    for (const event of ['connection_error', 'session_error', 'receiver_error', 'disconnected', 'error']) {
      on(event, (context) => {
        const end = context.receiver || context.session || context.connection || {};
        const { condition, description } = end.error || context.error || {};
        this.failure = this.failure || `${event}: ${condition}: ${description}`;
      });
    }
  }

  look() {
    this.waiting = this.waiting.filter(({ happened, resolve, reject }) => {
      if (happened()) resolve();
      else if (this.failure) reject(new Error(this.failure));
      else return true;
      return false;
    });
  }

  async until(happened) {
    let timer;
    const done = new Promise((resolve, reject) => {
      this.waiting.push({ happened, resolve, reject });
      timer = setTimeout(() => reject(new Error('it did not happen')), LIMIT_MS);
      this.look();
    });
    await done.finally(() => clearTimeout(timer));
  }

  async open() {
    // A link that is refused is opened first, without a source.
    await this.until(() => this.link.source && this.link.source.address);
    return { applied: Object.keys(this.link.source.filter || {}) };
  }

  credit({ count }) {
    this.link.drain = false;
    this.link.add_credit(count);
    return {};
  }

  async take({ count }) {
    await this.until(() => this.inbox.length >= count);
    return { deliveries: this.inbox.splice(0, count).map((each) => this.describe(each)) };
  }

  describe({ message, delivery }) {
    this.taken.push(delivery);
    const annotations = Object.entries(message.message_annotations || {});
    return {
      number: this.taken.length - 1,
      body: text(message.body),
      count: message.delivery_count || 0,
      annotations: Object.fromEntries(annotations.map(([name, value]) => [name, String(value)])),
    };
  }

  async answer({ numbers, state, failed, undeliverable, annotations, condition, description }) {
    const deliveries = numbers.map((number) => this.taken[number]);
    for (const delivery of deliveries) {
      if (state === 'accepted') delivery.accept();
      else if (state === 'released') delivery.release();
      else if (state === 'rejected') delivery.reject({ condition, description });
      else {
        delivery.modified({
          delivery_failed: failed,
          undeliverable_here: undeliverable,
          message_annotations: annotations,
        });
      }
    }
    if (this.second) await this.until(() => deliveries.every((delivery) => delivery.remote_settled));
    return {};
  }

  async drain() {
    this.drained = false;
    this.link.drain_credit();
    await this.until(() => this.drained);
    return this.take({ count: this.inbox.length });
  }

  async close() {
    this.link.close();
    await this.until(() => this.link.is_closed());
    this.connection.close();
    await this.until(() => this.connection.is_closed());
    return {};
  }
}

async function talk(port) {
  let receiver;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: verb, ...told } = JSON.parse(line);
    let answer;
    try {
      if (verb === 'attach') {
        receiver = new Receiver(port, told);
        answer = await receiver.open();
      } else {
        answer = await receiver[verb](told);
      }
    } catch (error) {
      answer = { error: error.message };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(); // with what a failed test left open
}

module.exports = { talk };
