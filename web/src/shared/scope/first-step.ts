// What a person does first where there is nothing to list yet. Pure.
import type { Organization } from '#web/base/api/types.ts'

export type Summarized = Pick<Organization, 'resource_summary'>

export function countOf({ resource_summary }: Summarized, type: string): number {
  return resource_summary.find(({ resource_type }) => resource_type === type)?.summary.count ?? 0
}

/** What a list needs before something can be added to it. */
export type Needs = 'organization' | 'project' | 'environment' | 'resource' | 'pipeline'

const TYPES: Record<Needs, string[]> = {
  organization: [],
  project: ['project'],
  environment: ['environment'],
  resource: ['application', 'server'],
  pipeline: ['pipeline'],
}

/** Whether none of these scopes has what is needed. */
export function isMissing(needs: Needs, scopes: readonly Summarized[]): boolean {
  return scopes.every((scope) => TYPES[needs].every((type) => countOf(scope, type) === 0))
}

export type Situation = {
  needs: Needs
  /** Those that the person sees as a whole. */
  organizations: number
  /** In any scope. */
  hasRole: boolean
  /** May add what is missing. */
  maySetUp: boolean
  isInstanceAdmin: boolean
  email: string
}

export type FirstStep = { title?: string; text: string; button?: { label: string; to: string } }

const SET_UP = { label: 'Set up an application', to: '/new' }

/** How somebody gets from an empty page to the first entry, with the one button that starts it. */
export function firstStep(situation: Situation): FirstStep {
  const { needs, organizations, hasRole, maySetUp, isInstanceAdmin, email } = situation
  if (organizations > 0) {
    if (maySetUp)
      return { text: 'The guided setup adds everything that a first deploy needs.', button: SET_UP }
    return { text: 'Ask an owner or an admin of the organization to set up an application.' }
  }
  if (isInstanceAdmin && needs === 'organization')
    return {
      text: 'Add an organization first; you become its owner.',
      button: { label: 'Add organization', to: '/settings?add=organization' },
    }
  if (isInstanceAdmin && !hasRole)
    return {
      text: 'The guided setup adds an organization and everything else that a first deploy needs.',
      button: SET_UP,
    }
  if (hasRole)
    return {
      title: 'Your role covers only part of an organization',
      text:
        needs === 'organization'
          ? 'This page is about an entire organization. Ask one of its owners for a role there.'
          : 'Nothing of it can be listed here. Ask one of its owners for a role that includes environment:view.',
      button: { label: 'Show my roles', to: '/account' },
    }
  return {
    title: 'You have no role yet',
    text: `Ask an owner of an organization to invite ${email}. What you have access to then appears here.`,
  }
}
