import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { auditSearch } from '../audit/search.ts';
import { notificationSearch } from '../notifications/search.ts';
import { creationSearch } from '../shell/creation.ts';
import { frameRoute } from './frame.tsx';

const page = createRoute({
  getParentRoute: () => frameRoute,
  path: 'projects/$project',
  component: lazyRouteComponent(() => import('../projects/project.tsx'), 'ProjectPage'),
});

const environments = createRoute({
  getParentRoute: () => page,
  path: '/',
  validateSearch: creationSearch,
  component: lazyRouteComponent(() => import('../projects/environments.tsx'), 'Environments'),
});

const members = createRoute({
  getParentRoute: () => page,
  path: 'members',
  validateSearch: creationSearch,
  component: lazyRouteComponent(() => import('../projects/members.tsx'), 'Members'),
});

const notifications = createRoute({
  getParentRoute: () => page,
  path: 'notifications',
  validateSearch: notificationSearch,
  component: lazyRouteComponent(() => import('../projects/notifications.tsx'), 'Notifications'),
});

const settings = createRoute({
  getParentRoute: () => page,
  path: 'settings',
  component: lazyRouteComponent(() => import('../projects/settings.tsx'), 'Settings'),
});

const audit = createRoute({
  getParentRoute: () => page,
  path: 'audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('../audit/project-audit.tsx'), 'ProjectAudit'),
});

/** The pages of a project. */
export const projectRoutes = page.addChildren([environments, members, notifications, settings, audit]);
