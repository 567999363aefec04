import type { Change } from '../../../../runtime/contracts/api/gate.ts';
import { Button } from '../parts/button.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
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
    <Dialog title={words.createdTitle}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.once}</p>
        <CopyText value={key} label={words.copyKey} />
        {replaces && <p>{words.oldEnds(replaces.handle, replaces.expiresAt)}</p>}
        <GateProgress change={change} verb="applied" />
        <div className="flex justify-end">
          <Button look="primary" onClick={close}>
            {words.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
