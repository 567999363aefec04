const { Agent, request } = process.getBuiltinModule('node:http');
const { connect } = process.getBuiltinModule('node:net');

const host = '127.0.0.1';
const probeEveryMs = 200;
/** Of the answer to an event that was not taken: what is shown of it. */
const shownBytes = 200;

/** Posts events to the function beside this program. */
export function createDelivery({ port, timeoutMs }) {
  // Shorter than any server keeps an idle connection that it closes by itself.
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
        // The interceptor takes these names out of every public request.
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
        response.on('error', (error) => end({ failure: { message: `The answer broke off (${error.code}).` } }));
      });
      outgoing.on('error', (error) => {
        if (error.code === 'ECONNREFUSED') end('unreachable');
        // It was closed before the event got there.
        else if (outgoing.reusedSocket && error.code === 'ECONNRESET') end('again');
        else if (error.message === 'late') end({ failure: { message: `No answer within ${timeoutMs / 1000} s.` } });
        else end({ failure: { message: `The function ended before it answered (${error.code ?? error.message}).` } });
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
    /** Whether the function accepted connections when it was last asked. */
    reachable: () => reachable,
    /** For how long it has not, in ms. */
    awayMs: () => (reachable ? 0 : performance.now() - awaySince),
    /** Resolves once the function accepts connections, or `enough()`: held events want their leases renewed. */
    async untilReachable(enough) {
      while (!reachable) {
        reachable = await probe();
        if (reachable || enough()) return;
        await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
      }
    },
    /** @returns `unreachable`, or `{failure}` of an event that was not taken; never rejects */
    async deliver(event) {
      let outcome = await post(event);
      const cut = outcome === 'again';
      while (outcome === 'again') outcome = await post(event);
      if (outcome !== 'unreachable') return outcome;
      if (reachable) awaySince = performance.now();
      reachable = false;
      // The event may be what ended it: of the next pods, too.
      return cut ? { failure: { message: 'The function ended before it answered.' } } : outcome;
    },
  };
}
