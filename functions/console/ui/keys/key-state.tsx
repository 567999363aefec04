import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import { Badge } from '../parts/badge.tsx';
import { keyText } from '../text/keys.ts';

const words = keyText.keys.states;

/** Whether the key is valid: red once it has expired, amber in the two weeks before. */
export function KeyState({
  enabled,
  expiresAt,
  expiryWarning,
}: Pick<KeyView, 'enabled' | 'expiresAt' | 'expiryWarning'>) {
  return (
    <span className="inline-flex flex-wrap gap-1">
      {!enabled && <Badge>{words.disabled}</Badge>}
      {expiryWarning === 'expired' && <Badge tone="bad">{words.expired}</Badge>}
      {expiryWarning === 'soon' && <Badge tone="warn">{words.expires(expiresAt?.slice(0, 10) ?? '')}</Badge>}
      {enabled && expiryWarning === undefined && <Badge tone="good">{words.valid}</Badge>}
    </span>
  );
}
