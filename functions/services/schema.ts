import { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import { serviceAccess, serviceCreate, serviceView } from '../../runtime/contracts/api/services.ts';

const project = z.object({ project: z.string().max(100) });
const one = project.extend({ service: z.string().max(100) });

export const createServiceSchema = {
  params: project,
  query: environmentQuery,
  body: serviceCreate,
  replies: { 201: serviceView },
} as const;
export const listServicesSchema = {
  params: project,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(serviceView) },
} as const;
export const getServiceSchema = { params: one, query: environmentQuery, replies: { 200: serviceView } } as const;
export const getCredentialsSchema = { params: one, query: environmentQuery, replies: { 200: serviceAccess } } as const;
export const deleteServiceSchema = {
  params: one,
  query: environmentQuery,
  replies: { 202: serviceView, 204: null },
} as const;
