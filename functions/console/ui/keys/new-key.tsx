import type { Change } from '../../../../runtime/contracts/api/gate.ts';
import { OnceDialog } from '../parts/once-dialog.tsx';
import { exactTime } from '../parts/time.tsx';
import { keyText } from '../text/keys.ts';
import { GateProgress } from './gate-progress.tsx';

const words = keyText.keys;

export interface NewKey {
  key: string;
  change: Change;
  /** After a rotation. */
  replaces?: { handle: string; expiresAt: string };
}

/** Shows a key for the only time. Only the button closes the dialog. */
export function NewKeyDialog({ created: { key, change, replaces }, close }: { created: NewKey; close: () => void }) {
  return (
    <OnceDialog
      title={words.createdTitle}
      hint={words.once}
      secret={key}
      copy={words.copyKey}
      done={words.done}
      close={close}
    >
      {replaces && <p>{words.oldEnds(replaces.handle, exactTime(replaces.expiresAt))}</p>}
      <GateProgress change={change} verb="applied" />
    </OnceDialog>
  );
}
