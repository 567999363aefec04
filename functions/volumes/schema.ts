import { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import { volumeCreate, volumeUpdate, volumeView } from '../../runtime/contracts/api/volumes.ts';

const project = z.object({ project: z.string().max(100) });
const one = project.extend({ volume: z.string().max(100) });

export const createVolumeSchema = {
  params: project,
  query: environmentQuery,
  body: volumeCreate,
  replies: { 201: volumeView },
} as const;
export const listVolumesSchema = {
  params: project,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(volumeView) },
} as const;
export const getVolumeSchema = { params: one, query: environmentQuery, replies: { 200: volumeView } } as const;
export const resizeVolumeSchema = {
  params: one,
  query: environmentQuery,
  body: volumeUpdate,
  replies: { 200: volumeView },
} as const;
export const deleteVolumeSchema = {
  params: one,
  query: environmentQuery,
  replies: { 202: volumeView, 204: null },
} as const;
