import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission, type Resource, type Scope } from '#access/authorization/permissions.ts'
import type { ThingType } from './schemas.ts'

// What the single routes demand for the same change. Pure.

/** Whose permissions are asked for. */
const RESOURCES: Record<ThingType, Resource> = {
  organization: 'organization',
  project: 'project',
  credential: 'credential',
  environment: 'environment',
  server: 'server',
  application: 'application',
  variable: 'application',
  pipeline: 'pipeline',
  step: 'pipeline',
  hook: 'hook',
}

/** Variables and steps are part of what they belong to: to make one is to edit that. */
const IS_PART: readonly ThingType[] = ['variable', 'step']

export type Creating = {
  type: ThingType
  parent: ThingType /** Of a hook: what its pipeline runs on. */
  resource?: Resource
}

/**
 * To make something, one must see what it stands in. Whoever may not is not told whether it is there already: they
 * lack the same for a thing that they cannot see.
 */
export function lackingToCreate(
  caller: Caller,
  { type, parent, resource }: Creating,
  place: Scope,
): Permission[] {
  const own = RESOURCES[type]
  const needs: Permission[] = [
    `${RESOURCES[parent]}:view`,
    ...(resource ? [`${resource}:view` as const] : []),
    `${own}:${IS_PART.includes(type) ? 'edit' : 'add'}`,
  ]
  const lacking = needs.filter((need) => !can(caller, need, place))
  return lacking.length > 0 && !can(caller, `${own}:view`, place) ? [...lacking, `${own}:view`] : lacking
}

export function lackingToChange(caller: Caller, type: ThingType, place: Scope): Permission[] {
  const needs: Permission[] = [`${RESOURCES[type]}:view`, `${RESOURCES[type]}:edit`]
  return needs.filter((need) => !can(caller, need, place))
}

export function lackingToRemove(caller: Caller, type: ThingType, place: Scope): Permission[] {
  const needs: Permission[] = [
    `${RESOURCES[type]}:view`,
    `${RESOURCES[type]}:${IS_PART.includes(type) ? 'edit' : 'remove'}`,
  ]
  return needs.filter((need) => !can(caller, need, place))
}

export function maySee(caller: Caller, type: ThingType, place: Scope): boolean {
  return can(caller, `${RESOURCES[type]}:view`, place)
}

/** Somebody who has a role anywhere in a project, or above it, knows that it is there. */
export function hasRoleAround(caller: Caller, { organization_id, project_id }: Scope): boolean {
  return caller.grants.some(
    (grant) =>
      grant.organization_id === organization_id &&
      (grant.project_id === null || grant.project_id === project_id),
  )
}
