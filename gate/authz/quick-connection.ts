import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Authorize, GateAnswer } from './handler.ts';
import { readHead } from './request-head.ts';

/** The largest head that is read here, in bytes; usual ones have less than 1,000. */
const headMaxBytes = 16 * 1024;
/** How long a head may take to arrive, in ms, before the connection is handed over to node:http, which has its own limits. */
const headMs = 1_000;
const emptyLine = Buffer.from('\r\n\r\n');

/** The status lines of the gate's answers. */
const statusLines: Readonly<Record<number, string>> = {
  200: 'HTTP/1.1 200 OK\r\n',
  401: 'HTTP/1.1 401 Unauthorized\r\n',
  429: 'HTTP/1.1 429 Too Many Requests\r\n',
  500: 'HTTP/1.1 500 Internal Server Error\r\n',
  503: 'HTTP/1.1 503 Service Unavailable\r\n',
};

export interface QuickConnectionOptions {
  authorize: Authorize;
  /** The fields that end the head of each answer. */
  lastFields: () => string;
  /** Milliseconds without any byte after which the connection ends. */
  idleMs: number;
  /** Called when anything else arrives, with what was not read yet. */
  handOver: (unread: Buffer) => void;
  /** Called when the connection has ended or was handed over. */
  onEnd: (connection: QuickConnection) => void;
}

/** A connection on which only usual requests of the ingress have arrived. */
export interface QuickConnection {
  /** Ends the connection; a request whose head has begun is still answered, by node:http. */
  end(): void;
  /** Hands the connection over with its next request. */
  handOverNext(): void;
}

/**
 * Answers the usual requests of the ingress on a connection, each with one write. node:http spends more on a request than
 * the verdict takes, so it gets only those that {@link readHead} does not accept, and the connection with them: what
 * is valid, and every limit of time and size, is its decision (docs/decisions/0092-requests-of-the-ingress.md).
 */
export function serveQuickly(socket: Socket, options: QuickConnectionOptions): QuickConnection {
  const { authorize, lastFields, idleMs, handOver, onEnd } = options;
  /** The beginning of a head. */
  let unread: Buffer | undefined;
  let answers = '';
  let handsOver = false;
  let headTimer: NodeJS.Timeout | undefined;

  const send = ({ status, headers, body }: GateAnswer): void => {
    let text = statusLines[status] ?? `HTTP/1.1 ${status} \r\n`;
    for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
    answers += text + lastFields() + body;
  };
  const flush = () => {
    if (answers === '') return;
    const text = answers;
    answers = '';
    // A client that reads no answers gets no more.
    if (!socket.write(text, 'latin1')) socket.pause();
  };
  const stop = () => {
    clearTimeout(headTimer);
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
    onEnd(connection);
  };
  const giveAway = (bytes: Buffer) => {
    flush();
    stop();
    handOver(bytes);
  };
  const wait = (bytes: Buffer) => {
    unread = bytes;
    headTimer ??= setTimeout(() => giveAway(unread ?? bytes), headMs);
  };

  const read = (chunk: Buffer): void => {
    const bytes = unread === undefined ? chunk : Buffer.concat([unread, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const end = bytes.indexOf(emptyLine, at);
      if (end < 0) break;
      const head = handsOver ? undefined : readHead(bytes, at, end);
      if (head === undefined) return giveAway(bytes.subarray(at));
      authorize({ url: head.url, headers: head.headers, socket }, send);
      at = end + emptyLine.length;
    }
    if (unread !== undefined) {
      unread = undefined;
      clearTimeout(headTimer);
      headTimer = undefined;
    }
    if (bytes.length - at > headMaxBytes) return giveAway(bytes.subarray(at));
    if (at < bytes.length) wait(bytes.subarray(at));
    flush();
  };

  const listeners = {
    data: read,
    drain: () => socket.resume(),
    end: () => socket.end(unread === undefined ? '' : 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
    timeout: () => socket.destroy(),
    error: () => socket.destroy(),
    close: stop,
  };
  const connection: QuickConnection = {
    end() {
      if (unread === undefined) socket.destroySoon();
      else giveAway(unread);
    },
    handOverNext() {
      handsOver = true;
    },
  };
  for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  socket.setTimeout(idleMs);
  return connection;
}

/** The Date of an answer and that its connection stays open, as node:http writes them; the text changes once a second. */
export function createLastFields(clock: Clock): () => string {
  let second = NaN;
  let text = '';
  return () => {
    const now = Math.floor(clock.now().getTime() / 1000);
    if (now !== second) {
      second = now;
      text = `Date: ${new Date(now * 1000).toUTCString()}\r\nConnection: keep-alive\r\n\r\n`;
    }
    return text;
  };
}
