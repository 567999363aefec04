const { Agent, request } = process.getBuiltinModule('node:http');
const { connect } = process.getBuiltinModule('node:net');

const host = '127.0.0.1';
const probeEveryMs = 200;
/** Maximum length of the response that a failure contains. */
const shownBytes = 200;

/** Posts events to the function in the same pod. */
export function createDelivery({ port, timeoutMs }) {
  // Shorter than the idle timeout of common servers.
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: 3_000 });
  let reachable = false;
  let awaySince = performance.now();

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
      const late = setTimeout(() => outgoing.destroy(new Error('late')), timeoutMs);
      const end = (outcome) => {
        clearTimeout(late);
        resolve(outcome);
      };
      outgoing.on('response', (response) => {
        const { statusCode: status } = response;
        let shown = Buffer.alloc(0);
        response.on('data', (chunk) => {
          if (shown.length < shownBytes) shown = Buffer.concat([shown, chunk]).subarray(0, shownBytes);
        });
        response.on('end', () => {
          const taken = status >= 200 && status < 300;
          end(taken ? {} : { failure: { status, message: shown.toString('utf8') } });
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
      const end = (up) => {
        socket.destroy();
        resolve(up);
      };
      socket.once('connect', () => end(true));
      socket.once('error', () => end(false));
    });

  return {
    /** Whether the function accepted the last connection. */
    reachable: () => reachable,
    /** How long the function has not accepted connections, in ms; 0 if it accepts them. */
    awayMs: () => (reachable ? 0 : performance.now() - awaySince),
    /** Resolves when the function accepts connections, or when `enough()` returns true, such as to renew leases. */
    async untilReachable(enough) {
      while (!reachable) {
        reachable = await probe();
        if (reachable || enough()) return;
        await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
      }
    },
    /** Never rejects. @returns `{}` for a success, `{failure}`, or `unreachable` */
    async deliver(event) {
      let outcome = await post(event);
      const cut = outcome === 'again';
      while (outcome === 'again') outcome = await post(event);
      if (outcome !== 'unreachable') return outcome;
      if (reachable) awaySince = performance.now();
      reachable = false;
      // The event may have made the function exit, and would do so in other pods, too.
      return cut ? { failure: { message: 'The function exited before it responded.' } } : outcome;
    },
  };
}
