import type { MemberView } from '../../../../runtime/contracts/api/members.ts';
import { normaliseEmail } from '../../../../runtime/domain/email.ts';

/** Whether the user with this address is one of the members, in any spelling that the API takes for the same. */
export function hasMember(members: readonly Pick<MemberView, 'email'>[], email: string): boolean {
  const address = normaliseEmail(email);
  return members.some((member) => member.email === address);
}
