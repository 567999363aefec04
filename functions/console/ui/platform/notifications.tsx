import { platformOwner } from '../notifications/owner.ts';
import { Targets } from '../notifications/targets.tsx';
import { platformText } from '../text/platform.ts';
import { Section } from './section.tsx';

/** Whom the platform tells when an alert fires or ends. */
export function PlatformNotifications() {
  return (
    <Section title={platformText.tabs.notifications}>
      <Targets owner={platformOwner} />
    </Section>
  );
}
