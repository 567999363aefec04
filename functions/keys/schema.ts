import { z } from 'zod';
import { environmentQuery, page } from '../../runtime/contracts/api/common.ts';
import {
  keyChanged,
  keyCreate,
  keyCreated,
  keyRevoked,
  keyRotate,
  keyRotated,
  keyUpdate,
  keyView,
} from '../../runtime/contracts/api/keys.ts';
import { keyPageQuery, reference } from '../../runtime/contracts/api/plans.ts';

const project = z.object({ project: z.string().max(100) });
/** A key's id or its handle. */
const key = project.extend({ key: reference });

export const createKeySchema = {
  params: project,
  query: environmentQuery,
  body: keyCreate,
  replies: { 201: keyCreated },
} as const;

export const listKeysSchema = { params: project, query: keyPageQuery, replies: { 200: page(keyView) } } as const;

export const getKeySchema = { params: key, query: environmentQuery, replies: { 200: keyView } } as const;

export const updateKeySchema = {
  params: key,
  query: environmentQuery,
  body: keyUpdate,
  replies: { 200: keyChanged },
} as const;

export const rotateKeySchema = {
  params: key,
  query: environmentQuery,
  body: keyRotate,
  replies: { 201: keyRotated },
} as const;

export const revokeKeySchema = { params: key, query: environmentQuery, replies: { 200: keyRevoked } } as const;
