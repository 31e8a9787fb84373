import { isDeepStrictEqual } from 'node:util'
import { readKnownHost } from '#adapters/executors/host-key.ts'
import { normalizeCredential } from '#manage/credentials/normalize-credential.ts'
import { columnsOf, type HookChange } from '#manage/hooks/hook-columns.ts'
import { normalizeServer } from '#manage/servers/normalize-server.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { Path } from './positions.ts'
import { inOrder, type Stored } from './state.ts'
import type { Bodies, Wanted } from './things.ts'

// What a document says about a thing, held against what is stored. Pure, but for opening secrets.

export type FieldChange = { field: string; before: unknown; after: unknown }

type Fields = Record<string, unknown>

/** What would be another value than before; of a new thing, everything that the document says about it. */
export function compare(
  wanted: Wanted,
  stored: Stored | undefined,
  isFilled: (path: Path) => boolean,
): FieldChange[] {
  const before: Fields = stored ? withSecrets(stored) : {}
  const after = stored ? settle(wanted, stored) : (wanted.body as Fields)
  return Object.entries(after)
    .filter(([field, value]) => value !== undefined && field !== 'trigger_after')
    .filter(([field, value]) => !stored || !isDeepStrictEqual(before[field] ?? null, value))
    .map(([field, value]) => {
      const isHidden =
        isSecret(wanted, stored, field) || isFilled([...wanted.at, field]) || isFilledWhole(wanted)
      const show = (one: unknown) => ((isHidden && one != null) || one === UNKNOWN ? MASK : (one ?? null))
      return { field, before: show(before[field]), after: show(value) }
    })

  function isFilledWhole({ type, at }: Wanted): boolean {
    return type === 'variable' && isFilled(at)
  }
}

/** Whether the document says a secret about it: to compare it with the stored one is to learn about that. */
export function tellsSecret({ type, body }: Wanted): boolean {
  return type === 'variable' || SECRETS.some((field) => (body as Fields)[field] !== undefined)
}

const SECRETS = ['token', 'private_key', 'secret']

function isSecret(wanted: Wanted, stored: Stored | undefined, field: string): boolean {
  if (wanted.type !== 'variable') return SECRETS.includes(field)
  return field === 'value' && (wanted.body.hidden === true || stored?.body.hidden === true)
}

function withSecrets({ type, body, credential, openSecret }: Stored): Fields {
  const secret = openSecret?.() ?? (openSecret ? UNKNOWN : null)
  if (type === 'variable') return { ...body, value: secret }
  if (type === 'hook') return { ...body, secret }
  if (type === 'credential')
    return { ...body, [credential?.auth_type === 'key' ? 'private_key' : 'token']: secret }
  return body
}

/** Equal to nothing that anybody can write. */
const UNKNOWN = Symbol('a secret that cannot be opened')

/** The fields that the document gives, in the form in which they would be stored. */
function settle(wanted: Wanted, stored: Stored): Fields {
  switch (wanted.type) {
    case 'credential':
      return settleCredentialFields(wanted.body, stored)
    case 'server': {
      const { credential, ...given } = wanted.body
      const { columns, errors } = normalizeServer(given, stored.server!)
      const isFine = Object.keys(errors).length === 0
      if (isSameKey(columns.host_key, stored.server!.host_key)) columns.host_key = stored.server!.host_key
      return { ...(isFine ? pick(given, columns) : given), ...(credential !== undefined && { credential }) }
    }
    case 'application': {
      const { servers, ...given } = wanted.body
      return { ...given, ...(servers && { servers: inOrder(servers) }) }
    }
    case 'pipeline': {
      const { rollout, run_after, ...given } = wanted.body
      return {
        ...given,
        ...(rollout !== undefined && { rollout: rollout && { max_failed: 0, ...rollout } }),
        ...(run_after && { run_after: inOrder(run_after) }),
      }
    }
    case 'hook':
      return settleHookFields(wanted.body, stored)
    default:
      return wanted.body as Fields
  }
}

/** Where the document has a fingerprint, the first contact may have put the whole key. */
function isSameKey(wanted: string | null, known: string | null): boolean {
  const [one, other] = [wanted, known].map((text) => text && readKnownHost(text)?.fingerprint)
  return one != null && one === other
}

/** A key is made once; afterwards `generate` is satisfied. A wish that is wrong stays as it is, to be refused. */
function settleCredentialFields({ generate: _, ...given }: Bodies['credential'], stored: Stored): Fields {
  const normalized = normalizeCredential(given, stored.credential!)
  if (normalized.kind === 'invalid') return given
  const { secret, ...columns } = normalized.credential
  const { token, private_key, ...plain } = given
  return {
    ...pick(plain, columns),
    ...(token !== undefined && { token }),
    ...(private_key !== undefined && { private_key: secret }),
  }
}

function settleHookFields(body: Bodies['hook'], { hook }: Stored): Fields {
  const columns = columnsOf({ type: hook!.type, body } as HookChange, hook)
  const { settings, trigger_when, ...plain } = columns as Fields
  const parsed = {
    ...plain,
    ...(settings !== undefined && { settings: JSON.parse(settings as string) }),
    ...(trigger_when !== undefined && { trigger_when: JSON.parse(trigger_when as string) }),
  }
  const { secret, action_type, ...given } = body as Fields
  return {
    ...pick(given, parsed),
    ...(action_type !== undefined && { action_type }),
    ...(secret !== undefined && { secret }),
  }
}

function pick(given: Fields, settled: Fields): Fields {
  return Object.fromEntries(Object.keys(given).map((field) => [field, settled[field]]))
}
