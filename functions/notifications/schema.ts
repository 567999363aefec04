import { z } from 'zod';
import { idPageQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  deliveryAccepted,
  deliveryDetail,
  deliveryView,
  notificationCreate,
  notificationUpdate,
  notificationView,
  notificationWithSecret,
} from '../../runtime/contracts/api/notifications.ts';

const project = z.object({ project: z.string().max(100) });
/** By its name or id. */
const notification = project.extend({ notification: z.string().max(100) });
const delivery = notification.extend({ delivery: z.string().max(100) });

export const createNotificationSchema = {
  params: project,
  body: notificationCreate,
  replies: { 201: notificationWithSecret },
} as const;
export const listNotificationsSchema = {
  params: project,
  query: pageQuery,
  replies: { 200: page(notificationView) },
} as const;
export const getNotificationSchema = { params: notification, replies: { 200: notificationView } } as const;
export const updateNotificationSchema = {
  params: notification,
  body: notificationUpdate,
  replies: { 200: notificationView },
} as const;
export const deleteNotificationSchema = { params: notification, replies: { 204: null } } as const;
export const rotateNotificationSchema = { params: notification, replies: { 200: notificationWithSecret } } as const;
export const testNotificationSchema = { params: notification, replies: { 202: deliveryAccepted } } as const;
export const listDeliveriesSchema = {
  params: notification,
  /** The cursor is the id of the previous page's last delivery. */
  query: idPageQuery,
  replies: { 200: page(deliveryView) },
} as const;
export const getDeliverySchema = { params: delivery, replies: { 200: deliveryDetail } } as const;
export const redeliverSchema = { params: delivery, replies: { 202: deliveryAccepted } } as const;
