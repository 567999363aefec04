import { OnceDialog } from '../parts/once-dialog.tsx';
import { exactTime } from '../parts/time.tsx';
import { platformText } from '../text/platform.ts';
import type { UserWithPassword } from './queries.ts';

const words = platformText.users.password;

/** Shows a one-time password for the only time. Only the button closes the dialog. */
export function OneTimePassword({ user, close }: { user: UserWithPassword; close: () => void }) {
  const { email, oneTimePassword, passwordExpiresAt } = user;
  if (oneTimePassword === undefined) return null;
  return (
    <OnceDialog
      title={words.title}
      hint={words.once(email)}
      secret={oneTimePassword}
      copy={words.copy}
      done={words.done}
      close={close}
    >
      {passwordExpiresAt !== undefined && <p>{words.expires(exactTime(passwordExpiresAt))}</p>}
    </OnceDialog>
  );
}
