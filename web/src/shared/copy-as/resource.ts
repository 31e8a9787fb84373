// What can be copied, and the commands that show it by default. Pure.
import type { components } from '#client/index.ts'
import { type CurlRequest, quote } from './curl.ts'

type NamedType = components['schemas']['NameEntry']['type']

/** What a gantry.yaml can contain, apart from steps and variables. */
export type CopiedResource = {
  type: Exclude<NamedType, 'organization'>
  id: number | string
  name: string
  organizationId: number
}

/** Ids in the command: a name may belong to several, or change. */
export function defaultCommand({ type, id, name }: CopiedResource): string {
  switch (type) {
    case 'server':
    case 'application':
    case 'pipeline':
    case 'credential':
      return `gantry ${type}s show ${quote(`#${id}`)}`
    case 'incoming_hook':
    case 'outgoing_hook':
      return `gantry hooks show ${id}`
    case 'project':
      return `gantry export ${quote(name)}`
    case 'environment':
      return `gantry api GET ${apiPath({ type, id })}`
  }
}

export function defaultCurl(resource: CopiedResource): CurlRequest {
  return { method: 'GET', path: apiPath(resource) }
}

function apiPath({ type, id }: Pick<CopiedResource, 'type' | 'id'>): string {
  if (type === 'incoming_hook' || type === 'outgoing_hook') return `/hooks/${type.replace('_hook', '')}/${id}`
  return `/${type}s/${id}`
}
