import { useParams } from '@tanstack/react-router';
import { useMay, useMayNot } from '../api/role.ts';
import { ownerOf } from '../notifications/owner.ts';
import { Targets } from '../notifications/targets.tsx';
import { notificationText as words } from '../text/notifications.ts';
import { projectRoute } from './project.tsx';

/** Whom the platform tells when a deployment ends. Only admins of the project see it. */
export function Notifications() {
  const { project } = useParams({ from: projectRoute });
  const isAdmin = useMay(project, 'admin');
  if (useMayNot(project, 'admin')) return <p className="text-sm">{words.onlyAdmins}</p>;
  return isAdmin && <Targets owner={ownerOf(project)} />;
}
