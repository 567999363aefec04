import { EventEmitter } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { createLastFields, serveQuickly } from '../../../gate/authz/quick-connection.ts';
import { fakeClock } from '../../support/clock.ts';

const request = (app: number) => `GET /authorize?app=${app} HTTP/1.1\r\nHost: x\r\n\r\n`;
const half = 'GET /authorize?app=1 HTTP/1.1\r\nHo';
const headMaxBytes = 16 * 1024;

/** A connection over a socket whose calls a test sees; it answers with the status in the place of the app. */
function rig(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const calls: string[] = [];
  const handovers: string[] = [];
  let ends = 0;
  const socket = new EventEmitter() as Socket;
  const state = { accepts: true };
  const callOf = (name: string) => () => {
    calls.push(name);
    return socket;
  };
  Object.assign(socket, {
    write: (text: string) => {
      calls.push(`write ${text}`);
      return state.accepts;
    },
    end: (text: string) => calls.push(`end ${text}`),
    pause: callOf('pause'),
    resume: callOf('resume'),
    destroy: callOf('destroy'),
    destroySoon: callOf('destroySoon'),
    setTimeout: (ms: number) => calls.push(`setTimeout ${ms}`),
  });
  const connection = serveQuickly(socket, {
    authorize: ({ url = '' }, send) =>
      send({ status: Number(url.split('=')[1]), headers: ['X-A', '1', 'X-B', '2'], body: 'body' }),
    lastFields: () => 'Date: now\r\n\r\n',
    idleMs: 5_000,
    handOver: (unread) => handovers.push(unread.toString('latin1')),
    onEnd: () => ends++,
  });
  calls.length = 0;
  return {
    socket,
    connection,
    handovers,
    state,
    ends: () => ends,
    /** What the socket was told since the last call. */
    calls: () => calls.splice(0),
    receive: (text: string) => void socket.emit('data', Buffer.from(text, 'latin1')),
    listeners: () => socket.eventNames().length,
  };
}

const answer = (status: number) =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-A: 1\r\nX-B: 2\r\nDate: now\r\n\r\nbody`;

t.test('answers what has arrived with one write, with the status line of node:http', (t) => {
  const { receive, calls, handovers } = rig(t);
  for (const status of [200, 401, 429, 500, 503]) {
    receive(request(status));
    t.same(calls(), [`write ${answer(status)}`]);
  }
  receive(request(200) + request(401) + request(503));
  t.same(calls(), [`write ${answer(200)}${answer(401)}${answer(503)}`]);
  receive(request(418));
  t.match(calls()[0], /^write HTTP\/1\.1 418 \r\nX-A/);
  t.same(handovers, []);
  t.end();
});

t.test('waits a second for the rest of a head, and then gives away all of it', (t) => {
  const { receive, calls, handovers, ends } = rig(t);
  receive(half);
  receive('st: y\r\nX-C: ');
  t.same(calls(), [], 'nothing to write');
  mock.timers.tick(999);
  t.same(handovers, []);
  mock.timers.tick(1);
  t.same(handovers, [`${half}st: y\r\nX-C: `]);
  t.equal(ends(), 1);
  t.end();
});

t.test('a head that arrives in parts is answered once, and nothing of it stays', (t) => {
  const { receive, calls, handovers } = rig(t);
  receive(half);
  receive(`st: y\r\n\r\n${request(401)}`);
  t.match(calls(), [/^write HTTP\/1\.1 1 .*HTTP\/1\.1 401/s]);
  mock.timers.tick(60_000);
  t.same(handovers, [], 'no time limit without a head');
  receive(request(429));
  t.same(calls(), [`write ${answer(429)}`]);
  receive(half);
  mock.timers.tick(999);
  t.same(handovers, [], 'the time of the next head begins anew');
  t.end();
});

t.test('gives away what it does not read, behind the answers of what it did', (t) => {
  for (const other of ['\r\n\r\n', 'POST / HTTP/1.1\r\n\r\n', `${' '.repeat(headMaxBytes)} `]) {
    const { receive, calls, handovers, listeners, ends } = rig(t);
    receive(request(200) + other);
    t.same(handovers, [other]);
    t.same(calls(), [`write ${answer(200)}`]);
    t.same([listeners(), ends()], [0, 1], 'it has no listeners left');
    mock.timers.tick(60_000);
    t.equal(handovers.length, 1);
    mock.timers.reset();
  }
  const { receive, handovers } = rig(t);
  receive(request(200) + ' '.repeat(headMaxBytes));
  t.same(handovers, [], 'a head of the largest size may still end');
  receive(' ');
  t.equal(handovers[0]?.length, headMaxBytes + 1);
  t.end();
});

t.test('when the server stops, the next request is handovers away, and a connection between two ends', (t) => {
  const first = rig(t);
  first.connection.handOverNext();
  first.receive(request(200));
  t.same([first.handovers, first.calls()], [[request(200)], []]);
  mock.timers.reset();
  const between = rig(t);
  between.connection.end();
  t.same(between.calls(), ['destroySoon']);
  mock.timers.reset();
  const begun = rig(t);
  begun.receive(half);
  begun.connection.end();
  t.same([begun.handovers, begun.calls()], [[half], []]);
  t.end();
});

t.test('a client that stops sending gets the rest, and 400 for a head without an end', (t) => {
  const whole = rig(t);
  whole.receive(request(200));
  whole.calls();
  whole.socket.emit('end');
  t.same(whole.calls(), ['end ']);
  mock.timers.reset();
  const part = rig(t);
  part.receive(half);
  part.socket.emit('end');
  t.same(part.calls(), ['end HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n']);
  t.end();
});

t.test('reads nothing more from a client that does not read, and ends one that is silent or fails', (t) => {
  const { receive, calls, state, socket, ends, listeners, handovers } = rig(t);
  state.accepts = false;
  receive(request(200));
  t.same(calls(), [`write ${answer(200)}`, 'pause']);
  socket.emit('drain');
  socket.emit('timeout');
  socket.emit('error', new Error('reset'));
  t.same(calls(), ['resume', 'destroy', 'destroy']);
  receive(half);
  socket.emit('close');
  t.same([ends(), listeners()], [1, 0]);
  mock.timers.tick(60_000);
  t.same(handovers, [], 'no head of a connection that is gone is handovers away');
  t.end();
});

t.test('the date of answers is that of the second', async (t) => {
  const clock = fakeClock();
  const lastFields = createLastFields(clock);
  const expected = () => `Date: ${clock.now().toUTCString()}\r\nConnection: keep-alive\r\n\r\n`;
  for (const ms of [0, 999, 1, 1_000, 86_400_000]) {
    await clock.advance(ms);
    t.equal(lastFields(), expected());
  }
});
