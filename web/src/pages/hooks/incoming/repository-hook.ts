// What hooks that are created from a repository send. Pure.
import type { IncomingHookBody } from './hook-values.ts'
import { initialValues, newHookBody, type Sender, type SenderValues } from './new-hook-body.ts'

export type RepositoryWay = 'connect' | 'poll'

/** The sender in whose format pushes of this provider arrive; without one, GitHub's, as polling does. */
export function senderOfProvider(senders: Sender[], provider: string | undefined): Sender {
  return senders.find(({ code }) => code === provider) ?? senders.find(({ code }) => code === 'github')!
}

export function valuesFor(sender: Sender, branch: string): SenderValues {
  return { ...initialValues(sender), field_branch: branch }
}

/** What a call that Gantry makes by itself has for certain. */
const POLLED = ['branch', 'commit']

export function repositoryHookBody(way: RepositoryWay, sender: Sender, branch: string): IncomingHookBody {
  const body = newHookBody(sender, valuesFor(sender, branch))
  if (way === 'connect') return { ...body, connect: true }
  const { settings, trigger_when: _, ...rest } = body
  const variables = settings?.variables?.filter(({ name }) => POLLED.includes(name)) ?? []
  // Which branches start a run, polling says. With its secret, only Gantry can call the hook.
  return { ...rest, name: `Poll ${branch}`.slice(0, 60), settings: { ...settings, variables, poll: {} } }
}
