const { Agent, request } = process.getBuiltinModule('node:http');
const { connect } = process.getBuiltinModule('node:net');

const host = '127.0.0.1';
const probeEveryMs = 200;
/** Maximum length of the response that a failure contains. */
const messageBytes = 200;

/** Posts events to the function in the same pod. */
export function createDelivery({ port, timeoutMs }) {
  // Shorter than the idle timeout of common servers.
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: 3_000 });
  let reachable = false;
  let unreachableSince = performance.now();

  const post = ({ eventId, payload, attempt }) =>
    new Promise((resolve) => {
      const body = Buffer.from(payload);
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        'x-request-id': crypto.randomUUID(),
        // The interceptor removes these headers from every public request.
        'x-svc-event': encodeURIComponent(eventId),
        'x-svc-event-attempt': attempt,
      };
      const outgoing = request({ host, port, agent, method: 'POST', path: '/event', headers });
      const timer = setTimeout(() => outgoing.destroy(new Error('late')), timeoutMs);
      const end = (outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      outgoing.on('response', (response) => {
        const { statusCode: status } = response;
        let text = Buffer.alloc(0);
        response.on('data', (chunk) => {
          if (text.length < messageBytes) text = Buffer.concat([text, chunk]).subarray(0, messageBytes);
        });
        response.on('end', () => {
          const succeeded = status >= 200 && status < 300;
          end(succeeded ? {} : { failure: { status, message: text.toString('utf8') } });
        });
        response.on('error', (error) => end({ failure: { message: `The response ended early (${error.code}).` } }));
      });
      outgoing.on('error', (error) => {
        if (error.code === 'ECONNREFUSED') end('unreachable');
        // The connection was closed before the event arrived.
        else if (outgoing.reusedSocket && error.code === 'ECONNRESET') end('again');
        else if (error.message === 'late') end({ failure: { message: `No response within ${timeoutMs / 1000} s.` } });
        else end({ failure: { message: `The function exited before it responded (${error.code ?? error.message}).` } });
      });
      outgoing.end(body);
    });

  const probe = () =>
    new Promise((resolve) => {
      const socket = connect(port, host);
      const end = (connected) => {
        socket.destroy();
        resolve(connected);
      };
      socket.once('connect', () => end(true));
      socket.once('error', () => end(false));
    });

  return {
    /** Whether the function accepted the last connection. */
    reachable: () => reachable,
    /** How long the function has not accepted connections, in ms; 0 if it accepts them. */
    unreachableMs: () => (reachable ? 0 : performance.now() - unreachableSince),
    /** Resolves when the function accepts connections, or when `stop()` returns true, such as to renew leases. */
    async waitUntilReachable(stop) {
      while (!reachable) {
        reachable = await probe();
        if (reachable || stop()) return;
        await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
      }
    },
    /** Never rejects. @returns `{}` for a success, `{failure}`, or `unreachable` */
    async deliver(event) {
      let outcome = await post(event);
      const wasReset = outcome === 'again';
      while (outcome === 'again') outcome = await post(event);
      if (outcome !== 'unreachable') return outcome;
      if (reachable) unreachableSince = performance.now();
      reachable = false;
      // The event may have made the function exit, and would do so in other pods, too.
      return wasReset ? { failure: { message: 'The function exited before it responded.' } } : outcome;
    },
  };
}
