import type { WebSocket } from 'ws';
import { countWaiting } from '../../runtime/api/waiting-messages.ts';

/** Keeps the messages of a client until its pod runs. Beyond a limit, the client has to wait. */
export function holdMessages(client: WebSocket): {
  /** Ends the holding. @returns the messages, in their order */
  take(): Buffer[];
} {
  const count = countWaiting({ pause: () => client.pause(), resume: () => client.resume() });
  const held: { data: Buffer; release: () => void }[] = [];
  const hold = (data: Buffer) => {
    held.push({ data, release: count(data.length) });
  };
  client.on('message', hold);
  return {
    take() {
      client.off('message', hold);
      for (const { release } of held) release();
      return held.splice(0).map(({ data }) => data);
    },
  };
}
