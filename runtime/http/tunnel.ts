import type { Duplex } from 'node:stream';

/** A connection that sends what it receives to another one, instead of being read as a stream. */
export interface ForwardingSocket extends Duplex {
  /** Sends all that was received and is received, and the end. */
  forwardTo(client: Duplex): void;
}

/**
 * Connects two sockets after a 101 response: each receives the data of the other, and the end of one closes both.
 * @param clientHead data that followed the client's request @param podHead data that followed the pod's response
 */
export function joinConnections(
  client: Duplex,
  clientHead: Buffer,
  pod: Duplex | ForwardingSocket,
  podHead: Buffer,
): void {
  if (podHead.length > 0) client.write(podHead);
  if (clientHead.length > 0) pod.write(clientHead);
  const end = () => {
    client.destroy();
    pod.destroy();
  };
  // A pipe ends its destination when its source ends, so `finish` is emitted after the last data was passed on.
  for (const side of [client, pod]) side.once('finish', end).once('close', end).on('error', end);
  if (client.destroyed) end();
  client.pipe(pod);
  if ('forwardTo' in pod) pod.forwardTo(client);
  else pod.pipe(client);
}
