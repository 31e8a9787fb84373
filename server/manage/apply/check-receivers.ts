import { checkReceiver } from '#manage/hooks/validate-hook.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { Task } from './plan.ts'
import type { Fault } from './positions.ts'

/** The system looks up only a few names at a time, and others want some looked up too. */
const MOST_HOSTS = 100

export type Receivers = ReadonlyMap<string, ErrorsByField | undefined>

export type CheckedReceivers = { kind: 'checked'; receivers: Receivers } | { kind: 'too-many'; fault: Fault }

/** What is wrong with the addresses that hooks are to call from now on, all of them asked at once. */
export async function checkReceivers(guard: AddressGuard, tasks: readonly Task[]): Promise<CheckedReceivers> {
  const targets = tasks.flatMap((task) => {
    const url = receiverOf(task)
    return url === undefined || task.verb === 'delete' ? [] : [{ url, at: task.wanted.at }]
  })
  const hosts = new Set(targets.map(({ url }) => URL.parse(url)?.host))
  if (hosts.size > MOST_HOSTS) {
    const { at } = targets.at(-1)!
    return {
      kind: 'too-many',
      fault: {
        path: [...at, 'target_url'],
        message: `hooks call more than ${MOST_HOSTS} hosts: apply fewer at a time`,
      },
    }
  }
  const urls = [...new Set(targets.map(({ url }) => url))]
  const verdicts = await Promise.all(urls.map(async (url) => [url, await checkReceiver(guard, url)] as const))
  return { kind: 'checked', receivers: new Map(verdicts) }
}

/** Undefined for what does not change whom a hook calls. */
export function receiverOf(task: Task): string | undefined {
  if (task.verb === 'delete' || task.wanted.type !== 'hook' || !('target_url' in task.wanted.body))
    return undefined
  return task.fields.some(({ field }) => field === 'target_url') ? task.wanted.body.target_url : undefined
}
