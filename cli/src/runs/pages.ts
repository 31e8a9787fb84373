import type { Gantry } from '@gantry/client'
import { parseActionId } from '../actions.ts'
import { matching, readNames } from '../names.ts'
import { findPipeline } from './find.ts'

/** The path of the dashboard's page about something. */
export async function pageFor(gantry: Gantry, given: string): Promise<string> {
  if (/^#?\d+$/.test(given)) return `/actions/${parseActionId(given)}`
  const hooks = matching(await readNames(gantry, ['incoming_hook', 'outgoing_hook']), given)
  const pipelines = matching(await readNames(gantry, ['pipeline', 'application', 'server']), given)
  if (hooks.length === 1 && pipelines.length === 0)
    return `/hooks/${hooks[0]!.type === 'incoming_hook' ? 'incoming' : 'outgoing'}/${hooks[0]!.id}`
  return `/pipelines/${(await findPipeline(gantry, given)).id}`
}
