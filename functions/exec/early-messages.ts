import type { WebSocket } from 'ws';
import { sessionCodes } from '../../runtime/contracts/session-codes.ts';

/** Most bytes of early messages, and what each takes besides its content. */
const earlyMax = 256 * 1024;
const messageBytes = 512;

/**
 * Keeps the messages of a client until its pod runs. Beyond a limit the WebSocket is closed: a connection that is paused
 * instead would not notice that its client has left.
 */
export function holdMessages(client: WebSocket): {
  /** Ends the holding. @returns the messages, in their order */
  take(): Buffer[];
} {
  let bytes = 0;
  const held: Buffer[] = [];
  const hold = (data: Buffer) => {
    bytes += data.length + messageBytes;
    if (bytes <= earlyMax) {
      held.push(data);
      return;
    }
    client.off('message', hold);
    held.length = 0;
    client.close(sessionCodes.policyViolation, 'Too much input before the command has started.');
  };
  client.on('message', hold);
  return {
    take() {
      client.off('message', hold);
      return held.splice(0);
    },
  };
}
