import { Link, Outlet } from '@tanstack/react-router';
import { Heading } from '../parts/page.tsx';
import { platformText } from '../text/platform.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';
import { AdminsOnly } from './admins-only.tsx';

const tabs = [
  { to: '/platform', title: platformText.tabs.status },
  { to: '/platform/alerts', title: platformText.tabs.alerts },
  { to: '/platform/notifications', title: platformText.tabs.notifications },
  { to: '/platform/log-drain', title: platformText.tabs.logDrain },
  { to: '/platform/settings', title: platformText.tabs.settings },
  { to: '/platform/assistant', title: platformText.tabs.assistant },
  { to: '/platform/audit', title: platformText.tabs.audit },
] as const;

/** What all pages about the platform share. */
export function PlatformPage() {
  return (
    <>
      <Heading title={platformText.title} />
      <AdminsOnly>
        <Tabs label={platformText.title}>
          {tabs.map(({ to, title }) => (
            <Link key={to} to={to} {...tabLook}>
              {title}
            </Link>
          ))}
        </Tabs>
        <Outlet />
      </AdminsOnly>
    </>
  );
}
