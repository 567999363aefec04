import { Button } from '../parts/button.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { exactTime } from '../parts/time.tsx';
import { platformText } from '../text/platform.ts';
import type { UserWithPassword } from './queries.ts';

const words = platformText.users.password;

/** Shows a one-time password for the only time. Only the button closes the dialog. */
export function OneTimePassword({ user, close }: { user: UserWithPassword; close: () => void }) {
  const { email, oneTimePassword, passwordExpiresAt } = user;
  if (oneTimePassword === undefined) return null;
  return (
    <Dialog title={words.title}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.once(email)}</p>
        <CopyText value={oneTimePassword} label={words.copy} />
        {passwordExpiresAt !== undefined && <p>{words.expires(exactTime(passwordExpiresAt))}</p>}
        <div className="flex justify-end">
          <Button look="primary" onClick={close}>
            {words.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
