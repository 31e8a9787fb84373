import type { Gantry } from '@gantry/client'
import { findNamed } from '../names.ts'

export const HOOK = 'a name such as shop/production/web/deploy/github, the end or beginning of one, or its id'

type FoundHook = { id: string; direction: 'incoming' | 'outgoing'; path: string }

export async function findHook(gantry: Gantry, given: string): Promise<FoundHook> {
  const { id, type, path } = await findNamed(gantry, ['incoming_hook', 'outgoing_hook'], given)
  return { id: String(id), direction: type === 'incoming_hook' ? 'incoming' : 'outgoing', path }
}
