import { z } from 'zod';
import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  buildLogView,
  buildView,
  gitBuildCreate,
  gitSourceSet,
  gitSourceView,
} from '../../runtime/contracts/api/git.ts';

const project = z.object({ project: z.string().max(100) });
const app = project.extend({ app: z.string().max(100) });

export const setGitSchema = {
  params: app,
  query: environmentQuery,
  body: gitSourceSet,
  replies: { 200: gitSourceView },
} as const;
export const getGitSchema = { params: app, query: environmentQuery, replies: { 200: gitSourceView } } as const;
export const removeGitSchema = { params: app, query: environmentQuery, replies: { 204: null } } as const;
export const syncGitSchema = { params: app, query: environmentQuery, replies: { 204: null } } as const;
export const buildGitSchema = {
  params: app,
  query: environmentQuery,
  body: gitBuildCreate,
  replies: { 202: deploymentAccepted },
} as const;
export const listBuildsSchema = {
  params: project,
  /** The cursor is the last build's deployment id of the page before. */
  query: environmentQuery.extend({ limit: pageQuery.shape.limit, cursor: z.uuid().optional() }),
  replies: { 200: page(buildView) },
} as const;
export const buildLogSchema = {
  params: project.extend({ id: z.string().max(100) }),
  query: z.object({ offset: z.coerce.number().int().min(0).default(0) }),
  replies: { 200: buildLogView },
} as const;
