import type { Transaction } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { checkReceiver } from '#manage/hooks/validate-hook.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type Receivers, receiverOf } from './check-receivers.ts'
import { type Performing, perform } from './perform.ts'
import type { Plan, Task } from './plan.ts'
import { noProblems, noteRefusal, type Problems } from './problems.ts'
import type { ThingType } from './schemas.ts'
import type { State } from './state.ts'
import { type StoredHook, storeHook } from './store-hook.ts'
import { keyOf, neededBy, ORGANIZATION } from './things.ts'

/** A hook that was made, or was given a secret: what is shown now or never. */
export type Made = {
  path: readonly string[]
  row: HookRow
  secret: string | null
  /** Its address is told to those who may edit it. */
  showsUrl: boolean
}

export type More = {
  receivers: Receivers
  guard: AddressGuard
  ownerOf: (caller: Caller, organizationId: number) => Caller
}

/**
 * Does every task, and goes on when one is refused, so that all that is wrong is told at once; what needs a thing that
 * could not be made is left out. Nothing may be kept when there are problems.
 */
export async function performAll(
  trx: Transaction<Tables>,
  by: Omit<Performing, 'ids'>,
  { plan, state }: { plan: Plan; state: State },
  { receivers, guard, ownerOf }: More,
): Promise<{ problems: Problems; made: Made[] }> {
  const problems = noProblems()
  const made: Made[] = []
  const performing: Performing = { ...by, ids: new Map([...state.things].map(([key, { id }]) => [key, id])) }
  for (const task of inTurn(plan)) {
    const thing = task.verb === 'delete' ? task.stored : task.wanted
    const needs = task.verb === 'delete' ? [] : neededBy(task.wanted)
    if (needs.some((path) => !performing.ids.has(keyOf(path)))) continue
    const outcome = await (thing.type === 'hook' && task.verb !== 'delete'
      ? save(task)
      : perform(trx, performing, task))
    const at = task.verb === 'delete' ? task.stored.path : task.wanted.at
    if (outcome.kind !== 'done') {
      noteRefusal(problems, at, outcome)
      continue
    }
    const key = keyOf(thing.path)
    if (task.verb === 'delete') performing.ids.delete(key)
    else performing.ids.set(key, outcome.id)
    if (task.verb === 'create' && thing.type === 'organization')
      performing.caller = ownerOf(performing.caller, Number(outcome.id))
  }
  return { problems, made }

  async function save(task: Exclude<Task, { verb: 'delete' }>): Promise<StoredHook> {
    const url = receiverOf(task)
    // It is there unless somebody changed the hook between the first look and now.
    const receiver =
      url === undefined || receivers.has(url) ? receivers.get(url ?? '') : await checkReceiver(guard, url)
    const outcome = await storeHook(trx, performing, task, receiver)
    if (outcome.kind === 'done' && (outcome.isNew || outcome.secret !== null)) {
      const { row, secret, isNew } = outcome
      const organization_id = Number(performing.ids.get(keyOf(ORGANIZATION)))
      const mayEdit = can(performing.caller, 'hook:edit', { ...row, organization_id })
      made.push({ path: task.wanted.path, row, secret, showsUrl: isNew && mayEdit })
    }
    return outcome
  }
}

const FROM_THE_INSIDE: readonly ThingType[] = [
  'hook',
  'step',
  'pipeline',
  'variable',
  'application',
  'server',
  'environment',
]
const FROM_THE_OUTSIDE: readonly ThingType[] = [
  'organization',
  'project',
  'credential',
  'environment',
  'server',
  'application',
  'variable',
  'pipeline',
  'step',
  'hook',
]

/** First everything goes that goes, so that names become free; then things are made before what needs them. */
function inTurn({ tasks, pipelineOrder }: Plan): Task[] {
  const turns = new Map(pipelineOrder.map((key, index) => [key, index]))
  const turnOf = (task: Task) => (task.verb === 'delete' ? 0 : (turns.get(keyOf(task.wanted.path)) ?? 0))
  const typeOf = (task: Task) => (task.verb === 'delete' ? task.stored.type : task.wanted.type)
  const going = FROM_THE_INSIDE.flatMap((type) =>
    tasks.filter((task) => task.verb === 'delete' && task.stored.type === type && !task.goesWith),
  )
  const coming = FROM_THE_OUTSIDE.flatMap((type) => {
    const ofType = tasks.filter((task) => task.verb !== 'delete' && typeOf(task) === type)
    return type === 'pipeline' ? ofType.sort((one, other) => turnOf(one) - turnOf(other)) : ofType
  })
  return [...going, ...coming]
}
