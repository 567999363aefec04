import type { UserView } from '../../../../runtime/contracts/api/users.ts';
import { Badge } from '../parts/badge.tsx';
import { platformText } from '../text/platform.ts';

const words = platformText.users;
const tones = { active: 'good', invited: 'busy', disabled: 'quiet' } as const;

/** Whether the user can sign in. */
export function UserState({ status }: Pick<UserView, 'status'>) {
  return <Badge tone={tones[status]}>{words.states[status]}</Badge>;
}
