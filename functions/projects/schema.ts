import { z } from 'zod';
import { page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  environmentCreate,
  environmentUpdate,
  environmentView,
  projectCreate,
  projectView,
} from '../../runtime/contracts/api/projects.ts';

const project = z.object({ project: z.string().max(100) });
const environment = project.extend({ environment: z.string().max(100) });

export const createProjectSchema = { body: projectCreate, replies: { 201: projectView } } as const;
export const listProjectsSchema = { query: pageQuery, replies: { 200: page(projectView) } } as const;
export const getProjectSchema = { params: project, replies: { 200: projectView } } as const;
export const deleteProjectSchema = { params: project, replies: { 202: projectView, 204: null } } as const;
export const createEnvironmentSchema = {
  params: project,
  body: environmentCreate,
  replies: { 201: environmentView },
} as const;
export const listEnvironmentsSchema = { params: project, replies: { 200: page(environmentView) } } as const;
export const updateEnvironmentSchema = {
  params: environment,
  body: environmentUpdate,
  replies: { 200: environmentView },
} as const;
export const deleteEnvironmentSchema = { params: environment, replies: { 202: environmentView } } as const;
