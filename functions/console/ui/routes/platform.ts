import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { auditSearch } from '../audit/search.ts';
import { notificationSearch } from '../notifications/search.ts';
import { creationSearch, type CreationSearch } from '../shell/creation.ts';
import { frameRoute } from './frame.tsx';

const platform = createRoute({
  getParentRoute: () => frameRoute,
  path: '/platform',
  component: lazyRouteComponent(() => import('../platform/platform.tsx'), 'PlatformPage'),
});

const status = createRoute({
  getParentRoute: () => platform,
  path: '/',
  component: lazyRouteComponent(() => import('../platform/status.tsx'), 'Status'),
});

const alerts = createRoute({
  getParentRoute: () => platform,
  path: 'alerts',
  component: lazyRouteComponent(() => import('../platform/alerts.tsx'), 'Alerts'),
});

const notifications = createRoute({
  getParentRoute: () => platform,
  path: 'notifications',
  validateSearch: notificationSearch,
  component: lazyRouteComponent(() => import('../platform/notifications.tsx'), 'PlatformNotifications'),
});

const logDrain = createRoute({
  getParentRoute: () => platform,
  path: 'log-drain',
  component: lazyRouteComponent(() => import('../platform/log-drain.tsx'), 'LogDrain'),
});

const settings = createRoute({
  getParentRoute: () => platform,
  path: 'settings',
  component: lazyRouteComponent(() => import('../platform/settings.tsx'), 'Settings'),
});

const assistant = createRoute({
  getParentRoute: () => platform,
  path: 'assistant',
  component: lazyRouteComponent(() => import('../platform/assistant.tsx'), 'AssistantSettings'),
});

const audit = createRoute({
  getParentRoute: () => platform,
  path: 'audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('../audit/platform-audit.tsx'), 'PlatformAudit'),
});

const users = createRoute({
  getParentRoute: () => frameRoute,
  path: '/users',
  // The last email address of the page before.
  validateSearch: (values: Record<string, unknown>): CreationSearch & { after?: string } => ({
    ...creationSearch(values),
    ...(typeof values['after'] === 'string' && { after: values['after'] }),
  }),
  component: lazyRouteComponent(() => import('../users/users.tsx'), 'Users'),
});

const user = createRoute({
  getParentRoute: () => frameRoute,
  path: '/users/$user',
  component: lazyRouteComponent(() => import('../users/user.tsx'), 'UserPage'),
});

/** The pages for platform admins. */
export const platformRoutes = [
  platform.addChildren([status, alerts, notifications, logDrain, settings, assistant, audit]),
  users,
  user,
] as const;
