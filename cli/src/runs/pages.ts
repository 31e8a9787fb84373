import type { Gantry } from '@gantry/client'
import { parseActionId } from '../actions.ts'
import { matching, readNames } from '../names.ts'
import { choosePipelines, onlyOne, RUNNABLE } from './find.ts'

/** The path of the dashboard's page about something. */
export async function pageFor(gantry: Gantry, given: string): Promise<string> {
  if (/^#?\d+$/.test(given)) return `/actions/${parseActionId(given)}`
  const all = await readNames(gantry, [...RUNNABLE, 'incoming_hook', 'outgoing_hook'])
  const found = matching(all, given)
  const [only] = found
  if (found.length === 1 && only!.type === 'incoming_hook') return `/hooks/incoming/${only!.id}`
  if (found.length === 1 && only!.type === 'outgoing_hook') return `/hooks/outgoing/${only!.id}`
  const runnable = all.filter(({ type }) => RUNNABLE.includes(type))
  return `/pipelines/${onlyOne(given, choosePipelines(runnable, given), runnable).id}`
}
