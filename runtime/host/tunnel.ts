import type { Duplex } from 'node:stream';

/**
 * Makes two connections one, as after a 101: what either sends reaches the other, and the end of either ends both.
 * @param clientHead what the client sent right behind its request; `podHead`: what the pod sent right behind its answer
 */
export function joinConnections(client: Duplex, clientHead: Buffer, pod: Duplex, podHead: Buffer): void {
  if (podHead.length > 0) client.write(podHead);
  if (clientHead.length > 0) pod.write(clientHead);
  const end = () => {
    client.destroy();
    pod.destroy();
  };
  // A pipe ends its destination when its source ends, so that `finish` comes once the last of it has been passed on.
  for (const side of [client, pod]) side.once('finish', end).once('close', end).on('error', end);
  if (client.destroyed) end();
  client.pipe(pod);
  pod.pipe(client);
}
